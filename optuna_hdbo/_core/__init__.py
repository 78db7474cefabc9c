"""NumPy and SciPy parts that the methods share."""
