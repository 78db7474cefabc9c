"""The published algorithms, one paper per file; usable without Optuna, with :class:`Loop`."""

from __future__ import annotations

from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.loop import Loop


__all__ = ["Domain", "Loop"]
