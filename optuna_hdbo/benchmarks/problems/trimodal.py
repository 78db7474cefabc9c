"""The additive trimodal function of Kandasamy et al. (2015), section 5, maximised.

The formula printed there (eq. 7) lacks the minus sign of its exponents; restored here.
"""

from __future__ import annotations

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray


_WEIGHTS = np.array([0.1, 0.8, 0.1])
_FIRST_TWO = np.array([[0.62, -0.38], [0.18, 0.58], [-0.58, -0.56]])
_FURTHER = np.array([-0.66, -0.19, 0.62])
_FLOOR = -700.0


def centres(d: int) -> FloatArray:
    """Return the three modes of one group of ``d >= 2`` coordinates, shape (3, d)."""
    return np.column_stack([_FIRST_TWO, np.tile(_FURTHER[:, None], (1, d - 2))])


def variance(d: int) -> float:
    """Return the variance of each mode of a group of ``d`` coordinates."""
    return float(0.01 * d**0.1)


def group_maximum(d: int) -> float:
    """Return the largest value of one group.

    It is reached at the second centre: the other modes contribute less than 1e-20 of the density
    there, so that neither the place nor the value moves in double precision.
    """
    return float(np.log(_WEIGHTS[1]) - 0.5 * d * np.log(2.0 * np.pi * variance(d)))


def additive_trimodal(x: FloatArray, groups: IntArray) -> float:
    """Return the sum over groups of the log density of three Gaussian modes.

    Parameters
    ----------
    x : FloatArray, shape (D,)
        A point of [-1, 1]^D.
    groups : IntArray, shape (M, d)
        The coordinates of each group.
    """
    d = groups.shape[1]
    v = variance(d)
    squares = np.sum((x[groups][:, None, :] - centres(d)) ** 2, axis=2)
    exponents = np.log(_WEIGHTS) - squares / (2.0 * v)
    peak = exponents.max(axis=1)
    logs = peak + np.log(np.sum(np.exp(exponents - peak[:, None]), axis=1))
    return float(np.sum(np.maximum(_FLOOR, logs - 0.5 * d * np.log(2.0 * np.pi * v))))
