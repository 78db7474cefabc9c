"""Hyperparameters that the user knows, so that none are fitted, and a kernel that needs that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import k0
from scipy.special import k1

from optuna_hdbo._core.checks import check_choice
from optuna_hdbo._core.checks import check_names_known
from optuna_hdbo._core.checks import check_number
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.kernel import KINDS
from optuna_hdbo._core.gp.kernel import Kernel


KIND = "matern3"

SMALLEST, LARGEST = 1e-8, 600.0
"""Range of t. Below, k rounds to 1. Above, K_1 is no number of full precision, and k is 0."""


class Matern3(Kernel):
    """The Matern kernel of smoothness 3, of one group of columns.

    k(t) = t^3 K_3(t) / 8 with t = sqrt(6) r, where K_3 is a modified Bessel function (Rasmussen &
    Williams 2006, eq. 4.14). The recurrence K_{i+1} = K_{i-1} + (2 i / t) K_i turns it into
    (t + t^3 / 8) K_1(t) + (t^2 / 2) K_0(t). Compiled loops have no Bessel functions, so nothing
    here is compiled, and no fit uses this kernel.
    """

    is_compiled: ClassVar[bool] = False

    def gram(self, X: FloatArray) -> FloatArray:
        """Return the covariance matrix of points (n, D) without noise, shape (n, n)."""
        return self.cross(X, X)

    def cross_of(self, F: FloatArray, G: FloatArray) -> FloatArray:
        """Return the covariances of points whose features are G (C, m) and F (C, n), (m, n)."""
        t = self._distances(F, G)
        return np.asarray(self.scales[0] * ((t + t**3 / 8.0) * k1(t) + 0.5 * t**2 * k0(t)))

    def pull_back(self, F: FloatArray, G: FloatArray, W: FloatArray) -> FloatArray:
        """Return the derivative by G (C, m) of :meth:`cross_of`, times W (m, n); shape (m, C)."""
        t = self._distances(F, G)
        # -2 dk / d(r^2) = (3 / 4) t^2 K_2(t)
        slopes = self.scales[0] * W * 0.75 * (t**2 * k0(t) + 2.0 * t * k1(t))
        by_feature = slopes @ F.T - slopes.sum(axis=1)[:, None] * G.T
        by_feature[:, self.hamming > 0.0] = 0.0
        return np.asarray(by_feature, np.float64)

    def _distances(self, F: FloatArray, G: FloatArray) -> FloatArray:
        """Return t = sqrt(6) r of all pairs, shape (m, n)."""
        r2 = np.zeros((G.shape[1], F.shape[1]))
        for f, g, unequal in zip(F, G, self.hamming, strict=True):
            gaps = np.subtract.outer(g, f)
            r2 += unequal * (gaps != 0.0) if unequal > 0.0 else gaps**2
        return np.asarray(np.clip(np.sqrt(6.0 * r2), SMALLEST, LARGEST), np.float64)


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
        if not isinstance(self.lengthscale, Mapping):
            return
        if not set(domain.names) <= set(self.lengthscale):
            raise ValueError(
                "kernel_params['lengthscale'] must name every parameter of the study, but got "
                f"{sorted(self.lengthscale)} for {sorted(domain.names)}."
            )
        check_names_known("kernel_params['lengthscale']", self.lengthscale, domain.names)

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
