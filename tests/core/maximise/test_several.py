"""Several objectives: what is ranked first, what counts as an improvement, and who is modelled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from histories import affordable
from histories import dear
from histories import make_domain
from histories import make_kernel
from histories import make_posterior

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.acquisition.constraints import ConstraintModels
from optuna_hdbo._core.acquisition.several import DirectedImprovement
from optuna_hdbo._core.acquisition.several import HypervolumeImprovement
from optuna_hdbo._core.acquisition.several import SeveralObjectives
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.fronts import Boxes
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.maximise import several
from optuna_hdbo._core.maximise.several import SeveralQueries
from optuna_hdbo._core.maximise.several import ranked
from optuna_hdbo._core.maximise.several import reference_point
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import ALL_MATTER
from optuna_hdbo._core.models.ensemble import FEW_MATTER_WARPED
from optuna_hdbo._core.models.ensemble import LEAST_POOLED
from optuna_hdbo._core.observations import Observations


def observed(
    domain: Domain, n: int, f: Callable[[np.ndarray], np.ndarray], seed: int = 0
) -> Observations:
    X = domain.sample(np.random.default_rng(seed), n)
    Y = np.array([f(x) for x in X])
    seen = Observations.from_arrays(X, Y[:, 0])
    return replace(seen, objectives=Y, signs=(-1.0,) * Y.shape[1])


def opposed(x: np.ndarray) -> np.ndarray:
    """Two minus squared distances; everything on the line between the two tops is optimal."""
    return np.array([-((x - 0.3) ** 2).sum(), -((x - 0.7) ** 2).sum()])


def acquisition(domain: Domain, kind: str, feasible: bool = False) -> SeveralObjectives:
    posteriors, values = [], []
    for j in range(2):
        posterior, X, _ = make_posterior(domain, make_kernel(domain, seed=j), n=12)
        y = np.sin(4.0 * X[:, 0] + j) + X[:, -1] * (1.0 - 2.0 * j)
        posteriors.append(Posterior(Factor(posterior.kernel, X), y))
        values.append(y)
    Y = np.stack(values, axis=1)
    reference = reference_point(Y, Y, far=True)
    improvement = (
        HypervolumeImprovement(Boxes.above(Y, reference))
        if kind == "volume"
        else DirectedImprovement.drawn(Y, reference, np.random.default_rng(0))
    )
    terms = [Analytic.log_feasible(posteriors[1], 0.3)] if feasible else []
    return SeveralObjectives(posteriors, improvement, terms)


@pytest.mark.parametrize("kind", ["volume", "direction"])
@pytest.mark.parametrize("feasible", [False, True])
def test_slopes_are_gradients_of_the_values(kind: str, feasible: bool) -> None:
    domain = make_domain(None, None, None)
    function = acquisition(domain, kind, feasible)
    X = domain.sample(np.random.default_rng(2), 6)
    values, gradients = function.slopes(X)
    np.testing.assert_allclose(values, function(X), rtol=1e-10)
    for c in range(3):
        moved = [X.copy(), X.copy()]
        moved[0][:, c] += 1e-5
        moved[1][:, c] -= 1e-5
        numeric = (function(moved[0]) - function(moved[1])) / 2e-5
        np.testing.assert_allclose(gradients[:, c], numeric, rtol=1e-3, atol=1e-3)


def test_ranks_are_numbers_of_dominating_feasible_points() -> None:
    seen = observed(make_domain(None, None), 5, opposed)
    Y = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, -1.0], [-np.inf, 5.0], [3.0, 3.0]])
    constraints = np.array([[0.0], [0.0], [-1.0], [0.0], [1.0]])
    values = ranked(replace(seen, objectives=Y, constraints=constraints)).values
    assert values.tolist() == [-1.0, 0.0, 0.0, 0.0, 0.0]


def test_the_reference_point_is_below_the_front() -> None:
    Y = np.array([[0.0, 10.0], [2.0, 0.0], [-5.0, -0.5], [-6.0, -0.2]])
    np.testing.assert_allclose(reference_point(Y[:2], Y, far=True), [-6.0, -1.0])
    np.testing.assert_allclose(reference_point(Y[:2], Y, far=False), [-0.2, -1.0])
    for far in (True, False):
        alone = reference_point(Y[:1], Y, far=far)
        assert (alone < Y[0]).all()
        same = np.ones((3, 2))
        assert (reference_point(same, same, far=far) < 1.0).all()


def query(seen: Observations, domain: Domain, step: int) -> np.ndarray:
    queries = SeveralQueries("matern52", True, (ALL_MATTER,))
    rng, memory = np.random.default_rng(step), Memory()
    return queries.query(domain, replace(seen, step=step), memory, rng, ConstraintModels())[0]


def test_every_fourth_reference_point_is_a_far_one(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = make_domain(None, None)
    seen = observed(domain, 8, opposed)
    measured = []

    def noted(front: np.ndarray, Y: np.ndarray, *, far: bool) -> np.ndarray:
        measured.append(far)
        return reference_point(front, Y, far=far)

    monkeypatch.setattr(several, "reference_point", noted)
    for step in range(8, 13):
        query(seen, domain, step)
    assert measured == [True, False, False, False, True]


@pytest.mark.parametrize("step", [40, 43])
def test_what_pending_points_should_be_is_to_be_improved_on(step: int) -> None:
    domain = make_domain(None, None)
    seen = observed(domain, 40, opposed)
    first = query(seen, domain, step)
    told = replace(seen, pending=first[None])
    assert np.abs(query(told, domain, step) - first).max() > 0.05


@pytest.mark.parametrize("outside", [pytest.param(False, marks=dear), True])
def test_trials_take_turns(monkeypatch: pytest.MonkeyPatch, outside: bool) -> None:
    """The whole space, a child, a cube around a point of the front, a child."""
    side = 0.02
    monkeypatch.setattr(several, "SIDES", (side,))
    asked = []

    def noted(domain: Domain, parents: np.ndarray, *settings: object) -> np.ndarray:
        asked.append(parents)
        return np.repeat(parents[:1] + 1e-4, 3, axis=0)

    monkeypatch.setattr(several, "children", noted)
    domain = make_domain(None, None, None)
    seen = observed(domain, 10, lambda x: np.array([np.sin(9.0 * x).sum(), np.cos(7.0 * x).sum()]))
    if outside:
        seen = replace(seen, outside=np.arange(10) < 5)
    front = seen.X[(ranked(seen).values == 0.0) & seen.feasible]
    for number, turn in enumerate(several.TURNS):
        gap = np.abs(query(seen, domain, 12 + number) - front)
        closest = gap.max(axis=1).min()
        assert (closest > side) == (turn == several.FAR)
        assert (closest < 2e-4) == (turn == several.CHILD)
    assert len(asked) == 2
    np.testing.assert_array_equal(asked[0], front)


def test_the_best_child_is_one_that_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = make_domain(None, None)
    seen = observed(domain, 8, opposed)
    new = np.array([0.123, 0.987])
    for pool, expected in ((np.stack([seen.X[0], new]), new), (seen.X[:1], None)):
        monkeypatch.setattr(several, "children", lambda *_, pool=pool: pool)
        x = query(seen, domain, 8 + several.TURNS.index(several.CHILD))
        assert not (x == seen.X).all(axis=1).any()
        if expected is not None:
            np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("turn", [several.IN_CUBE, several.CHILD])
@pytest.mark.parametrize("sizes", [("3", 2), (5, "3", None)])
def test_discrete_columns_move_close_to_the_front(turn: int, sizes: tuple[object, ...]) -> None:
    domain = make_domain(*sizes)  # type: ignore[arg-type]
    seen = observed(domain, 4, opposed)
    x = query(seen, domain, 4 + several.TURNS.index(turn))
    np.testing.assert_array_equal(domain.snap(x[None])[0], x)
    assert not (x == seen.X).all(axis=1).any()


@pytest.mark.parametrize("beliefs", [(ALL_MATTER,), (ALL_MATTER, FEW_MATTER_WARPED)])
def test_suggestions_extend_the_front(beliefs: tuple[object, ...]) -> None:
    domain = make_domain(None, None)
    seen = observed(domain, 12, opposed)
    queries = SeveralQueries("matern52", True, beliefs)  # type: ignore[arg-type]
    memory = Memory()
    x, models = queries.query(domain, seen, memory, np.random.default_rng(0), ConstraintModels())
    assert len(models) == 2
    assert {key.split(":")[0] for key in memory.kept} == {"objective0", "objective1"}
    assert seen.objectives is not None
    assert not (seen.objectives >= opposed(x)).all(axis=1).any()


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_objective_that_never_changes_changes_nothing(place: int) -> None:
    domain = make_domain(None, None)
    queries = SeveralQueries("matern52", True, (ALL_MATTER,))
    seen = observed(domain, 12, opposed)
    assert seen.objectives is not None
    objectives = np.insert(seen.objectives, place, 7.0, axis=1)
    wider = replace(seen, objectives=objectives, signs=(1.0,) * 3)
    found = [
        queries.query(domain, s, Memory(), np.random.default_rng(0), ConstraintModels())
        for s in (seen, wider)
    ]
    assert found[0][0].tolist() == found[1][0].tolist()
    assert sorted(found[1][1]) == [j for j in range(3) if j != place]


def test_an_objective_may_span_magnitudes() -> None:
    """Its model warps values so that the good ones differ; that of the other one does not."""
    domain = make_domain(None, None)
    queries = SeveralQueries("matern52", True, (FEW_MATTER_WARPED,))

    def sized(x: np.ndarray) -> np.ndarray:
        return np.array([-(10.0 ** (6.0 * x[0])), -((x - 0.7) @ x)])

    seen = observed(domain, 30, sized, seed=1)
    none = ConstraintModels()
    _, models = queries.query(domain, seen, Memory(), np.random.default_rng(0), none)
    assert [models[j].seen.skewed for j in range(2)] == [True, False]
    size = models[0].seen.y[np.argsort(seen.X[:, 0])]
    assert size[0] - size[10] > 0.5


def test_pooled_lengthscales_have_no_lead() -> None:
    domain = make_domain(*[None] * LEAST_POOLED)
    queries = SeveralQueries("matern52", True, (replace(ALL_MATTER, pooled=True),))
    seen = observed(domain, 12, opposed)
    memory = Memory()
    _, models = queries.query(domain, seen, memory, np.random.default_rng(0), ConstraintModels())
    assert any("pooled" in key for key in memory.kept)
    assert {j: model.head_start for j, model in models.items()} == {0: 0.0, 1: 0.0}


@dear
def test_many_observations_are_not_all_modelled() -> None:
    """The front stays among those that are."""
    domain = make_domain(None, None)
    seen = observed(domain, 520, opposed)
    queries = SeveralQueries("matern52", True, (ALL_MATTER,), n_cyc=10**6)
    _, models = queries.query(domain, seen, Memory(), np.random.default_rng(0), ConstraintModels())
    front = seen.X[ranked(seen).values == 0.0]
    for model in models.values():
        assert 400 <= len(model.posterior.y) < 450
        rows = {row.tobytes() for row in model.posterior.X}
        assert {row.tobytes() for row in front} <= rows
        np.testing.assert_allclose(np.std(model.posterior.y), 1.0, rtol=0.1)


def test_more_than_three_objectives() -> None:
    domain = make_domain(None, None, None, None)
    seen = observed(domain, affordable(30, 8), lambda x: -((x - np.eye(4)) ** 2).sum(axis=1))
    queries = SeveralQueries("matern52", True, (ALL_MATTER,))
    x, models = queries.query(domain, seen, Memory(), np.random.default_rng(0), ConstraintModels())
    assert len(models) == 4
    assert ((x >= 0.0) & (x <= 1.0)).all()


def test_only_pending_points_that_should_be_feasible_are_improved_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = np.random.default_rng(0).random((20, 2))
    pending = np.array([[0.1, 0.5], [0.9, 0.5]])
    seen = Observations.from_arrays(X, X[:, 0], pending=pending)
    seen = replace(seen, objectives=X.copy(), signs=(1.0, 1.0), constraints=X[:, :1] - 0.5)
    improvement, asked = several._improvement, []

    def recorded(models: Any, on_front: Any, pending: Any, rng: Any, *, far: bool) -> Any:
        asked.append(pending.tolist())
        return improvement(models, on_front, pending, rng, far=far)

    monkeypatch.setattr(several, "_improvement", recorded)
    query(seen, Domain.continuous(2), 1)
    assert asked == [[[0.1, 0.5]]]


@pytest.mark.parametrize(("n_best", "n"), [(1, 5), (5, 5), (8, 8)])
def test_searches_begin_at_the_whole_front_and_at_five_points_at_least(
    n_best: int, n: int
) -> None:
    X = np.arange(20.0)[:, None]
    merit = np.where(X[:, 0] < n_best, 0.0, -X[:, 0])
    found = several._centres(X, merit, np.random.default_rng(0))
    assert sorted(found[:, 0]) == list(range(n))
    assert sorted(found[:n_best, 0]) == list(range(n_best))  # in random order


def test_the_reference_point_of_a_single_best_point_has_the_scale_of_all_values() -> None:
    Y = np.array([[2.0, 70.0], [0.0, 30.0], [1.0, 20.0]])
    found = reference_point(Y[:1], Y, far=False)
    assert found == pytest.approx([2.0 - several.BEYOND * 2.0, 70.0 - several.BEYOND * 50.0])
