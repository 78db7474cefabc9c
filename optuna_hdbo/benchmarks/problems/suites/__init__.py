"""Suites that are run and reported as a whole."""
