"""High-dimensional Bayesian optimisation samplers for Optuna.

Importing this package imports next to nothing: a name is loaded when it is first used, and
compiled code when a sampler is built.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING
from typing import Any

from optuna_hdbo._version import __version__


if TYPE_CHECKING:
    from optuna_hdbo.samplers.add_gp_ucb import AddGPUCBSampler
    from optuna_hdbo.samplers.gp_ucb import GPUCBSampler
    from optuna_hdbo.structure import Groups
    from optuna_hdbo.structure import get_groups


__all__ = ["AddGPUCBSampler", "GPUCBSampler", "Groups", "__version__", "get_groups"]

_HOMES = {
    "AddGPUCBSampler": "optuna_hdbo.samplers.add_gp_ucb",
    "GPUCBSampler": "optuna_hdbo.samplers.gp_ucb",
    "Groups": "optuna_hdbo.structure",
    "get_groups": "optuna_hdbo.structure",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
