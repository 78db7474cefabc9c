"""Problems with several objectives: their fronts are above nothing, and within their reference."""

from __future__ import annotations

import numpy as np
import pytest

from optuna_hdbo.benchmarks.problems import catalogue
from optuna_hdbo.benchmarks.problems.suites import multi


@pytest.mark.parametrize("name", multi.NAMES["multi-tune"])
def test_tuning_problems(name: str) -> None:
    problem = multi.make(name)
    assert problem.purpose == "tune"
    low, high = problem.bounds.T
    X = np.random.default_rng(0).uniform(low, high, (200, len(low)))
    Y = np.array([problem.evaluate(x) for x in X])
    assert Y.shape == (200, len(problem.reference))
    assert np.isfinite(Y).all()
    assert np.ptp(Y, axis=0).min() > 0.0
    assert problem.first(3).evaluate(X[0]) == Y[0, 0]


def test_centres_are_optimal() -> None:
    problem = multi.make("spheres3-8")
    for j, centre in enumerate(multi._centres(8, 3)):
        assert problem.evaluate(centre)[j] == 0.0
    problem = multi.make("ackleys-6")
    for j, centre in enumerate(multi._centres(6, 2)):
        assert problem.evaluate(centre)[j] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("name", ["cone-20", "bowl-30", "valley-10", "waves-10"])
def test_the_front_of_a_curve_is_at_its_centre(name: str) -> None:
    problem = multi.make(name)
    d = len(problem.bounds)
    centre = np.random.default_rng(d).uniform(0.2, 0.8, d - 1)
    first, second = problem.evaluate(np.append(0.25, centre))
    assert first == 0.25
    assert second == pytest.approx(0.5 if name in ("cone-20", "waves-10") else 1.0 - 0.25**2)
    assert problem.evaluate(np.append(0.25, centre + 0.1))[1] > second


FAMILIES = ("multi", "multi-many", "multi-constrained")
REPORTED = [name for family in FAMILIES for name in multi.NAMES[family]]


@pytest.mark.parametrize("name", REPORTED)
def test_reported_problems(name: str) -> None:
    pytest.importorskip("pymoo")
    problem = multi.make(name)
    assert problem.purpose == "report"
    low, high = problem.bounds.T
    shares = (0.1, 0.3, 0.9) if name == "truss2d" else (0.0, 0.3, 1.0)  # no bars, no finite stress
    Y = np.array([problem.evaluate(low + share * (high - low)) for share in shares])
    assert Y.shape == (3, len(problem.reference))
    assert np.isfinite(Y).all()
    assert (problem.constraints is not None) == (name in multi.NAMES["multi-constrained"])


def test_names_say_how_many_objectives_there_are() -> None:
    pytest.importorskip("pymoo")
    for name in multi.NAMES["multi-many"]:
        assert len(multi.make(name).reference) == int(name.split("-")[1])


def test_a_known_front_under_constraints() -> None:
    """Binh & Korn (1997): x = y up to 3 is optimal, and the first constraint forbids (0, 3)."""
    pytest.importorskip("pymoo")
    problem = multi.make("bnh")
    assert problem.constraints is not None
    x = np.array([2.0, 2.0])
    np.testing.assert_allclose(problem.evaluate(x), [32.0, 18.0])
    assert (problem.constraints(x) <= 0.0).all()
    assert (problem.evaluate(x) < problem.reference).all()
    assert problem.constraints(np.array([0.0, 3.0]))[0] > 0.0


def test_a_known_optimum_of_zdt() -> None:
    pytest.importorskip("pymoo")
    x = np.zeros(30)
    x[0] = 0.25
    np.testing.assert_allclose(multi.make("zdt1").evaluate(x), [0.25, 0.5])


def test_seeds_are_split_as_those_of_all_problems() -> None:
    catalogue.check_seed("zdt1", 0)
    catalogue.check_seed("spheres-10", 1000)
    with pytest.raises(ValueError, match=r"seed must be in \[0, 99\] for a reported problem"):
        catalogue.check_seed("zdt1", 1000)
    with pytest.raises(ValueError, match=r"seed must be in .* for a tuning problem"):
        catalogue.check_seed("spheres-10", 0)
