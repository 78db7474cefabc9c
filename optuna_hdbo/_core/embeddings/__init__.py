"""Linear maps from few coordinates into a search space, and suggestions in those coordinates."""
