"""DIRECT and DOO against transcriptions of their papers, point by point."""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Sequence

import numpy as np
import pytest
import reference
import reference_tree
from histories import Ledger
from histories import affordable
from histories import make_domain

from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.baselines.direct import DIRECT
from optuna_hdbo.methods.baselines.direct import KEY
from optuna_hdbo.methods.baselines.doo import DOO


def bumps(x: Sequence[float]) -> float:
    centre = [0.37, 0.71, 0.22, 0.9][: len(x)]
    r = math.dist(x, centre)
    return math.cos(9.0 * r) - 2.0 * r + 0.1 * x[0]


@pytest.mark.parametrize(
    "columns",
    [(None,), (None, None), (None,) * 3, (None, 4), (2, None, "3"), (2, "3", 4)],
    ids=str,
)
def test_direct_is_the_algorithm_of_the_paper(columns: tuple[int | str | None, ...]) -> None:
    """Points that discrete columns make equal are evaluated once."""
    n = affordable(60, 25)
    domain = make_domain(*columns)
    visited = reference.direct(lambda x: bumps(x), domain.grids, 4 * n, 1e-4)
    expected = list(dict.fromkeys(tuple(x) for x, _ in visited))
    ledger = Ledger.started(domain, 1, lambda x: bumps(x.tolist()))
    first = tuple(ledger.X[0].tolist())  # a random point spares its evaluation
    ledger.run(DIRECT(), n)
    asked = [tuple(x.tolist()) for x in ledger.X[1:]]
    expected = [x for x in expected if x != first][:n]
    assert asked[: len(expected)] == expected
    assert len(set(asked)) == len(asked) or len(expected) < n


def test_the_points_of_an_iteration_can_run_at_the_same_time() -> None:
    ledger = Ledger.started(make_domain(None, None), 1, lambda x: bumps(x.tolist()))
    ledger.run(DIRECT(), 1)
    points: list[np.ndarray] = []
    for step in range(5):
        seen = ledger.seen(pending=points, step=step + 2)
        points.append(DIRECT().suggest(ledger.domain, seen, Streams(0)).x)
    thirds = {(1 / 6, 0.5), (5 / 6, 0.5), (0.5, 1 / 6), (0.5, 5 / 6)}
    assert {tuple(np.round(x, 12)) for x in points[:4]} == {tuple(np.round(x, 12)) for x in thirds}
    assert tuple(points[4]) not in thirds  # at random: the iteration waits for the others


def test_a_failed_point_is_the_worst() -> None:
    ledger = Ledger.started(make_domain(None, None), 1, lambda x: float(x[0]))
    ledger.run(DIRECT(), 1)
    failed = DIRECT().suggest(ledger.domain, ledger.seen(), Streams(0))
    ledger.keep(failed, "failed")
    step = len(ledger.X) + 1
    suggestion = DIRECT().suggest(ledger.domain, ledger.seen(step=step), Streams(0))
    assert not np.array_equal(suggestion.x, failed.x)
    assert failed.record is not None
    assert failed.record[KEY] == failed.x.tolist()


def doo(
    f: Callable[[Sequence[float]], float], d: int, k: int, lipschitz: float, n: int
) -> list[str]:
    """Return the paths of the first n cells that DOO evaluates, as section 3 has it."""
    root = reference_tree.root_of((0,) * d)
    root.g = f(root.x.tolist())
    paths, leaves = [""], [root]
    while len(paths) < n:

        def bound(node: reference_tree.Node) -> float:
            sides = [float(high - low) for low, high in node.cell]
            return node.g + lipschitz * 0.5 * math.hypot(*sides)

        best = max(leaves, key=bound)
        leaves.remove(best)
        for child in reference_tree.children_of(best, k):
            if child.inherits:
                child.g = best.g
            else:
                child.g = f(child.x.tolist())
                paths.append(child.path)
            leaves.append(child)
    return paths[:n]


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(("d", "lipschitz"), [(1, 12.0), (2, 3.0), (3, 12.0)])
def test_doo_opens_the_leaf_of_the_largest_bound(k: int, d: int, lipschitz: float) -> None:
    n = affordable(80, 30)
    ledger = Ledger.started(make_domain(*[None] * d), 1, lambda x: bumps(x.tolist()))
    method = DOO(lipschitz=lipschitz, branching=k)  # type: ignore[arg-type]
    suggestions = ledger.run(method, n)
    paths = [s.record["node"]["path"] for s in suggestions if s.record is not None]
    assert paths == doo(bumps, d, k, lipschitz, n)


def test_doo_with_a_valid_constant_finds_the_maximum() -> None:
    """A large constant searches evenly, a small one greedily."""
    depths = []
    for lipschitz in (1.0, 100.0):
        ledger = Ledger.started(make_domain(None, None), 1, lambda x: bumps(x.tolist()))
        ledger.run(DOO(lipschitz=lipschitz), affordable(60, 20))
        depths.append(max(len(r.data["node"]["path"]) for r in ledger.records))
    assert depths[0] > depths[1]
