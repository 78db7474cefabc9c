"""VS-BO (Shen & Kingsford 2023): Bayesian optimisation of the few columns that matter.

"Computationally Efficient High-Dimensional Bayesian Optimization via Variable Selection", AutoML
2023. Columns are ranked by how much they move a Gaussian process over all of them, the leading
ones are kept as long as they make the data likelier, and the search goes on in these alone.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import ClassVar
from typing import Literal

import numpy as np

from optuna_hdbo._core.acquisition.confidence import root_beta
from optuna_hdbo._core.acquisition.constraints import ConstraintModels
from optuna_hdbo._core.acquisition.feasibility import merits
from optuna_hdbo._core.checks import check_choice
from optuna_hdbo._core.checks import check_flags
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.checks import check_names
from optuna_hdbo._core.checks import check_names_known
from optuna_hdbo._core.checks import check_number
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.gp.kernel import KINDS
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.maximise.multistart import Effort
from optuna_hdbo._core.maximise.multistart import maximise
from optuna_hdbo._core.maximise.queries import good_points
from optuna_hdbo._core.maximise.queries import prediction
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.additive import grouped_columns
from optuna_hdbo._core.models.ensemble import NONE_INTERACT
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo._core.models.selected import WHOLE
from optuna_hdbo._core.models.selected import SelectedModel
from optuna_hdbo._core.models.subsets import observed_in
from optuna_hdbo._core.models.subsets import restricted
from optuna_hdbo._core.points import unknown_near
from optuna_hdbo._core.variables import cma
from optuna_hdbo._core.variables.selection import Selection
from optuna_hdbo._core.variables.selection import recall_selection
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion


Criterion = Literal["gain", "momentum", "forward"]
Unimportant = Literal["cma", "mix", "incumbent"]
AHEAD, LEAST_SHARE = 1.0, 0.1
"""Nats per observation by which the model of all columns has to predict better than the sum over
columns to be asked as often, and the least share of either."""

SUM_GROWTH = 0.05
"""A new fit of the sum over columns is due when observations have grown by this share."""

MANY_STARTS = Effort(n_uniform=1024, n_starts=96, n_finalists=6)
"""Effort for bounds. With the theorem's width, nearly every corner is a local maximum. With the
default of 12 starts, a tenth of 120 queries over two columns missed the best corner. With 96
starts, none did."""

OF_SELECTIONS = (
    "n_vs",
    "criterion",
    "gain",
    "n_is",
    "unimportant",
    "n_draws",
    "whole_every",
    "additive",
)
"""Settings without a meaning where the important parameters are known."""


class VSBO:
    """Bayesian optimisation of the columns that matter.

    The parameters are those of :class:`optuna_hdbo.VSBOSampler`, where they are described, and
    ``n_init``: the observations that come before the first selection's count begins.
    """

    name = "vs-bo"
    models_constraints = True

    published: ClassVar[Mapping[str, Any]] = {
        "n_vs": 20,
        "criterion": "momentum",
        "n_is": 10000,
        "unimportant": "cma",
        "n_draws": 1,
        "whole_every": 0,
        "n_cyc": 1,
        "priors": False,
        "additive": False,
        "n_startup_trials": 5,
    }
    """Settings of the paper, its Algorithms 1 to 5 and appendix D.

    Five uniform points; every 20 observations Grad-IS at 10000 points and a stepwise selection
    with momentum; Matern-5/2 kernels fitted by maximum likelihood at every trial; expected
    improvements on the best value; one draw of the other parameters from the conditional normal
    distribution. With known ``important`` parameters (Algorithm 6), the settings of selections
    are left out.
    """

    def __init__(
        self,
        *,
        important: Sequence[str] | None = None,
        n_vs: int = 20,
        criterion: Criterion = "gain",
        gain: float = 6.0,
        n_is: int = 2000,
        unimportant: Unimportant = "cma",
        n_draws: int = 20,
        whole_every: int = 4,
        n_cyc: int | None = None,
        priors: bool = True,
        additive: bool = True,
        kernel: str = "matern52",
        n_init: int = 10,
    ) -> None:
        check_flags(priors=priors, additive=additive)
        check_integer("n_vs", n_vs, 2)
        check_choice("criterion", criterion, ("gain", "momentum", "forward"))
        check_number("gain", gain, above=0.0)
        check_integer("n_is", n_is, 1)
        check_choice("unimportant", unimportant, ("cma", "mix", "incumbent"))
        check_integer("n_draws", n_draws, 1)
        check_integer("whole_every", whole_every, 0)
        check_integer("n_cyc", n_cyc, 1, optional=True)
        check_choice("kernel", kernel, tuple(KINDS))
        check_integer("n_init", n_init, 0)
        self.important = None if important is None else check_names("important", important)
        if important is not None:
            given = (n_vs, criterion, gain, n_is, unimportant, n_draws, whole_every, additive)
            _check_defaults(dict(zip(OF_SELECTIONS, given, strict=True)))
        self.n_vs = n_vs
        self.criterion = criterion
        self.unimportant = unimportant
        self.n_draws = n_draws
        self.whole_every = whole_every
        self.priors = bool(priors)
        self.n_init = n_init
        self._models = SelectedModel(
            kernel, criterion, gain, n_is, n_cyc, bool(priors), bool(additive)
        )
        self._by_column = Ensemble(kernel, True, (NONE_INTERACT,), name=WHOLE)
        self._conditionals = cma.ConditionalCache()
        self._constraints = ConstraintModels(kernel)

    def validate(self, domain: Domain) -> None:
        """Raise ``ValueError`` where an important parameter is none of the study."""
        if self.important is not None:
            check_names_known("important", self.important, domain.names)

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the next point (Algorithm 1, or Algorithm 6 with known columns)."""
        rng, memory = streams.generator(self.name, seen.step), Memory(seen.records)
        if self.important is not None:
            return self._maximise_bound(domain, seen, memory, rng)
        selection = recall_selection(memory, domain, len(seen.y))
        if self._is_selection_due(selection, len(seen.y)):
            choosing = streams.generator(f"{self.name}:select", seen.step)
            selection = self._models.select(domain, seen, memory, selection, choosing)
        if selection is None or self._is_turn_of_all(seen.step):
            columns = np.arange(len(domain))
            posterior = self._models.whole(domain, seen, memory, renew=selection is None)
            if self.priors and selection is not None and len(domain) > 1:
                posterior = self._or_by_column(domain, seen, posterior, memory, rng)
            x = self._improve(domain, seen, posterior, seen.known, memory, rng)
        else:
            columns = selection.columns(domain)
            x, posterior = self._improve_selected(domain, seen, columns, memory, rng)
        x = domain.canonical(x[None])[0]
        x = unknown_near(domain, x, seen.known, rng)
        report = prediction(seen, posterior, x[columns])
        if selection is not None:
            report["n_selected"] = len(selection.names)
        return Suggestion(x, memory.kept or None, report)

    def _is_selection_due(self, selection: Selection | None, n: int) -> bool:
        if selection is None:
            return n >= self.n_init + self.n_vs
        pause = self.n_vs
        if self.criterion == "gain":
            pause = max(pause, selection.n // 10)
        return n - selection.n >= pause

    def _is_turn_of_all(self, step: int) -> bool:
        return self.whole_every > 0 and step % self.whole_every == self.whole_every - 1

    def _or_by_column(
        self,
        domain: Domain,
        seen: Observations,
        joint: Posterior,
        memory: Memory,
        rng: np.random.Generator,
    ) -> Posterior:
        """Return the posterior of all columns or that of a sum over them, as they predict.

        What the selection leaves out are weak effects, too weak for any of their interactions to
        be seen, and a sum finds those in the fewest observations.
        """
        believed = self._by_column.believed(domain, seen, NONE_INTERACT, memory, SUM_GROWTH)
        by_column = believed.posterior
        gain = by_column.log_predictive() + AHEAD - joint.log_predictive()
        share = np.clip(
            1.0 / (1.0 + math.exp(min(-4.0 * gain, 700.0))), LEAST_SHARE, 1.0 - LEAST_SHARE
        )
        return by_column if rng.random() > 1.0 - share else joint

    def _improve(
        self,
        domain: Domain,
        seen: Observations,
        posterior: Posterior,
        known: FloatArray,
        memory: Memory,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Return the point of the largest expected improvement that is not known (m, D).

        Domain, observations and known points are in the columns of the posterior.
        """
        feasibility = self._constraints.fit(domain, seen, memory)
        best_value = None  # columns outside of the model contributed to it: improve on the mean
        if not self.priors and feasibility.feasible.any():
            best_value = feasibility.or_pending(float(feasibility.merit.max()), posterior)
        improvement = feasibility.improvement(posterior, best_value)
        best = good_points(seen.X, feasibility.merit)
        return maximise(improvement, domain, best, known, rng)

    def _improve_selected(
        self,
        domain: Domain,
        seen: Observations,
        columns: IntArray,
        memory: Memory,
        rng: np.random.Generator,
    ) -> tuple[FloatArray, Posterior]:
        """Return the next point and the posterior of its selected columns."""
        part, within = restricted(domain, columns), observed_in(seen, columns)
        posterior = self._models.selected(part, within, memory)
        rest = np.setdiff1d(np.arange(len(domain)), columns)
        x = seen.X[int(np.argmax(merits(seen)))].copy()
        is_drawn = self.unimportant == "cma" and len(rest) > 0
        if self.unimportant == "mix" and rng.random() < 0.5:
            x[rest] = domain.sample(rng, 1)[0, rest]
        known = seen.known
        same = np.zeros(len(known), np.bool_) if is_drawn else (known == x)[:, rest].all(axis=1)
        taken = np.ascontiguousarray(known[same][:, columns])
        x[columns] = self._improve(part, within, posterior, taken, memory, rng)
        if is_drawn:
            x[rest] = self._draw(domain, seen, x, columns, memory, rng)[rest]
        return x, posterior

    def _maximise_bound(
        self, domain: Domain, seen: Observations, memory: Memory, rng: np.random.Generator
    ) -> Suggestion:
        """Return the maximal bound over the important columns, the others at the centre.

        This is VS-GP-UCB (Algorithm 6). A constraint's lower bound has to admit the point.
        """
        columns = self._important_columns(domain)
        part, within = restricted(domain, columns), observed_in(seen, columns)
        posterior = self._models.selected(part, within, memory)
        feasibility = self._constraints.fit(part, within, memory)
        width = root_beta("theory", len(seen.y), len(columns), len(domain))
        free, centre = grouped_columns(domain, [columns])
        known = seen.known
        same = (known == domain.canonical(np.where(free, known, centre))).all(axis=1)
        taken = np.ascontiguousarray(known[same][:, columns])
        bound = feasibility.optimistic(posterior, width)
        best = good_points(within.X, feasibility.merit)
        x = centre.copy()
        x[columns] = maximise(bound, part, best, taken, rng, effort=MANY_STARTS)
        x = domain.canonical(unknown_near(domain, x, known, rng, free)[None])[0]
        return Suggestion(x, memory.kept or None, prediction(seen, posterior, x[columns]))

    def _important_columns(self, domain: Domain) -> IntArray:
        """Return the important columns, ascending, and those that decide about them.

        Where this domain has none of them, all columns are searched.
        """
        assert self.important is not None  # see suggest
        found = [c for c, name in enumerate(domain.names) if name in self.important]
        return np.array(domain.with_deciding(found or range(len(domain))), np.int64)

    def _draw(
        self,
        domain: Domain,
        seen: Observations,
        x: FloatArray,
        columns: IntArray,
        memory: Memory,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Return x with its other columns drawn from p(x_nipt | x_ipt, D)."""
        U = cma.to_unit(domain, seen.X)
        rows = cma.generations(seen.y, min(self.n_init, len(U)), self.n_vs)
        conditional = self._conditionals.conditional(U, rows, self.n_vs, columns)
        points = np.repeat(cma.to_unit(domain, x[None]), self.n_draws, axis=0)
        points[:, conditional.rest] = conditional.draw(points[0, columns], rng, self.n_draws)
        points = domain.from_unit(np.clip(points, 0.0, 1.0))
        points[:, columns] = x[columns]
        mean = None
        if self.n_draws > 1:
            mean = self._models.mean_before(domain, seen, memory, points)
        chosen: FloatArray = points[0 if mean is None else int(np.argmax(mean))]
        return chosen


def _check_defaults(given: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` unless settings of selections have their defaults."""
    parameters = inspect.signature(VSBO).parameters
    for name, value in given.items():
        default = parameters[name].default
        if value != default:
            raise ValueError(
                f"{name} must be {default!r}, its default, where important names the parameters "
                f"that matter, but got {value!r}. Nothing is selected then. Leave {name} out, or "
                "pass important=None."
            )
