"""The published algorithms, one paper per file; usable without Optuna."""
