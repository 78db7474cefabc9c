"""Hyperparameters that the user knows, so that none are fitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from optuna_hdbo._core.checks import check_choice
from optuna_hdbo._core.checks import check_number
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.kernel import KINDS
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.matern3 import KIND
from optuna_hdbo._core.gp.matern3 import Matern3


@dataclass(frozen=True)
class KernelParams:
    """Hyperparameters that are known and stay as they are.

    Parameters
    ----------
    lengthscale : float or mapping of str to float
        One for all columns, or one per column by name.
    scale, noise : float
        Variances of the signal and of the noise, for values of standard deviation 1.
    """

    lengthscale: float | Mapping[str, float]
    scale: float = 1.0
    noise: float = 1e-8

    @classmethod
    def parse(cls, params: object) -> KernelParams | None:
        """Return a user's mapping as an object; ``ValueError`` where it is wrong."""
        if params is None:
            return None
        names = {"lengthscale", "scale", "noise"}
        if not isinstance(params, Mapping) or not {"lengthscale"} <= set(params) <= names:
            raise ValueError(
                'kernel_params must be a mapping with "lengthscale" and, optionally, "scale" and '
                f'"noise", or None, but got {params!r}.'
            )
        lengthscale = params["lengthscale"]
        if isinstance(lengthscale, Mapping):
            for name, number in lengthscale.items():
                check_number(f"kernel_params['lengthscale'][{name!r}]", number, above=0.0)
            lengthscale = {name: float(number) for name, number in lengthscale.items()}
        else:
            check_number("kernel_params['lengthscale']", lengthscale, above=0.0)
            lengthscale = float(lengthscale)
        given = cls(lengthscale, params.get("scale", 1.0), params.get("noise", 1e-8))
        check_number("kernel_params['scale']", given.scale, above=0.0)
        check_number("kernel_params['noise']", given.noise, above=0.0)
        return cls(lengthscale, float(given.scale), float(given.noise))

    def check(self, domain: Domain) -> None:
        """Raise ``ValueError`` unless the names are those of the columns."""
        if isinstance(self.lengthscale, Mapping) and set(self.lengthscale) != set(domain.names):
            raise ValueError(
                "kernel_params['lengthscale'] must name every parameter of the study, but got "
                f"{sorted(self.lengthscale)} for {sorted(domain.names)}."
            )

    def lengthscales(self, domain: Domain) -> FloatArray:
        """Return a lengthscale per column, shape (D,)."""
        if isinstance(self.lengthscale, Mapping):
            return np.array([self.lengthscale[name] for name in domain.names])
        return np.full(len(domain), self.lengthscale)

    def fitted(self, domain: Domain, kind: str) -> Fitted:
        """Return a fit of one group of all columns with these hyperparameters."""
        build = Matern3 if kind == KIND else Kernel
        kernel = build(
            kind,
            (np.arange(len(domain)),),
            self.lengthscales(domain),
            np.array([self.scale]),
            self.noise,
            domain.categorical,
        )
        return Fitted(kernel, 0, 0, 0.0)


def check_kernel(kernel: str, known: KernelParams | None) -> str:
    """Return the kernel of models that are fitted beside one with known hyperparameters.

    Raises
    ------
    ValueError
        If the kernel is none, or cannot be fitted and nothing is known.
    """
    check_choice("kernel", kernel, (*KINDS, KIND))
    if kernel != KIND:
        return kernel
    if known is None:
        raise ValueError(
            f"kernel must be one of {', '.join(KINDS)} without kernel_params, but got "
            f"{kernel!r}, which cannot be fitted."
        )
    return "matern52"
