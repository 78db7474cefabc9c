"""Compiled loops, the only place that imports numba: arrays and numbers in, arrays out."""
