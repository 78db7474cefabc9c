"""``python -m optuna_hdbo.benchmarks``."""

from __future__ import annotations

import sys

from optuna_hdbo.benchmarks import use_one_thread


if __name__ == "__main__":
    use_one_thread()  # before anything imports NumPy

    from optuna_hdbo.benchmarks.cli import main

    sys.exit(main())
