"""Methods that the five papers of this package compare themselves with, one per file."""
