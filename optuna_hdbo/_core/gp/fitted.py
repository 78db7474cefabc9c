"""A Gaussian process that follows a study: refitted now and then, appended to in between.

What was fitted is a plain JSON object that travels with the trial that caused the fit, so that
any process can go on from there; factors are caches that are rebuilt from it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.gp.kernel import KINDS
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.gp.rotated import Rotated
from optuna_hdbo._core.lazy import cached_property
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.memory import is_count
from optuna_hdbo._core.observations import modelled_rows


COSTLY_FROM = 60
"""From this many columns on fits are costly."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A kernel and when it was fitted.

    Parameters
    ----------
    kernel : Kernel
    n : int
        Observations that it was fitted to.
    cycle : int
        How many fits came before.
    log_likelihood : float
        Log marginal likelihood of those observations.
    isotropic : bool
        Whether the kernel has one group of all columns and one lengthscale for them. Then the JSON
        object has the number of the columns instead of their names.
    """

    kernel: Kernel
    n: int
    cycle: int
    log_likelihood: float
    isotropic: bool = False

    @cached_property
    def identity(self) -> Hashable:
        """Fits with equal identities are equal."""
        k = self.kernel
        arrays = (k.lengthscales, k.scales, k.categorical, k.root, *k.groups)
        return self.n, self.cycle, k.kind, k.noise, *(array.tobytes() for array in arrays)

    def to_json(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Return a JSON object; numbers are kept to six digits, in :meth:`rounded` too."""
        kernel = self.kernel
        columns = kernel.columns
        ordered, ends = [names[i] for i in columns.tolist()], kernel.starts.tolist()
        groups: Any = [ordered[a:b] for a, b in itertools.pairwise(ends)]
        if self.isotropic:
            groups, columns = len(columns), columns[:1]
        return {
            "n": self.n,
            "cycle": self.cycle,
            "log_likelihood": round(self.log_likelihood, 4),
            "kind": kernel.kind,
            "groups": groups,
            "lengthscales": [_short(x) for x in kernel.lengthscales[columns]],
            "scales": [_short(x) for x in kernel.scales],
            "noise": _short(kernel.noise),
            **({"directions": kernel.rows} if isinstance(kernel, Rotated) else {}),
        }

    def rounded(self, domain: Domain) -> Fitted:
        """Return what a reader of :meth:`to_json` gets."""
        fitted = Fitted.from_json(self.to_json(domain.names), domain)
        assert fitted is not None
        return fitted

    @classmethod
    def from_json(cls, data: Any, domain: Domain) -> Fitted | None:
        """Return the fit that an object describes, or None if it does not fit this domain."""
        try:
            given = np.array(data["lengthscales"], dtype=np.float64)
            columns = np.arange(len(domain))
            groups: tuple[IntArray, ...] = (columns,)
            isotropic = data["groups"] == len(domain) and given.shape == (1,)
            if isotropic:
                given = np.repeat(given, len(domain))
            else:
                index = {name: i for i, name in enumerate(domain.names)}
                ends = list(itertools.accumulate(map(len, data["groups"]), initial=0))
                ordered = [index[name] for group in data["groups"] for name in group]
                columns = np.array(ordered, np.int64)
                groups = tuple(columns[a:b] for a, b in itertools.pairwise(ends))
            lengthscales = np.ones(len(domain))
            lengthscales[columns] = given
            scales = np.array(data["scales"], dtype=np.float64)
            numbers = np.concatenate([lengthscales, scales, [float(data["noise"])]])
            valid = (
                data["kind"] in KINDS
                and len(set(columns.tolist())) == len(columns)
                and len(groups) > 0
                and all(len(group) for group in groups)
                and given.shape == columns.shape
                and len(scales) == len(groups)
                and math.isfinite(float(data["log_likelihood"]))
                and bool(np.all((numbers > 1e-12) & (numbers < 1e12)))
                and is_count(data["n"])
                and is_count(data["cycle"])
            )
            if not valid:
                return None
            kernel = Kernel(
                data["kind"],
                groups,
                lengthscales,
                scales,
                float(data["noise"]),
                domain.categorical,
            )
            if "directions" in data:
                kernel = Rotated.from_rows(kernel, data["directions"])
            likelihood = float(data["log_likelihood"])
            return cls(kernel, data["n"], data["cycle"], likelihood, isotropic)
        except (KeyError, TypeError, ValueError, IndexError, OverflowError):
            return None


def _short(x: float) -> float:
    return float(f"{x:.6g}")


class FactorCache:
    """Keeps the factor of the last posterior, so that the next one only appends new points."""

    def __init__(self) -> None:
        self._identity: Hashable = None
        self._factor: Factor | None = None
        self._at_once = 0

    def __getstate__(self) -> dict[str, object]:
        # A factor is made again from the observations. It is large, and may be changing just now.
        return vars(FactorCache())

    def posterior(
        self, fitted: Fitted, X: FloatArray, y: FloatArray, pending: FloatArray
    ) -> Posterior:
        """Return the posterior given observations X (n, D), y (n,) and pending points (m, D).

        The first ``fitted.n`` points are factorised at once and the others appended, in a cached
        factor and in a new one alike: both give the same numbers to the last bit. Of very many,
        only some are used: :func:`modelled_rows`.
        """
        at_once = min(fitted.n, len(X))
        rows = modelled_rows(y)
        if rows is not None:
            at_once = int(np.searchsorted(rows, fitted.n))
            X, y = X[rows], y[rows]
        # Taken out while it is changed: one that was left halfway is not used again.
        factor, self._factor = self._factor, None
        kept = 0
        if factor is not None and self._identity == fitted.identity:
            kept = min(len(factor), len(X))
            differs = factor.X[:kept] != X[:kept]
            if differs.any():
                kept = int(differs.any(axis=1).argmax())
        if factor is None or kept < at_once or kept == 0 or at_once != self._at_once:
            factor = Factor(fitted.kernel, X[:at_once])
            kept = at_once
        factor.truncate(kept)
        factor.append(X[kept:])
        factor.append(pending)
        self._identity, self._factor, self._at_once = fitted.identity, factor, at_once
        return Posterior(factor, y, rows)


_READ: dict[int, tuple[Any, Domain, Fitted | None]] = {}
_MOST_READ = 64  # several times what a suggestion asks for; they stay in memory after a study


def _read(data: Any, domain: Domain) -> Fitted | None:
    """Return :meth:`Fitted.from_json`, and remember it.

    Every suggestion asks for the latest fits. They are the same objects, which records keep.
    """
    known = _READ.get(id(data))
    if known is not None and known[0] is data and known[1].is_same_as(domain):
        return known[2]
    fitted = Fitted.from_json(data, domain)
    if len(_READ) >= _MOST_READ:
        _READ.clear()
    _READ[id(data)] = data, domain, fitted
    return fitted


def recall_fit(
    memory: Memory, key: str, domain: Domain, groups: Sequence[IntArray] | None = None
) -> Fitted | None:
    """Return the newest valid fit under a key.

    A fit counts if it has exactly these ``groups`` or, where they are ``None``, all columns of the
    domain: one that was made while a parameter was fixed does not count for all of them.
    """
    wanted = None if groups is None else [group.tolist() for group in groups]

    def parse(data: Any) -> Fitted | None:
        fitted = _read(data, domain)
        if fitted is None:
            return None
        kernel = fitted.kernel
        if wanted is None:
            return fitted if len(kernel.columns) == len(domain) else None
        return fitted if [group.tolist() for group in kernel.groups] == wanted else None

    return memory.recall(key, parse)


def recall_or_refit(
    memory: Memory,
    key: str,
    domain: Domain,
    n: int,
    refit: Callable[[Fitted | None], Fitted],
    *,
    groups: Sequence[IntArray] | None = None,
    n_cyc: int | None = None,
    growth: float = 0.05,
    renew: bool = True,
) -> Fitted:
    """Return the newest valid fit under a key or, where it is due, a new one, which is kept.

    It is due when :func:`is_due` says so of ``n`` observations, or, without ``renew``, where there
    is none. ``refit`` gets the last fit, or ``None``, and returns a new one. ``groups`` are those
    of :func:`recall_fit`.
    """
    fitted = recall_fit(memory, key, domain, groups)
    if fitted is not None and not renew:
        return fitted
    return refit_if_due(fitted, memory, key, domain, n, refit, n_cyc=n_cyc, growth=growth)


def refit_if_due(
    fitted: Fitted | None,
    memory: Memory,
    key: str,
    domain: Domain,
    n: int,
    refit: Callable[[Fitted | None], Fitted],
    *,
    n_cyc: int | None = None,
    growth: float = 0.05,
) -> Fitted:
    """Return the last fit or, where one is due, a new one; see :func:`recall_or_refit`."""
    if fitted is None or is_due(fitted, n, n_cyc, growth):
        fitted = refit(fitted)
        memory.keep(key, fitted.to_json(domain.names))
    return fitted


def is_due(fitted: Fitted | None, n: int, n_cyc: int | None, growth: float = 0.05) -> bool:
    """Tell whether a new fit is due at ``n`` observations.

    It is due after ``n_cyc`` further observations. With ``n_cyc`` = None, it is due when
    observations have grown by the share ``growth``, and by two at least: early fits, which change
    most, come often, and late ones, which cost most, come rarely.
    """
    if fitted is None:
        return True
    return has_passed(fitted.n, n, until_due(fitted.n, growth) if n_cyc is None else n_cyc)


def has_passed(since: int, n: int, wait: int) -> bool:
    """Tell whether ``wait`` more observations have come, or some are gone."""
    return not 0 <= n - since < wait


def until_due(n: int, growth: float) -> int:
    """Return the observations after which the share ``growth`` of n has come, at least two."""
    return max(2, int(growth * n))


def n_settled(n: int) -> int:
    """Return how many of n observations there were when they had last grown by a tenth."""
    settled = 2
    while (more := settled + until_due(settled, 0.1)) <= n:
        settled = more
    return settled


def rarer(growth: float, domain: Domain, *, frugal: bool) -> float:
    """Return twice the share of new observations, ``growth``, where a model is frugal and large.

    So its fits are due half as often from :data:`COSTLY_FROM` on.
    """
    return 2.0 * growth if frugal and domain.breadth >= COSTLY_FROM else growth


def cold_lengthscale(n_columns: int) -> float:
    """Return a lengthscale to start a fit from, for columns that interact.

    sqrt(d) / 7 keeps the correlation of two random points away from 0 in any dimension d.
    """
    lengthscale: float = max(0.5, n_columns**0.5 / 7.0)
    return lengthscale


def cold_start(
    domain: Domain, kind: str, groups: Sequence[IntArray], lengthscale: float, noise: float
) -> Kernel:
    """Return a kernel to start a fit from: unit signal variance, shared by the groups equally."""
    return Kernel(
        kind,
        tuple(groups),
        np.full(len(domain), lengthscale),
        np.full(len(groups), 1.0 / len(groups)),
        noise,
        domain.categorical,
    )
