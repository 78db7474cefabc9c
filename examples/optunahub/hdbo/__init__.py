"""HDBOSampler as a package of OptunaHub; the sampler itself is in the pip package."""

from __future__ import annotations


try:
    from optuna_hdbo import HDBOSampler
except ImportError as error:
    raise ImportError(
        "This package needs optuna-hdbo. Install it with: pip install optuna-hdbo"
    ) from error

__all__ = ["HDBOSampler"]
