"""The samplers, one thin class per file and method: typed keywords and a docstring."""
