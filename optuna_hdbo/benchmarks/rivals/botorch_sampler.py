"""BoTorch as an Optuna sampler, for float parameters only, which is enough to compare."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
import torch
from botorch.acquisition.analytic import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.utils.sampling import manual_seed
from gpytorch.mlls import ExactMarginalLogLikelihood
from optuna.distributions import BaseDistribution
from optuna.distributions import FloatDistribution
from optuna.study import StudyDirection

from optuna_hdbo.benchmarks.rivals.relative import RelativeSampler


if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial


class BoTorchSampler(RelativeSampler):
    """``SingleTaskGP`` with BoTorch's default, dimension-scaled prior, and log-EI.

    Parameters
    ----------
    seed : int
        Seed of the startup trials, of the fits and of the searches for the next point.
    n_startup_trials : int
        Random trials before the model is used.
    """

    def suggest(
        self,
        study: Study,
        trial: FrozenTrial,
        search_space: dict[str, BaseDistribution],
        trials: list[FrozenTrial],
    ) -> dict[str, Any]:
        """Fit the model, maximise log-EI."""
        bounds = np.array([_bounds(d) for d in search_space.values()])
        low, width = bounds[:, 0], bounds[:, 1] - bounds[:, 0]
        rows = [[t.params[name] for name in search_space] for t in trials]
        values = np.array([t.value for t in trials], dtype=np.float64)
        sign = -1.0 if study.direction == StudyDirection.MINIMIZE else 1.0
        y = sign * (values - values.mean()) / max(float(values.std()), 1e-12)
        # The trial's number enters the seed: otherwise every search starts at the same points.
        with manual_seed(self._seed * 100_003 + trial.number), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            unit = _next_point((np.array(rows) - low) / width, y)
        return dict(zip(search_space, (low + width * unit).tolist(), strict=True))


def _bounds(distribution: BaseDistribution) -> tuple[float, float]:
    if not isinstance(distribution, FloatDistribution) or distribution.log:
        raise ValueError(f"every parameter must be a linear float, but got {distribution}.")
    return distribution.low, distribution.high


def _next_point(
    X: np.ndarray[Any, np.dtype[np.float64]], y: np.ndarray[Any, np.dtype[np.float64]]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    train_X, train_y = torch.from_numpy(X), torch.from_numpy(y)[:, None]
    model = SingleTaskGP(train_X, train_y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    unit_cube = torch.tensor([[0.0], [1.0]], dtype=torch.float64).expand(2, X.shape[1])
    point, _ = optimize_acqf(
        LogExpectedImprovement(model, best_f=train_y.max()),
        bounds=unit_cube,
        q=1,
        num_restarts=10,
        raw_samples=512,
    )
    result: np.ndarray[Any, np.dtype[np.float64]] = point.detach().numpy()[0].clip(0.0, 1.0)
    return result
