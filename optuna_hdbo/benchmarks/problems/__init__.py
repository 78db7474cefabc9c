"""Test problems with known optima, and the names by which commands find them."""
