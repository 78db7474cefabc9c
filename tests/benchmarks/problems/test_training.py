"""Models that are trained step by step: what they report, and from which samples."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import optuna
import pytest
from instances import instance

from optuna_hdbo.benchmarks.problems import catalogue
from optuna_hdbo.benchmarks.problems.suites import learners
from optuna_hdbo.benchmarks.problems.suites import training
from optuna_hdbo.benchmarks.problems.suites.training import Training


pytest.importorskip("sklearn")

made = partial(instance, Training)

BOOSTING: dict[str, Any] = {
    "loss": "huber",
    "quantile": 0.9,
    "rate": 0.2,
    "depth": 2,
    "leaf": 3,
    "subsample": 1.0,
    "columns": 1.0,
    "impurity": 1e-3,
}
KERNEL: dict[str, Any] = {
    "gamma": 0.1,
    "n_features": 20,
    "penalty": "l2",
    "decay": 1e-3,
    "l1_ratio": 0.5,
    "schedule": "constant",
    "rate": 1e-2,
    "power": 0.5,
    "average": False,
}


@pytest.mark.parametrize("name", training.FAMILY)
def test_every_step_has_a_loss(name: str) -> None:
    problem = made(name)
    assert catalogue.purpose_of(name) == "report"
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    for _ in range(2):
        trial = study.ask()
        losses = list(problem.losses(trial))
        assert len(losses) == training.N_STEPS
        assert np.isfinite(losses).all()
        assert min(losses) > problem.optimum == 0.0
        assert len(trial.params) == problem.dim
        assert problem.ask(trial) == losses[-1] == made(name).ask(trial)


def test_seeds_draw_the_samples() -> None:
    for name in training.FAMILY:
        first, other = training.table(name, 0), training.table(name, 1)
        assert len(first.y) == len(first.y_test) == len(other.y)
        assert not np.array_equal(first.X_test, other.X_test)
        assert np.abs(first.X.mean(axis=0)).max() < 1e-9


def test_boosting_is_that_of_all_trees_at_once() -> None:
    from sklearn.ensemble import GradientBoostingRegressor

    problem = made("friedman-boosting")
    *_, last = problem.losses(optuna.trial.FixedTrial(BOOSTING))  # type: ignore[arg-type]
    data = training.table(problem.name, problem.seed)
    model = GradientBoostingRegressor(
        loss="huber",
        alpha=0.9,
        learning_rate=0.2,
        n_estimators=27 * 4,
        max_depth=2,
        min_samples_leaf=3,
        min_impurity_decrease=1e-3,
        random_state=0,
    ).fit(data.X, data.y)
    gaps = model.predict(data.X_test) - data.y_test
    assert last == pytest.approx(np.sqrt(np.mean(gaps**2)))


def test_a_kernel_is_a_sum_of_cosines(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[training.Table] = []

    def epochs(_: Any, data: training.Table) -> Iterator[float]:
        seen.append(data)
        yield 1.0

    monkeypatch.setattr(training, "_epochs", epochs)
    problem = made("quantiles-kernel")
    assert problem.ask(optuna.trial.FixedTrial(KERNEL)) == 1.0  # type: ignore[arg-type]
    (data,) = seen
    # Cosines of amplitude sqrt(2), whose mean product is the kernel.
    assert data.X.shape == (300, 20)
    assert 1.3 < np.abs(data.X).max() <= np.sqrt(2.0)
    assert (data.X**2).mean() == pytest.approx(1.0, abs=0.1)


class Diverging:
    """A model of two classes that diverges in its second epoch."""

    def __init__(self) -> None:
        self.n_epochs = 0

    def partial_fit(self, X: Any, y: Any, classes: Any) -> None:
        assert list(classes) == [0, 1]
        self.n_epochs += 1
        if self.n_epochs > 1:
            raise ValueError("Solver produced non-finite parameter weights.")

    def predict_proba(self, X: Any) -> Any:
        return np.array([[0.9, 0.1], [0.75, 0.25]])


def test_what_has_diverged_has_the_least_chances() -> None:
    y, model = np.array([0, 1]), Diverging()
    data = training.Table(np.zeros((2, 1)), y, np.zeros((2, 1)), y)
    first, *others = training._epochs(model, data)
    assert first == pytest.approx(-(np.log(0.9) + np.log(0.25)) / 2.0)
    assert others == pytest.approx([-np.log(learners.LEAST_CHANCE)] * 26)
    assert model.n_epochs == 2
    assert training.loss(np.full((2, 2), np.nan), y) == pytest.approx(others[0])


def test_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    training.table.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ValueError, match="pip install scikit-learn"):
        catalogue.make("digits-network", 0)
