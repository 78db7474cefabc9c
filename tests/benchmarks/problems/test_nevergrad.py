"""Nevergrad's problems: parameters reach them in the right order, and seeds draw them."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from optuna_hdbo.benchmarks.problems import catalogue
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.instances import generator
from optuna_hdbo.benchmarks.problems.suites import nevergrad


installed = pytest.mark.skipif(
    importlib.util.find_spec("nevergrad") is None, reason="needs nevergrad"
)


def made(name: str, seed: int = 0) -> Problem:
    return catalogue.make(name, seed)


@pytest.mark.parametrize(
    ("problem", "package"),
    [("bragg-16", "nevergrad"), ("mapping-12", "pillow"), ("tour-10", "matplotlib")],
)
def test_the_package_is_named(problem: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ValueError, match=f"pip install {package}"):
        made(problem)


def test_none_is_for_tuning() -> None:
    assert len(nevergrad.FAMILY) == 22
    for name in nevergrad.FAMILY:
        assert catalogue.purpose_of(name) == "report"
        with pytest.raises(ValueError, match="seed must be in"):
            made(name, 1000)


@installed
@pytest.mark.parametrize("name", nevergrad.FAMILY)
def test_values_are_above_the_bound_and_repeat(name: str) -> None:
    problem, again = made(name), made(name)
    assert problem.dim == int(name.split("-")[1])
    low, high = problem.bounds.T
    rng = np.random.default_rng(0)
    for _ in range(3):
        x = np.round(rng.uniform(low, high)) if "transitions" in name else rng.uniform(low, high)
        value = problem.evaluate(x)
        assert np.isfinite(value)
        assert value > problem.optimum == 0.0
        assert again.evaluate(x) == value


@installed
def test_a_mirror_of_quarter_waves() -> None:
    """Layers whose optical thickness is a quarter of 600 nm reflect what the textbook says."""
    permittivities = np.array([3.0, 2.0] * 4)
    thicknesses = 150.0 / np.sqrt(permittivities)
    admittance = (3.0 / 2.0) ** 4 * np.sqrt(3.0)
    reflected = ((1.0 - admittance) / (1.0 + admittance)) ** 2
    value = made("bragg-16").evaluate(np.concatenate([permittivities, thicknesses]))
    assert value == pytest.approx(1.0 - reflected)


@installed
def test_nobody_fishes() -> None:
    assert made("fishing-20").evaluate(np.zeros(20)) == nevergrad.MOST_CAUGHT


@installed
@pytest.mark.parametrize(
    ("name", "target"), [("sine-10", np.sin), ("heaviside-10", lambda t: np.heaviside(t, 0.0))]
)
def test_the_error_of_a_perceptron(name: str, target: np.ufunc) -> None:
    x = np.random.default_rng(1).uniform(-4.0, 4.0, 10)
    t = np.arange(-1.0, 1.0, 0.0408)[:50]
    hidden = np.tanh(np.outer(t, x[:3]) + x[3:6])
    error = np.mean((hidden @ x[6:9] + x[9] - target(t)) ** 2)
    assert made(name).evaluate(x) == pytest.approx(error)


@installed
def test_seeds_draw_the_places_of_a_tour() -> None:
    x = np.random.default_rng(2).random(10)
    first, other = made("tour-10", 0), made("tour-10", 1)
    assert first.evaluate(x) != other.evaluate(x)
    # Only the order of the keys counts.
    assert first.evaluate(x**2) == first.evaluate(x)
    places = generator("tour-10", 0).standard_normal((2, 10)).T[np.argsort(x)]
    steps = np.linalg.norm(places - np.roll(places, 1, axis=0), axis=1)
    assert first.evaluate(x) == pytest.approx(steps.sum())


@installed
def test_seeds_draw_the_points_of_a_mapping() -> None:
    x = np.random.default_rng(3).uniform(-2.0, 2.0, 12)
    points = generator("mapping-12", 5).standard_normal((6, 4))
    error = sum(
        (np.linalg.norm(x[2 * i : 2 * i + 2] - x[2 * j : 2 * j + 2]) / gap - 1.0) ** 2
        for i in range(6)
        for j in range(6)
        if (gap := np.linalg.norm(points[i] - points[j])) > 0.0
    )
    assert made("mapping-12", 5).evaluate(x) == pytest.approx(error)


@installed
def test_a_team_that_is_exhausted_does_not_finish() -> None:
    assert made("pacing-31").evaluate(np.full(31, 1200.0)) == 10_000.0
