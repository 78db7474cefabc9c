"""Exact Gaussian processes: kernel, prior, likelihood, fit, posterior."""
