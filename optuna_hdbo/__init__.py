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
    from optuna_hdbo.importance import GradISImportanceEvaluator
    from optuna_hdbo.samplers.add_gp_ucb import AddGPUCBSampler
    from optuna_hdbo.samplers.bamsoo import BaMSOOSampler
    from optuna_hdbo.samplers.gp_mi import GPMISampler
    from optuna_hdbo.samplers.gp_ucb import GPUCBSampler
    from optuna_hdbo.samplers.ms_ucb import MSUCBSampler
    from optuna_hdbo.samplers.soo import SOOSampler
    from optuna_hdbo.samplers.vs_bo import VSBOSampler
    from optuna_hdbo.structure import Groups
    from optuna_hdbo.structure import Selection
    from optuna_hdbo.structure import get_groups
    from optuna_hdbo.structure import get_selections


__all__ = [
    "AddGPUCBSampler",
    "BaMSOOSampler",
    "GPMISampler",
    "GPUCBSampler",
    "GradISImportanceEvaluator",
    "Groups",
    "MSUCBSampler",
    "SOOSampler",
    "Selection",
    "VSBOSampler",
    "__version__",
    "get_groups",
    "get_selections",
]

_HOMES = {
    "AddGPUCBSampler": "optuna_hdbo.samplers.add_gp_ucb",
    "BaMSOOSampler": "optuna_hdbo.samplers.bamsoo",
    "GPMISampler": "optuna_hdbo.samplers.gp_mi",
    "GPUCBSampler": "optuna_hdbo.samplers.gp_ucb",
    "GradISImportanceEvaluator": "optuna_hdbo.importance",
    "Groups": "optuna_hdbo.structure",
    "MSUCBSampler": "optuna_hdbo.samplers.ms_ucb",
    "SOOSampler": "optuna_hdbo.samplers.soo",
    "Selection": "optuna_hdbo.structure",
    "VSBOSampler": "optuna_hdbo.samplers.vs_bo",
    "get_groups": "optuna_hdbo.structure",
    "get_selections": "optuna_hdbo.structure",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
