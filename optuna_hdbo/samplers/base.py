"""The lifecycle of a sampler inside Optuna, the same for all methods."""

from __future__ import annotations

import operator
import threading
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial
from optuna.trial import TrialState

from optuna_hdbo._core.blas import one_blas_thread
from optuna_hdbo._core.checks import check_flag
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.checks import check_point
from optuna_hdbo._core.checks import check_seed
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.points import perturbed
from optuna_hdbo._study import independent
from optuna_hdbo._study.attributes import StoredSuggestion
from optuna_hdbo._study.attributes import read_trials
from optuna_hdbo._study.attributes import study_key
from optuna_hdbo._study.attributes import write_report
from optuna_hdbo._study.attributes import write_suggestion
from optuna_hdbo._study.history import History
from optuna_hdbo._study.parameters import Parameters
from optuna_hdbo._study.space import SearchSpace
from optuna_hdbo._study.streams import StudyStreams
from optuna_hdbo._study.values import n_told
from optuna_hdbo._study.workers import forget_after_fork
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import looks_outside
from optuna_hdbo.methods.base import suggest
from optuna_hdbo.samplers.notices import NO_INSTANCE
from optuna_hdbo.samplers.notices import Extent
from optuna_hdbo.samplers.notices import Notices
from optuna_hdbo.samplers.notices import WithSettings
from optuna_hdbo.samplers.notices import is_to_be_raised


if TYPE_CHECKING:
    from optuna.study import Study


MAX_ROUNDS = 4
"""Attempts to get a point that no other worker has published in the meantime."""


class MethodSampler(WithSettings, BaseSampler):
    """Base of all samplers of this package: Optuna's lifecycle around one method.

    The first ``n_startup_trials`` trials are drawn at random. The method suggests the following
    ones. Parameters that only some trials have are columns like others. Which values of other
    parameters decide about them is learned from the trials.

    Every random number depends on the seed, its purpose and the trial number only. So the same
    seed gives the same study in any storage, a resumed study continues as if it had never stopped,
    and workers of one study that share a seed still get different points. A second study that the
    same object begins has other random numbers.

    Parameters
    ----------
    method : Method
        The method that suggests points.
    seed : int or None
        ``None`` draws one from the operating system.
    n_startup_trials : int
        Finished trials (complete, or pruned and used) before the method suggests points.
    independent_sampler : BaseSampler or None
        Samples startup trials and parameters outside the relative search space. ``None`` draws
        those of the startup uniformly in the parameter's own (log) scale, and leaves later ones to
        Optuna's ``TPESampler``. Exceptions that it raises end the study.
    warn_independent_sampling : bool
        Whether to warn, once per parameter, when it is sampled independently after startup.
    consider_pruned_trials : bool
        Whether pruned trials count as observations. Their value is estimated from their reports,
        and is at best that of the best trial. Without one they have failed.
    """

    supports_constraints = False
    supports_several_objectives = False
    models_conditional = True
    splits_ranges = False
    multiplies_matrices = True
    meant_for = Extent(parameters=10_000, trials=10_000)

    def __init__(
        self,
        method: Method,
        *,
        seed: int | None = None,
        n_startup_trials: int = 10,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        consider_pruned_trials: bool = True,
    ) -> None:
        check_integer("n_startup_trials", n_startup_trials, 0)
        if not isinstance(independent_sampler, BaseSampler | None):
            raise ValueError(
                "independent_sampler must be a sampler of Optuna (an instance, not a class) or "
                f"None, but got {independent_sampler!r}."
            )
        self._method = method
        self._streams = StudyStreams(check_seed(seed))
        self._n_startup_trials = operator.index(n_startup_trials)
        self._independent_sampler = independent_sampler
        self._warns = check_flag("warn_independent_sampling", warn_independent_sampling)
        self._use_pruned = check_flag("consider_pruned_trials", consider_pruned_trials)
        self._notices = Notices(str(self))
        self._forget()

    def _forget(self) -> None:
        """Empty the cache. Everything in it can be read from the study again."""
        forget_after_fork(self)
        self._lock = threading.Lock()
        self._study: object = None
        self._parameters = Parameters(self._use_pruned)
        self._listed: tuple[FrozenTrial, list[FrozenTrial]] | None = None
        self._space = SearchSpace({})
        self._history = History(self._method.name, self._use_pruned)
        self._validated: Mapping[str, BaseDistribution] = {}

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        # A lock cannot be copied, and the history may be large.
        for n in ("_lock", "_study", "_parameters", "_listed", "_space", "_history", "_validated"):
            del state[n]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def reseed_rng(self) -> None:
        """Reseed the user's independent sampler.

        Optuna calls this so that copies of a generator do not repeat each other. No generator of
        this sampler outlives a trial, so there is nothing else to reseed, and another seed would
        make ``n_jobs > 1`` irreproducible.
        """
        if self._independent_sampler is not None:
            self._independent_sampler.reseed_rng()

    def before_trial(self, study: Study, trial: FrozenTrial | None = None) -> None:
        """Forward to the user's independent sampler."""
        if trial is None:  # Optuna calls this first, and a class takes the study for itself
            raise TypeError(NO_INSTANCE)
        if self._independent_sampler is not None:
            self._independent_sampler.before_trial(study, trial)

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Forward to the user's independent sampler."""
        if self._independent_sampler is not None:
            self._independent_sampler.after_trial(study, trial, state, values)

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return the parameters that vary: those of all trials if no others can be modelled."""
        self._refuse_multi_objective(study)
        with self._lock:
            found = self._follow(study, trial)
            held = looks_outside(self._method)
            return found.modelled(with_gone=held) if self.models_conditional else found.common()

    def _follow(self, study: Study, trial: FrozenTrial) -> Parameters:
        """Return a study's parameters, and keep its trials for the point of this trial."""
        key, trials = study_key(study), read_trials(study)
        if key != self._study or not self._parameters.goes_on_in(trials):
            self._parameters = Parameters(self._use_pruned)
            self._space = SearchSpace({})  # without it, nothing is left of the history
        # Not valid before all is taken in: an interrupted call starts over the next time.
        self._study = None
        self._parameters.follow(trials)
        self._listed = trial, trials
        self._study = key
        return self._parameters

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the method's suggestion, or a random point during startup."""
        self._refuse_multi_objective(study)
        if not search_space:
            return {}
        with self._lock:  # threads share this object, and must see each other's points
            if self._study != study_key(study):  # another one may run in another thread
                self._follow(study, trial)
            space = self._space = self._space_of(search_space)
            self._streams.of(study, trial.number)
            listed, self._listed = self._listed, None  # used once: the next one reads anew
            trials = listed[1] if listed is not None and listed[0] is trial else None
            seen = self._history.read(study, trial, space, trials)
            asks = self._history.n_told >= max(self._n_startup_trials, 1)
            # All trials may be pruned ones, which may not have asked for everything.
            self._validate(self._history.known or (search_space if asks else {}))
            self._notices.abandoned(self._history.n_abandoned)
            self._notices.beyond(self.meant_for, len(space.domain), len(seen.values))
            if seen.constraints.shape[1] and not self.supports_constraints:
                self._notices.constraints()
            if asks:
                return self._ask(study, trial, space, seen)
            if self._independent_sampler is not None:
                return {}
            params, stored = self._draw(space, trial.number)
            write_suggestion(study, trial, stored.to_text())
            return params

    def _space_of(self, search_space: Mapping[str, BaseDistribution]) -> SearchSpace:
        """Return the columns of these parameters, as far as possible those of the last call."""
        space, found = self._space, self._parameters
        given = search_space, found.required(), found.splits() if self.splits_ranges else ()
        held = found.gone() if looks_outside(self._method) else ()
        space = space if space.describes(*given, held) else SearchSpace(*given, held)
        return space.with_rules(found.rules() if self.models_conditional else {})

    def _ask(
        self, study: Study, trial: FrozenTrial, space: SearchSpace, seen: Observations
    ) -> dict[str, Any]:
        """Publish the method's point with the trial, and try again if another trial has the same.

        Workers that ask at the same moment cannot see each other's points, and a clear optimum (a
        corner, say) is the same for all of them. So each worker reads the study again after it
        has published its point. Whoever published the later one of two equal points sees both,
        and asks the method again, which now knows the other point.
        """
        for i in range(MAX_ROUNDS):
            params, stored, text, report = self._suggest(space, seen)
            row = space.encode(params)
            if self._is_taken(row):  # asking again would give the same point
                break
            write_suggestion(study, trial, text, replaces=i > 0)
            self._history.remember(trial, text, stored)
            seen = self._history.read(study, trial, space)
            if not self._is_taken(row):
                write_report(study, trial, report)
                return params
        params = self._perturb(space, params, trial.number)
        stored = replace(stored, params=space.to_json(params))
        write_suggestion(study, trial, stored.to_text(), replaces=i > 0)
        write_report(study, trial, report)
        return params

    def _is_taken(self, row: FloatArray | None) -> bool:
        """Tell whether a trial that was finished or running at the last look has this row (D,)."""
        return row is not None and self._history.is_taken(row)

    def _perturb(self, space: SearchSpace, params: dict[str, Any], number: int) -> dict[str, Any]:
        """Return a point near this one that no trial has had, if there is one."""
        row = space.encode(params)
        if row is None:
            return params
        rng = self._streams.present.generator("nudge", number)
        near = perturbed(
            space.domain, row, lambda other: self._is_taken(space.encode(space.decode(other))), rng
        )
        return params if near is row else space.decode(near)

    def _validate(self, known: Mapping[str, BaseDistribution]) -> None:
        """Let the method check the user's settings as soon as parameters are known.

        It gets every parameter of the study: settings may name one that is fixed or conditional.
        """
        if known is not self._validated and known != self._validated:
            self._notices.settings(self._method, SearchSpace(known).domain)
        self._validated = known

    def _suggest(
        self, space: SearchSpace, seen: Observations
    ) -> tuple[dict[str, Any], StoredSuggestion, str, Mapping[str, float | str]]:
        """Return the method's point, or a random one where the method fails.

        A numerical failure costs a line in the log. Any other exception is a bug: its traceback
        is logged, once per sampler. See :func:`is_to_be_raised` for what is raised.
        """
        try:
            with one_blas_thread() if self.multiplies_matrices else nullcontext():
                given = space.domain, seen, self._streams.present, self._history.repeats
                suggestion = suggest(self._method, *given)
            params = space.decode(check_point(suggestion.x, len(space.domain)))
            stored = StoredSuggestion(space.to_json(params), self._method.name, suggestion.record)
            text = stored.to_text()  # raises where the record is not JSON
        except Exception as error:
            if is_to_be_raised(error):
                raise
            self._notices.failure(seen.step, error)
            params, stored = self._draw(space, seen.step)
            return params, stored, stored.to_text(), {}
        return params, stored, text, suggestion.report

    def _draw(self, space: SearchSpace, number: int) -> tuple[dict[str, Any], StoredSuggestion]:
        # In a small space others have the same point, and anywhere it may have been added by hand.
        for purpose in ("startup", "startup:again", *(f"startup:again{i}" for i in range(2, 32))):
            params = space.draw(self._streams.present.generator(purpose, number))
            if not self._is_taken(space.encode(params)):
                break
        else:  # few are left, and chance may find none of them
            params = self._perturb(space, params, number)
        return params, StoredSuggestion(space.to_json(params), None, None)

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Sample one parameter by itself."""
        self._refuse_multi_objective(study)
        other, startup = self._independent_sampler, self._is_startup(study)
        own = independent.moved(trial, param_name, param_distribution) if other is None else None
        # A parameter that is new will be in the model from the next trial on.
        expected = self.models_conditional and param_name not in self._history.known
        if self._warns and not startup and not expected and own is None:
            by = "TPESampler" if other is None else str(other)
            self._notices.independent(trial.number, param_name, by, self.models_conditional)
        if other is not None:
            return other.sample_independent(study, trial, param_name, param_distribution)
        with self._lock:
            streams = self._streams.of(study, trial.number)
        rng = streams.generator(f"independent:{param_name}", trial.number)
        if startup:
            return independent.drawn(param_name, param_distribution, rng)
        if own is None:
            own = independent.learned(study, trial, param_name, param_distribution, rng)
        return own

    def _is_startup(self, study: Study) -> bool:
        """Tell whether too few trials have finished for a suggestion by the method."""
        states = (TrialState.COMPLETE, TrialState.FAIL) + (TrialState.PRUNED,) * self._use_pruned
        least = max(self._n_startup_trials, 1)
        return n_told(read_trials(study, states, cached=True), least) < least

    def _refuse_multi_objective(self, study: Study) -> None:
        if len(study.directions) > 1 and not self.supports_several_objectives:
            raise ValueError(
                f"{self} needs a study with a single objective, but got one with "
                f"{len(study.directions)}. Use HDBOSampler or GPUCBSampler."
            )
