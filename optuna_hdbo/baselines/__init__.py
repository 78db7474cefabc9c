"""Samplers that the papers of this package compare their methods with.

They are here to be compared with: with the package's whole manner, but not tuned. Importing this
package imports next to nothing, as for :mod:`optuna_hdbo` itself.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:  # what _MODULES says, for type checkers
    from optuna_hdbo.baselines.alebo import ALEBOSampler as ALEBOSampler
    from optuna_hdbo.baselines.all_groups import AllGroupsUCBSampler as AllGroupsUCBSampler
    from optuna_hdbo.baselines.baxus import BAxUSSampler as BAxUSSampler
    from optuna_hdbo.baselines.direct import DIRECTSampler as DIRECTSampler
    from optuna_hdbo.baselines.doo import DOOSampler as DOOSampler
    from optuna_hdbo.baselines.dropout import DropoutUCBSampler as DropoutUCBSampler
    from optuna_hdbo.baselines.hesbo import HeSBOSampler as HeSBOSampler
    from optuna_hdbo.baselines.improvement import EISampler as EISampler
    from optuna_hdbo.baselines.improvement import PISampler as PISampler
    from optuna_hdbo.baselines.linebo import LineBOSampler as LineBOSampler
    from optuna_hdbo.baselines.rembo import REMBOSampler as REMBOSampler
    from optuna_hdbo.baselines.saasbo import SAASBOSampler as SAASBOSampler
    from optuna_hdbo.baselines.sre import SRESampler as SRESampler


_MODULES = {
    "ALEBOSampler": "alebo",
    "AllGroupsUCBSampler": "all_groups",
    "BAxUSSampler": "baxus",
    "DIRECTSampler": "direct",
    "DOOSampler": "doo",
    "DropoutUCBSampler": "dropout",
    "EISampler": "improvement",
    "HeSBOSampler": "hesbo",
    "LineBOSampler": "linebo",
    "PISampler": "improvement",
    "REMBOSampler": "rembo",
    "SAASBOSampler": "saasbo",
    "SRESampler": "sre",
}
"""Public name -> the module of this package that defines it."""

__all__ = [*_MODULES]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name[0] == "_"), *__all__})
