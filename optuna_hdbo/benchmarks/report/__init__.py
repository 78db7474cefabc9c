"""Tables, curves and pages from results."""
