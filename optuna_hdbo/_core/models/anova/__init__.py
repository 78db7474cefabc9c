"""Values as a sum of main effects and interactions, and which interactions there are."""
