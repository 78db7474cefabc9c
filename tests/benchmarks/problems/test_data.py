"""Problems that replace the data of papers: their optima, and the formulas behind them."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize

from optuna_hdbo.benchmarks.problems import catalogue
from optuna_hdbo.benchmarks.problems.data import cascade
from optuna_hdbo.benchmarks.problems.data import mopta
from optuna_hdbo.benchmarks.problems.data import ramp
from optuna_hdbo.benchmarks.problems.data import supernovae
from optuna_hdbo.benchmarks.problems.data import terms
from optuna_hdbo.benchmarks.problems.data import vehicle
from optuna_hdbo.benchmarks.problems.instances import Problem


NAMES = [name for name in catalogue.FAMILIES["data"] if name not in ("ramp2-5000", "ramp5-5000")]


def make(name: str, seed: int) -> Problem:
    if name.startswith(("cascade", "digits")):
        pytest.importorskip("sklearn")
    return catalogue.make(name, seed)


@pytest.mark.parametrize("name", NAMES)
def test_seeds_draw_instances_and_nothing_beats_the_optimum(name: str) -> None:
    problem, again, other = (make(name, seed) for seed in (1, 1, 2))
    assert problem.name == name
    assert problem.purpose == "report"
    assert problem.dim == int(name.split("-")[1])
    low, high = problem.bounds.T
    X = low + (high - low) * np.random.default_rng(0).random((20, problem.dim))
    values = np.array([problem.evaluate(x) for x in X])
    sign = 1.0 if problem.direction == "maximize" else -1.0
    assert np.isfinite(values).all()
    assert (sign * values < sign * problem.optimum).all()
    assert np.array_equal(values, [again.evaluate(x) for x in X])
    assert not np.array_equal(values, [other.evaluate(x) for x in X])
    if problem.argopt is not None:
        assert problem.regret(problem.evaluate(problem.argopt)) < 1e-9
        assert np.all((low <= problem.argopt) & (problem.argopt <= high))


@pytest.mark.parametrize(
    "cosmology", [(0.27, 0.73, -1.0, 0.0), (0.3, 0.0, -1.0, 0.0), (0.5, 1.0, -0.8, 0.5)]
)
def test_distances_are_the_integrals_of_cosmology(cosmology: tuple[float, ...]) -> None:
    """Flat, open and closed universes (Hogg 1999, eqs. 14 to 16, 21)."""
    matter, dark, w0, wa = cosmology
    curvature = 1.0 - matter - dark

    def rate(z: float) -> float:
        growth = (1 + z) ** (3 * (1 + w0 + wa)) * np.exp(-3 * wa * z / (1 + z))
        return float(np.sqrt(matter * (1 + z) ** 3 + curvature * (1 + z) ** 2 + dark * growth))

    for z in (0.1, 0.7, 1.7):
        distance = quad(lambda u: 1.0 / rate(u), 0.0, z)[0]
        root = abs(curvature) ** 0.5
        if curvature > 1e-12:
            distance = np.sinh(root * distance) / root
        elif curvature < -1e-12:
            distance = np.sin(root * distance) / root
        found = supernovae.modulus(np.array([z]), np.array(cosmology))[0]
        assert found == pytest.approx(5.0 * np.log10((1 + z) * distance), abs=1e-4)


def test_every_parameter_of_the_cosmology_tells_in_the_likelihood() -> None:
    likelihood = supernovae.simulate(np.random.default_rng(0))
    best = likelihood(supernovae.TRUTH)
    low, high = supernovae.BOX.T
    for i in range(len(low)):
        moved = supernovae.TRUTH.copy()
        moved[i] = low[i] if moved[i] > 0.5 * (low[i] + high[i]) else high[i]
        assert likelihood(moved) < best - 2.0
    problem = catalogue.make("supernovae-20", 0)
    assert len(problem.inert) == 11
    x = problem.argopt
    assert x is not None
    polished = minimize(lambda u: -problem.evaluate(u), x, bounds=[(0.0, 1.0)] * 20)
    assert -polished.fun <= problem.optimum + 1e-3


def test_a_stage_boosts_what_tells_the_sides_apart() -> None:
    rng = np.random.default_rng(0)
    images = rng.random((200, 8, 8))
    positive = rng.random(200) < 0.5
    images[positive, :4] += 0.5
    scores = cascade.stage(images, np.where(positive, 1.0, -1.0), 3, rng)
    assert np.median(scores[positive]) > 0.0 > np.median(scores[~positive])


def test_trained_thresholds_pass_nearly_all_positive_images() -> None:
    rng = np.random.default_rng(0)
    images, positive = rng.random((200, 8, 8)), np.arange(200) < 100
    images[positive, 2:6] += 0.3
    scores, thresholds = cascade.train(images, positive, rng)
    assert scores.shape == (200, cascade.N_STAGES)
    passed = scores >= thresholds
    assert (passed[positive].mean(axis=0) >= 1.0 - 2.0 * cascade.PASS).all()
    assert passed[~positive].all(axis=1).mean() < passed[positive].all(axis=1).mean()


def test_better_thresholds_than_the_trained_ones_exist() -> None:
    problem = make("cascade-22", 0)
    middle = problem.evaluate(np.zeros(22))
    assert 0.7 < middle < 1.0
    x = np.zeros(22)
    for i, step in product(range(22), (-0.3, 0.3)):
        moved = x.copy()
        moved[i] += step
        if problem.evaluate(moved) > problem.evaluate(x):
            x = moved
    assert problem.evaluate(x) > middle


def test_terms_are_counted_and_the_best_thresholds_are_exact() -> None:
    sentences, known = [[1, 2, 3], [1, 2], [2, 3]], {(1, 2), (3,)}
    taken, right = terms.found_at(sentences, known, 2)
    assert taken.tolist() == [2, 2, 0]  # (1, 2) and (2, 3) occur twice
    assert right.tolist() == [1, 1, 0]
    problem = catalogue.make("terms-4", 3)
    rng = np.random.default_rng(0)
    assert problem.argopt is not None
    best = max(problem.evaluate(u) for u in rng.random((3000, 4)))
    near = problem.argopt + rng.normal(0.0, 0.03, (2000, 4))
    near_best = max(problem.evaluate(u) for u in np.clip(near, 0.0, 1.0))
    assert best <= problem.optimum
    assert near_best == pytest.approx(problem.optimum, abs=0.01)
    assert near_best <= problem.optimum


def test_the_ramp_loss_is_its_formula() -> None:
    assert ramp.ramp_loss(np.array([2.0, 1.0, 0.5, 0.0, -3.0])).tolist() == [0, 0, 0.5, 1, 1]
    one, ten = catalogue.make("ramp1-5000", 0), catalogue.make("ramp10-5000", 0)
    x = 0.01 * np.random.default_rng(0).standard_normal(5000)
    norm = 0.5 * float(x[:-1] @ x[:-1])
    assert one.evaluate(x) - norm == pytest.approx((ten.evaluate(x) - norm) / 10.0, rel=1e-9)
    assert one.evaluate(np.zeros(5000)) == ramp.N_EXAMPLES


def test_the_design_is_convex_and_its_solution_a_minimum_along_every_line() -> None:
    problem = vehicle.design(30, 12)("vehicle-30", 0)
    rng = np.random.default_rng(0)
    assert problem.argopt is not None
    for x, z in zip(rng.random((50, 30)), rng.random((50, 30)), strict=True):
        ends = 0.5 * (problem.evaluate(x) + problem.evaluate(z))
        assert problem.evaluate(0.5 * (x + z)) <= ends + 1e-9
        for step in (1e-4, 1e-2, 0.3):
            moved = problem.argopt + step * (x - problem.argopt)
            assert problem.evaluate(moved) >= problem.optimum - 1e-9
    assert (problem.argopt == 0.0).any()
    assert ((problem.argopt > 0.0) & (problem.argopt < 1.0)).any()


PROGRAM = f"""#!{sys.executable}
sizes = [float(line) for line in open("input.txt")]
assert len(sizes) == 124
with open("output.txt", "w") as file:
    for number in [sum(sizes), sizes[0], -1.0, *[0.0] * 66]:
        print(f"  {{number!r}}", file=file)
"""
"""In place of MOPTA08's: the mass is the sum, and the first of 68 constraints the first size."""


@pytest.mark.skipif(sys.platform == "win32", reason="a script is no program there")
def test_the_program_of_mopta08_is_run_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "mopta08"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    monkeypatch.setenv(mopta.PATH, str(program))
    problem = catalogue.make("mopta08-124", 0)
    x = np.random.default_rng(0).random(problem.dim)
    assert problem.evaluate(x) == pytest.approx(x.sum() + 10.0 * x[0], rel=1e-15)
    program.write_text(PROGRAM.replace("66", "65"))
    with pytest.raises(RuntimeError, match=r"must write 69 numbers .* wrote 68 "):
        problem.evaluate(x)


def test_without_its_program_mopta08_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(mopta.PATH, raising=False)
    with pytest.raises(ValueError, match=r"MOPTA08 is None\. Set it .* or use vehicle-124"):
        catalogue.make("mopta08-124", 0)
