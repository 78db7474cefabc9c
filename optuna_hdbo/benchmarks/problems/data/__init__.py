"""Problems about data: learning tasks, likelihoods, and what replaces the data of papers."""
