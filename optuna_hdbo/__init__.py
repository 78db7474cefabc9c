"""High-dimensional Bayesian optimisation samplers for Optuna.

Importing this package imports next to nothing: a name is loaded when it is first used, and
compiled code when a sampler is built.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING
from typing import Any


__version__ = "0.1.0"

if TYPE_CHECKING:  # what _MODULES says, for type checkers
    from optuna_hdbo import baselines as baselines
    from optuna_hdbo import methods as methods
    from optuna_hdbo import visualization as visualization
    from optuna_hdbo.believed import get_believed_best as get_believed_best
    from optuna_hdbo.explanation import Explanation as Explanation
    from optuna_hdbo.explanation import explain as explain
    from optuna_hdbo.importance import GradISImportanceEvaluator as GradISImportanceEvaluator
    from optuna_hdbo.interactions import Effect as Effect
    from optuna_hdbo.interactions import Interaction as Interaction
    from optuna_hdbo.interactions import Interactions as Interactions
    from optuna_hdbo.interactions import get_interactions as get_interactions
    from optuna_hdbo.samplers.add_gp_ucb import AddGPUCBSampler as AddGPUCBSampler
    from optuna_hdbo.samplers.bamsoo import BaMSOOSampler as BaMSOOSampler
    from optuna_hdbo.samplers.gp_mi import GPMISampler as GPMISampler
    from optuna_hdbo.samplers.gp_ucb import GPUCBSampler as GPUCBSampler
    from optuna_hdbo.samplers.hdbo import HDBOSampler as HDBOSampler
    from optuna_hdbo.samplers.ms_ucb import MSUCBSampler as MSUCBSampler
    from optuna_hdbo.samplers.soo import SOOSampler as SOOSampler
    from optuna_hdbo.samplers.turbo import TuRBOSampler as TuRBOSampler
    from optuna_hdbo.samplers.vs_bo import VSBOSampler as VSBOSampler
    from optuna_hdbo.structure import Groups as Groups
    from optuna_hdbo.structure import Selection as Selection
    from optuna_hdbo.structure import get_groups as get_groups
    from optuna_hdbo.structure import get_selections as get_selections


_MODULES = {
    "AddGPUCBSampler": "samplers.add_gp_ucb",
    "BaMSOOSampler": "samplers.bamsoo",
    "Effect": "interactions",
    "Explanation": "explanation",
    "GPMISampler": "samplers.gp_mi",
    "GPUCBSampler": "samplers.gp_ucb",
    "GradISImportanceEvaluator": "importance",
    "Groups": "structure",
    "HDBOSampler": "samplers.hdbo",
    "Interaction": "interactions",
    "Interactions": "interactions",
    "MSUCBSampler": "samplers.ms_ucb",
    "SOOSampler": "samplers.soo",
    "Selection": "structure",
    "TuRBOSampler": "samplers.turbo",
    "VSBOSampler": "samplers.vs_bo",
    "explain": "explanation",
    "get_believed_best": "believed",
    "get_groups": "structure",
    "get_interactions": "interactions",
    "get_selections": "structure",
}
"""Public name -> the module of this package that defines it."""

_SUBMODULES = ("baselines", "methods", "visualization")

__all__ = ["__version__", *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, and those that every module has."""
    return sorted({*(name for name in globals() if name[0] == "_"), *__all__, *_SUBMODULES})
