"""Subspaces: the same for everyone, found again, and searched as well as brute force would."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from histories import DOMAINS
from histories import affordable
from histories import make_domain
from histories import make_kernel
from histories import make_posterior
from hypothesis import given
from hypothesis import strategies as st

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.acquisition.analytic import Sum
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.maximise import subspaces as subspace
from optuna_hdbo._core.maximise.in_subspaces import SubspaceEffort
from optuna_hdbo._core.maximise.in_subspaces import SubspaceMaximiser
from optuna_hdbo._core.maximise.subspaces import Subspaces
from optuna_hdbo._core.maximise.subspaces import axes_through
from optuna_hdbo._core.maximise.subspaces import draw_subspaces
from optuna_hdbo._core.streams import Streams


def draw(domain: Domain, step: int = 5, d: int = 2, **changes: object) -> Subspaces:
    given: dict[str, object] = {"n0": 2, "alpha": 1.0, "axes": "random", "good": None}
    given |= changes
    streams = Streams(int(given.pop("seed", 3)))  # type: ignore[call-overload]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subspace, "MOST_SEARCHED", given.pop("most", subspace.MOST_SEARCHED))
        return draw_subspaces(domain, streams, "z", step, d, **given)  # type: ignore[arg-type]


def rows(spaces: Subspaces) -> set[tuple[bytes, bytes]]:
    return {
        (a.tobytes(), c.tobytes()) for a, c in zip(spaces.anchors, spaces.columns, strict=True)
    }


def lies_on(spaces: Subspaces, x: np.ndarray) -> bool:
    return bool(np.any(np.all((spaces.anchors == x) | spaces.free, axis=1)))


def test_sizes() -> None:
    assert subspace.sizes(4, 1, 0.0) == [1, 1, 1, 1]
    assert subspace.sizes(4, 10, 0.0) == [10, 10, 10, 10]
    assert subspace.sizes(4, 3, 1.0) == [3, 6, 9, 12]
    assert subspace.sizes(3, 1, 2.0) == [1, 4, 9]


def test_axes_through_a_point(monkeypatch: pytest.MonkeyPatch) -> None:
    domain, rng = make_domain(*[None] * 9), np.random.default_rng(0)
    centre = rng.random(9)
    spaces = axes_through(domain, centre, rng)
    assert (spaces.anchors == centre).all()
    assert spaces.columns.ravel().tolist() == list(range(9))
    monkeypatch.setattr(subspace, "MOST_SEARCHED", 4)
    some = axes_through(domain, centre, rng).columns.ravel()
    assert len(set(some.tolist())) == 4
    assert not set(some.tolist()) - set(range(9))


@pytest.mark.parametrize("axes", ["random", "fixed"])
def test_the_set_grows_and_stays(axes: str) -> None:
    domain = DOMAINS["mixed"]
    sets = [rows(draw(domain, step, axes=axes)) for step in range(6)]
    assert [len(s) for s in sets] == [2, 6, 12, 20, 30, 42]
    assert all(small < large for small, large in itertools.pairwise(sets))
    assert rows(draw(domain, 5, axes=axes, seed=4)).isdisjoint(sets[5])
    for s in sets:
        for _, columns in s:
            if axes == "fixed":
                assert np.frombuffer(columns, np.int64).tolist() == [5, 6]


def test_random_axes_are_fair_and_anchors_are_admissible() -> None:
    domain = DOMAINS["mixed"]
    spaces = draw(domain, 30, d=3, n0=30, alpha=0.0)
    shares = np.bincount(spaces.columns.ravel(), minlength=7) / len(spaces)
    np.testing.assert_allclose(shares, 3 / 7, atol=0.08)
    assert np.all(np.diff(spaces.columns, axis=1) > 0)
    assert np.array_equal(domain.snap(spaces.anchors), spaces.anchors)


def test_half_of_the_anchors_are_good_points_where_they_may() -> None:
    domain = DOMAINS["continuous"]
    good = domain.sample(np.random.default_rng(0), 4)
    spaces = draw(domain, 60, n0=5, alpha=0.0, good=good)
    random = draw(domain, 60, n0=5, alpha=0.0)
    assert 0.4 < spaces.at_good.mean() < 0.6
    assert {a.tobytes() for a in spaces.anchors[spaces.at_good]} == {g.tobytes() for g in good}
    assert not random.at_good.any()
    kept = ~spaces.at_good
    assert np.array_equal(spaces.anchors[kept], random.anchors[kept])
    assert np.array_equal(spaces.columns, random.columns)


def test_a_part_of_a_large_set_has_all_that_is_new_and_no_strangers() -> None:
    domain = DOMAINS["continuous"]
    whole = draw(domain, 19, n0=1, alpha=1.0)
    part = draw(domain, 19, n0=1, alpha=1.0, most=100)
    assert len(whole) == 210
    assert 60 < len(part) <= 100
    assert rows(part) < rows(whole)
    before = rows(draw(domain, 18, n0=1, alpha=1.0))
    assert rows(whole) - before <= rows(part)


@pytest.mark.parametrize("n0", [10**6, 10**30])
def test_huge_sets_are_legal(n0: int) -> None:
    spaces = draw(DOMAINS["continuous"], 50, n0=n0, alpha=4.0, most=64)
    assert 32 <= len(spaces) <= 64


@pytest.mark.parametrize("name", list(DOMAINS))
@pytest.mark.parametrize("d", [0, 1, 3])
@pytest.mark.parametrize("anchored", [False, True])
def test_every_point_is_on_a_subspace(name: str, d: int, anchored: bool) -> None:
    domain = DOMAINS[name]
    d = min(d, len(domain))
    posterior, X, y = make_posterior(domain, make_kernel(domain), 12)
    good = X[np.argsort(-y)[:3]] if anchored else None
    effort = SubspaceEffort(affordable(200, 20), 3, affordable(20, 3))
    for step in range(affordable(6, 2)):
        spaces = draw(domain, step, d, good=good)
        acquisition = Analytic.ucb(posterior, 1.0)
        x = SubspaceMaximiser(domain, spaces, effort)(acquisition, np.random.default_rng(step), X)
        # Without free columns, there are as few points as anchors. All may be known.
        assert lies_on(spaces, x) or (d == 0 and spaces.at_good.all())
        assert np.array_equal(domain.snap(x[None])[0], x)
        assert x.tobytes() not in {row.tobytes() for row in X}


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("kind", ["ucb", "log-ei"])
def test_at_least_brute_force(d: int, kind: str) -> None:
    """A dense grid on every subspace, in five dimensions, with discrete columns among them."""
    for name in ("continuous", "mixed"):
        domain = DOMAINS[name]
        posterior, X, y = make_posterior(domain, make_kernel(domain), affordable(15, 8), seed=d)
        acquisition = Analytic.ucb(posterior, 1.5)
        if kind == "log-ei":
            acquisition = Analytic.log_ei(posterior, float(y.max()))
        spaces = draw(domain, affordable(9, 2), d, n0=1, alpha=0.0)
        x = SubspaceMaximiser(domain, spaces)(acquisition, np.random.default_rng(0), X)
        best = -np.inf
        for anchor, columns in zip(spaces.anchors, spaces.columns, strict=True):
            lines = [
                np.linspace(0, 1, affordable(101, 11))
                if (grid := domain.grids[c]) is None
                else grid
                for c in columns
            ]
            grid_points = np.stack(np.meshgrid(*lines, indexing="ij"), -1).reshape(-1, d)
            points = np.repeat(anchor[None], len(grid_points), axis=0)
            points[:, columns] = grid_points
            best = max(best, float(acquisition(points).max()))
        assert acquisition(x[None])[0] >= best - 1e-3


def test_known_points_are_not_asked_again_until_nothing_is_left() -> None:
    domain = make_domain(3, "2")
    kernel = make_kernel(domain)
    posterior, _, _ = make_posterior(domain, kernel, 4)
    acquisition = Analytic.ucb(posterior, 1.0)
    known: list[np.ndarray] = []
    for step in range(6):
        spaces = draw(domain, step, 1, n0=1, alpha=0.0)
        x = SubspaceMaximiser(domain, spaces)(
            acquisition, np.random.default_rng(step), np.array(known).reshape(-1, 2)
        )
        known.append(x)
    assert len({x.tobytes() for x in known}) == 6


@given(
    step=st.integers(0, 40),
    n0=st.integers(1, 50),
    alpha=st.floats(0.0, 4.0),
    d=st.integers(0, 6),
    seed=st.integers(0, 100),
)
def test_any_set_can_be_drawn(step: int, n0: int, alpha: float, d: int, seed: int) -> None:
    domain = DOMAINS["mixed"]
    spaces = draw(domain, step, d, n0=n0, alpha=alpha, seed=seed, most=40)
    assert 1 <= len(spaces) <= 40
    assert spaces.columns.shape == (len(spaces), d)
    assert spaces.free.sum() == len(spaces) * d


@pytest.mark.parametrize("name", ["continuous", "mixed", "discrete"])
@pytest.mark.parametrize("d", [0, 2])
def test_sums_are_searched_as_single_terms_are(name: str, d: int) -> None:
    """A sum of kernels with lengthscales of their own, and a sum of one and nothing."""
    domain = DOMAINS[name]
    posterior, X, _ = make_posterior(domain, make_kernel(domain), 12)
    other, _, _ = make_posterior(domain, make_kernel(domain, seed=1), 9, seed=5)
    bound = Analytic.ucb(posterior, 1.0)
    both = Sum([bound, Analytic.excess(other, 0.5, -0.3)])
    spaces = draw(domain, 4, d)
    effort = SubspaceEffort(affordable(300, 20), 4, affordable(40, 3))
    search = SubspaceMaximiser(domain, spaces, effort)
    x = search(both, np.random.default_rng(0), X)
    assert lies_on(spaces, x)
    Y = search._candidates(np.random.default_rng(0))
    points = np.array([search._point(i, y) for i, row in enumerate(Y) for y in row])
    scores = search._scores(search._restricted(both), spaces.columns, Y)
    np.testing.assert_allclose(scores.ravel(), both(points), atol=1e-9)
    assert both(x[None])[0] >= scores.max() - 1e-8
    one = search(bound, np.random.default_rng(0), X)
    assert np.array_equal(one, search(Sum([bound]), np.random.default_rng(0), X))


def test_sums_over_groups_are_refused() -> None:
    """The compiled loops know one group: more would be read past the ends of their arrays."""
    domain = DOMAINS["continuous"]
    kernel = make_kernel(domain, [[c] for c in range(len(domain))])
    posterior, X, _ = make_posterior(domain, kernel, 8)
    search = SubspaceMaximiser(domain, draw(domain))
    with pytest.raises(ValueError, match="one group"):
        search(Analytic.ucb(posterior, 1.0), np.random.default_rng(0), X)
