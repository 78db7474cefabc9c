"""How well a model predicts values before they are known: prequential evidence (Dawid 1984).

Between two fits every new observation is predicted by hyperparameters that have not seen it. Its
density given all earlier observations is a by-product of the Cholesky factor: row t of the inverse
factor times y is the standardised residual of observation t, and its diagonal entry is the inverse
standard deviation. Leave-one-out densities look alike but share their hyperparameters with the
point that is left out, and so are overconfident where observations are few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.observations import Observations


FORGETTING = 0.95
"""Weight of an observation against the next one: an effective memory of twenty."""

MOST_NATS, MOST_SQUARE = 20.0, 25.0
"""What a single observation may add or take away, and the largest squared residual that counts."""

PRIOR_WEIGHT = 5.0
"""Observations that the assumption of honest intervals is worth."""


@dataclass(frozen=True)
class Evidence:
    """A model's discounted record of predictions.

    Parameters
    ----------
    nats : float
        Sum of log predictive densities, less those of a normal distribution with the mean and the
        standard deviation of all values.
    squares, weight : float
        Sum of squared standardised residuals, and of their weights.
    """

    nats: float = 0.0
    squares: float = 0.0
    weight: float = 0.0

    @property
    def inflation(self) -> float:
        """Factor by which predictive variances have to grow to be honest."""
        return (PRIOR_WEIGHT + self.squares) / (PRIOR_WEIGHT + self.weight)

    def after(
        self, posterior: Posterior, n_fitted: int, seen: Observations, plain: Observations
    ) -> Evidence:
        """Return the evidence with all observations taken in that came after the fit.

        The posterior is that of the observations in their order, under hyperparameters that were
        fitted to ``n_fitted`` of them. ``plain`` are the observations before any warping.
        """
        gains, squares = one_step_ahead(posterior, n_fitted, seen, plain)
        evidence = self
        for gain, square in zip(gains.tolist(), squares.tolist(), strict=True):
            evidence = Evidence(
                FORGETTING * evidence.nats + min(max(gain, -MOST_NATS), MOST_NATS),
                FORGETTING * evidence.squares + min(square, MOST_SQUARE),
                FORGETTING * evidence.weight + 1.0,
            )
        return evidence

    def to_json(self) -> list[float]:
        """Return a JSON list; numbers are kept to six digits."""
        return [float(f"{x:.6g}") for x in (self.nats, self.squares, self.weight)]

    @classmethod
    def from_json(cls, data: Any) -> Evidence | None:
        """Return what a list describes, None if it is no evidence."""
        if not isinstance(data, list) or len(data) != 3:
            return None
        if not all(type(x) in (int, float) and abs(x) < 1e6 for x in data):
            return None
        nats, squares, weight = map(float, data)
        return cls(nats, squares, weight) if squares >= 0.0 and weight >= 0.0 else None


def one_step_ahead(
    posterior: Posterior, n_fitted: int, seen: Observations, plain: Observations
) -> tuple[FloatArray, FloatArray]:
    """Return, for each observation after the fit, its log density and its squared residual.

    Each is predicted from those before it. Log densities are those of values in the objective's
    units, less the normal density that :class:`Evidence` compares with; shapes (k,).
    """
    n = len(posterior.y)
    rows = np.arange(n) if posterior.rows is None else posterior.rows
    first = int(rows.searchsorted(n_fitted))
    later = rows[first:]
    # Contiguous, so that a factor that has grown gives the same last bits, see `Posterior`.
    residuals = np.ascontiguousarray(posterior.linv[first:n, :n]) @ posterior.y
    log_density = np.log(np.diag(posterior.linv)[first:n]) - 0.5 * residuals**2
    log_normal = plain.log_slope[later] - 0.5 * plain.y[later] ** 2
    return log_density + seen.log_slope[later] - log_normal, residuals**2


def shares(evidence: FloatArray, odds_per_nat: float, least: float) -> FloatArray:
    """Return how often to ask each of k models, (k,): odds by evidence, but ``least`` each."""
    odds = np.exp(odds_per_nat * (evidence - evidence.max()))
    share = np.maximum(odds / odds.sum(), least)
    return np.asarray(share / share.sum(), np.float64)
