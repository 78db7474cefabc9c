"""Which columns matter: importances, selections, and the distribution of the others."""
