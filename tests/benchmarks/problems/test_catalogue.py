from __future__ import annotations

import functools

import numpy as np
import optuna
import pytest
from scipy.optimize import minimize

from optuna_hdbo.benchmarks.problems import catalogue
from optuna_hdbo.benchmarks.problems import trimodal
from optuna_hdbo.benchmarks.problems.instances import Problem


BOUNDED = ("rover", "lasso", "svm")
"""Whose optimum is only a bound: see test_selection.py."""

ALL = [
    (name, catalogue.SEEDS[p][2])
    for p, names in catalogue.NAMES.items()
    for name in names
    if not name.startswith(BOUNDED)
] + [(name, 2) for name in catalogue.FAMILIES["trimodal"]]

make = functools.cache(catalogue.make)  # some take seconds

UNMOVED = {"branin-2", "rosenbrock-2", "hartmann3-3", "hartmann6-6", "shekel-4"}


def worth(problem: Problem, x: np.ndarray) -> float:
    """Value where larger is better."""
    return problem.evaluate(x) * (1.0 if problem.direction == "maximize" else -1.0)


def near(problem: Problem, u: np.ndarray) -> float:
    """Minus the worth of a point given in box widths from the optimum; clipped to the box."""
    low, high = problem.bounds.T
    return -worth(problem, np.clip(problem.argopt + (high - low) * u, low, high))


@pytest.mark.parametrize(("name", "seed"), ALL)
def test_optimum_is_where_it_is_said_to_be(name: str, seed: int) -> None:
    problem = make(name, seed)
    assert problem.name == name
    assert problem.dim == int(name.split("-")[1])
    assert len(problem.names) == problem.dim
    assert problem.regret(problem.evaluate(problem.argopt)) < 1e-9
    assert np.all(problem.argopt > problem.bounds[:, 0])
    assert np.all(problem.argopt < problem.bounds[:, 1])


@pytest.mark.parametrize(("name", "seed"), ALL)
def test_nothing_beats_the_optimum(name: str, seed: int) -> None:
    problem = make(name, seed)
    best = problem.optimum * (1.0 if problem.direction == "maximize" else -1.0)
    rng = np.random.default_rng(0)
    low, high = problem.bounds.T
    for x in low + (high - low) * rng.random((200, problem.dim)):
        assert worth(problem, x) < best
    for scale in (1e-4, 1e-2):
        for u in scale * rng.standard_normal((50, problem.dim)):
            assert -near(problem, u) <= best + 1e-9
    polished = minimize(
        lambda u: near(problem, u),
        1e-4 * rng.standard_normal(problem.dim),
        method="L-BFGS-B",
        options={"maxiter": 20, "maxfun": 2000},
    )
    assert -polished.fun <= best + 1e-9 * max(1.0, abs(best))


@pytest.mark.parametrize(
    ("name", "maximum"),
    [("trimodal-10-3-3", 11.289), ("trimodal-24-6-4", 30.165), ("trimodal-40-5-8", 50.342)],
)
def test_maxima_of_the_paper(name: str, maximum: float) -> None:
    problem = catalogue.make(name, 0)
    d = int(name.split("-")[2])
    centre = trimodal.centres(d)[1]
    groups = np.arange(d)[None, :]
    polished = minimize(lambda x: -trimodal.additive_trimodal(x, groups), centre, tol=1e-12)
    n_groups = int(name.split("-")[3])
    assert -polished.fun * n_groups == pytest.approx(problem.optimum, abs=1e-9)
    assert problem.optimum == pytest.approx(maximum, abs=5e-4)
    # A wrong mode in one group costs log 8, up to the modes' overlap.
    x = problem.argopt.copy()
    assert problem.groups is not None
    x[[int(n[1:]) for n in problem.groups[0]]] = trimodal.centres(d)[2]
    assert problem.regret(problem.evaluate(x)) == pytest.approx(np.log(8.0), abs=1e-6)


def test_trimodal_floor_and_its_tails_stay_finite() -> None:
    groups = np.arange(12).reshape(2, 6)
    assert trimodal.additive_trimodal(np.full(12, 1e3), groups) == -1400.0
    one = trimodal.additive_trimodal(np.full(12, -1.0), groups)
    assert np.isfinite(one)
    assert -1400.0 < one < 0.0


@pytest.mark.parametrize(("name", "seed"), ALL)
def test_inert_parameters_are_inert_and_the_others_are_not(name: str, seed: int) -> None:
    problem = make(name, seed)
    rng = np.random.default_rng(1)
    low, high = problem.bounds.T
    # Near the optimum: far from it the trimodal function is cut off, Ackley flat to rounding.
    x = np.clip(problem.argopt + 0.02 * (high - low) * rng.random(problem.dim), low, high)
    for i, parameter in enumerate(problem.names):
        moved = x.copy()
        moved[i] = low[i] if x[i] > (low[i] + high[i]) / 2 else high[i]
        assert (problem.evaluate(moved) == problem.evaluate(x)) == (parameter in problem.inert)


@pytest.mark.parametrize(("name", "seed"), ALL)
def test_a_seed_draws_an_instance(name: str, seed: int) -> None:
    one, again, other = make(name, seed), *(catalogue.make(name, s) for s in (seed, seed + 1))
    assert np.array_equal(one.argopt, again.argopt)
    x = one.bounds.mean(axis=1) + 0.1
    assert one.evaluate(x) == again.evaluate(x)
    if name in UNMOVED:
        assert one.evaluate(x) == other.evaluate(x)
    else:
        assert not np.array_equal(one.argopt, other.argopt) or one.groups != other.groups
    assert one.groups == again.groups


@pytest.mark.parametrize("name", ["levy-20", "ackley-50", "ellipsoid-50", "rosenbrock-20"])
def test_translated_optima_fill_the_middle_of_the_box(name: str) -> None:
    seeds = catalogue.SEEDS["report" if name in catalogue.NAMES["report"] else "tune"][:20]
    shares = []
    for seed in seeds:
        problem = catalogue.make(name, seed)
        low, high = problem.bounds.T
        shares.append((problem.argopt - low) / (high - low))
    found = np.array(shares)
    assert found.min() >= 0.2
    assert found.max() <= 0.8
    assert found.min() < 0.22
    assert found.max() > 0.78
    assert abs(found.mean() - 0.5) < 0.04


def test_embedded_coordinates_and_reflections_vary() -> None:
    instances = [catalogue.make("hartmann6-50", seed) for seed in range(10)]
    assert len({instance.inert for instance in instances}) == 10
    coordinates = {round(float(u), 6) for p in instances for u in p.argopt if u != 0.5}
    assert len(coordinates) == 12  # six, and their mirror images


def test_groups_partition_the_parameters() -> None:
    problem = catalogue.make("trimodal-10-3-3", 4)
    assert problem.groups is not None
    assert [len(group) for group in problem.groups] == [3, 3, 3]
    everything = [name for group in problem.groups for name in group] + list(problem.inert)
    assert sorted(everything) == sorted(problem.names)
    assert problem.groups != catalogue.make("trimodal-10-3-3", 5).groups


def test_suggest_asks_for_every_parameter_in_its_own_units() -> None:
    problem = catalogue.make("branin-50", 0)
    x = problem.argopt
    study = optuna.create_study(direction=problem.direction)
    study.enqueue_trial(dict(zip(problem.names, x.tolist(), strict=True)))
    trial = study.ask()
    assert np.array_equal(problem.suggest(trial), x)
    assert list(trial.params) == list(problem.names)


@pytest.mark.parametrize(
    ("name", "seed", "message"),
    [
        ("levy-20", 1000, r"seed must be in \[0, 99\] for a reported problem, but got 1000\."),
        ("ackley-10", 5, r"seed must be in \[1000, 1999\] for a tuning problem, but got 5\."),
        ("levy-20", -1, r"seed must be in \[0, 99\]"),
        ("levy-21", 0, r"problem must be one of trimodal-10-3-3, .*, but got levy-21\."),
        ("zdt1", 0, r"problem must have one objective, but got zdt1\."),
    ],
)
def test_wrong_seeds_and_names_are_refused(name: str, seed: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        catalogue.make(name, seed)


def test_no_problem_serves_both_purposes() -> None:
    assert not set(catalogue.NAMES["report"]) & set(catalogue.NAMES["tune"])
    assert not set(catalogue.SEEDS["report"]) & set(catalogue.SEEDS["tune"])
    for purpose, names in catalogue.NAMES.items():
        for name in names:
            assert make(name, catalogue.SEEDS[purpose][2]).purpose == purpose
