"""The partition tree of SOO and BaMSOO as an object: arrays that grow, and what to ask of them."""

from __future__ import annotations

import copy
from typing import Any
from typing import Literal

import numpy as np

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._jit import nodes as jit
from optuna_hdbo._jit import tree as sweep
from optuna_hdbo._jit.cells import Columns
from optuna_hdbo._jit.cells import place
from optuna_hdbo._jit.kernels import Covariance
from optuna_hdbo._jit.nodes import Nodes
from optuna_hdbo._jit.tree import Model
from optuna_hdbo._jit.tree import Rule as Rule


ALPHABET = "012"

DepthLimit = Literal["growing", "fixed"]
DEPTH_LIMITS = ("growing", "fixed")

_EMPTY = np.empty(0)

_NO_INDICES = np.empty(0, dtype=np.int64)

NO_MODEL = Model(
    kernel=Covariance(0, hamming=_EMPTY, starts=_NO_INDICES, scales=_EMPTY, inverse=_EMPTY),
    features=np.empty((0, 0)),
    columns=_NO_INDICES,
    linv=np.empty((0, 0)),
    alpha=_EMPTY,
    n=-1,
    shift=0.0,
    scale=1.0,
    best=0.0,
)


def make_model(posterior: Posterior, shift: float, scale: float, best: float) -> Model:
    """Return a posterior of standardised values as compiled loops read it.

    ``best`` is f+, in the units of ``y * scale + shift``.
    """
    kernel = posterior.kernel
    return Model(
        kernel=kernel.covariance,
        features=posterior.features,
        columns=kernel.columns,
        linv=posterior.linv,
        alpha=posterior.alpha,
        n=len(posterior.X),
        shift=shift,
        scale=scale,
        best=best,
    )


def make_columns(domain: Domain) -> Columns:
    """Return a domain as compiled loops read it."""
    values, starts = domain.flat_grids
    borders, sizes = np.zeros(len(values)), np.zeros(len(domain))
    log_starts = np.zeros(len(domain))
    for i, grid in enumerate(domain.grids):
        if grid is not None:
            n = len(grid)
            sizes[i] = n
            inner = np.arange(1, n) / n if domain.categorical[i] else (grid[1:] + grid[:-1]) / 2.0
            borders[starts[i] : starts[i] + n - 1] = inner
        elif i in domain.steps:
            sizes[i], log_starts[i] = domain.steps[i].n, domain.steps[i].log_start or 0.0
    return Columns(sizes, log_starts, values, borders, starts)


class Tree:
    """A tree that grows by :meth:`advance` and :meth:`settle` in turn."""

    def __init__(self, domain: Domain, rule: Rule) -> None:
        self.columns = make_columns(domain)
        if rule.exponent < 0.0:
            rule = rule._replace(exponent=1.0 if self.columns.sizes.all() else 0.5)
        self.rule = rule
        self._is_counted = bool(self.columns.sizes.any())
        n, n_columns = 64, len(domain)
        self.nodes = Nodes(
            low=np.empty((n, n_columns)),
            high=np.empty((n, n_columns)),
            at=np.empty((n, n_columns)),
            score=np.empty(n),
            links=np.empty((n, jit.N_LINKS), dtype=np.int64),
            heaps=np.full(32, -1, dtype=np.int64),
            state=np.zeros(jit.N_STATE, dtype=np.int64),
            limit=np.full(1, -np.inf),
        )
        # Algorithms 2 and 3 begin with n = 1 and N = 1, the root expanded and tested by then.
        self.nodes.state[jit.EXPANSIONS] = 1
        self._parent = 0, ""  # the parent of the last node whose path was asked for, and its path

    def copy(self) -> Tree:
        """Return a tree that may go another way."""
        other = copy.copy(self)
        other.nodes = self._resized(len(self.nodes.score))
        return other

    def _resized(self, n: int) -> Nodes:
        old = self.nodes

        def resized(array: Any) -> Any:
            longer = np.empty((n, *array.shape[1:]), dtype=array.dtype)
            longer[: len(self)] = array[: len(self)]
            return longer

        heaps = np.full(max(len(old.heaps), 2 * self.depth + 32), -1, dtype=np.int64)
        heaps[: len(old.heaps)] = old.heaps
        rows = {
            name: resized(getattr(old, name)) for name in ("low", "high", "at", "score", "links")
        }
        return old._replace(**rows, heaps=heaps, state=old.state.copy(), limit=old.limit.copy())

    def __len__(self) -> int:
        return int(self.nodes.state[jit.COUNT])

    @property
    def depth(self) -> int:
        """Depth of the deepest node that may be opened."""
        return int(self.nodes.state[jit.DEEPEST])

    @property
    def n_rejected(self) -> int:
        """How many nodes were given a bound instead of a value."""
        return int(self.nodes.state[jit.N_REJECTED])

    def advance(self, model: Model) -> int | None:
        """Grow until a node's value is needed; return the node, or None if nothing is left."""
        while True:
            code = sweep.advance(self.rule, self.columns, self.nodes, model)
            if code == sweep.REQUEST:
                number = self.nodes.state.item
                parent = number(jit.EXPANDING)
                if parent < 0:
                    return 0
                return int(self.nodes.links.item(parent, jit.FIRST) + number(jit.CHILD))
            if code == sweep.EXHAUSTED:
                return None
            self.nodes = self._resized(2 * len(self.nodes.score))

    def rescore(self, model: Model) -> None:
        """Give rejected leaves new bounds, after the hyperparameters have changed."""
        sweep.rescore(self.rule, self.columns, self.nodes, model)

    def settle(self, node: int, score: float | None) -> None:
        """Answer a request with a value, or with None to leave the node its bound."""
        links, state = self.nodes.links, self.nodes.state
        if links.item(node, jit.STATUS) == jit.REJECTED:  # asked for when nothing else was left
            state[jit.N_REJECTED] -= 1
        links[node, jit.STATUS] = jit.CLOSED if score is None else jit.EVALUATED
        if score is not None:
            self.nodes.score[node] = min(max(score, jit.LOWEST), -jit.LOWEST)
        state[jit.SINCE] = 0
        state[jit.ASKED] += 1

    def retract(self) -> None:
        """Undo the count of a test that will be made again, with more observations."""
        self.nodes.state[jit.TESTS] -= 1

    def best_rejected_leaf(self) -> int | None:
        """Return the leaf with the highest bound instead of a value, the oldest of equals."""
        links = self.nodes.links[: len(self)]
        leaves = np.flatnonzero((links[:, jit.STATUS] == jit.REJECTED) & (links[:, jit.FIRST] < 0))
        return int(leaves[np.argmax(self.nodes.score[leaves])]) if len(leaves) else None

    def point(self, node: int) -> FloatArray:
        """Return a node's point, shape (D,)."""
        x: FloatArray = self.nodes.at[node].copy()
        if self._is_counted:
            place(self.columns, self.nodes.at[node], x)
        return x

    def origins(self, node: int, path: str) -> list[str]:
        """Return the paths of the ancestors that have the point of a node, the nearest first.

        ``path`` is the node's own one.
        """
        number, paths = self.nodes.links.item, []
        while number(node, jit.INHERITS):
            node, path = number(node, jit.PARENT), path[:-1]
            paths.append(path)
        return paths

    def path(self, node: int) -> str:
        """Return a node's way from the root, a digit per child: "" is the root."""
        if node == 0:
            return ""
        number = self.nodes.links.item
        parent, digits = number(node, jit.PARENT), ALPHABET[number(node, jit.DIGIT)]
        if parent != self._parent[0]:  # else the last node's sibling
            self._parent = parent, self._path(parent)
        return self._parent[1] + digits

    def _path(self, node: int) -> str:
        number = self.nodes.links.item
        digits = []
        while node > 0:
            digits.append(ALPHABET[number(node, jit.DIGIT)])
            node = number(node, jit.PARENT)
        return "".join(reversed(digits))
