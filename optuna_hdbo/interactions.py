"""Which parameters of a study of any sampler interact, and which have no influence."""

from __future__ import annotations

import math
from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Literal

from optuna_hdbo._core.models.anova.evidence import log_odds
from optuna_hdbo.effects import Effects
from optuna_hdbo.effects import fitted_effects
from optuna_hdbo.effects import natural


if TYPE_CHECKING:
    from optuna.study import Study

    from optuna_hdbo._study.values import Target


Verdict = Literal["strong", "weak", "none", "too early to say"]
Influence = Literal["matters", "inert", "too early to say"]

STRONG, WEAK = 0.95, 0.5
"""Probabilities from which on a pair interacts strongly, and weakly."""

NEGLIGIBLE = 0.01
"""Share of the function's variance below which an interaction counts as none."""

INERT = 0.002
"""Share of the function's variance below which a parameter's effect counts as none."""

MOST_NAMED = 10
"""Parameters that are left out and named with the reason; others are counted."""


@dataclass(frozen=True)
class Interaction:
    """What a study says about two parameters.

    Parameters
    ----------
    parameters : tuple of str
    verdict : {"strong", "weak", "none", "too early to say"}
        ``"strong"`` from a probability of 95 % on, ``"weak"`` from 50 % on. ``"none"`` if the
        interaction, should there be one, has less than 1 % of the function's variance with a
        probability of 95 %. Otherwise the trials do not decide.
    probability : float
        Probability that the two interact, if one of all pairs is expected to beforehand.
    log_evidence : float
        Log marginal likelihood with their interaction, less that without, in nats.
    share : float
        Share of the function's variance in all terms that have both parameters.
    n_trials : int
        Trials that the verdict is based on.
    """

    parameters: tuple[str, str]
    verdict: Verdict
    probability: float
    log_evidence: float
    share: float
    n_trials: int


@dataclass(frozen=True)
class Effect:
    """What a study says about one parameter.

    Parameters
    ----------
    parameter : str
    influence : {"matters", "inert", "too early to say"}
        ``"matters"`` if the evidence for an effect is strong. ``"inert"`` if the effect, should
        there be one, has less than 0.2 % of the function's variance with a probability of 95 %,
        and no interaction of the parameter is left open.
    main : float
        Share of the function's variance in the parameter's main effect.
    joint : float
        Share in the terms that it has together with other parameters.
    """

    parameter: str
    influence: Influence
    main: float
    joint: float


@dataclass(frozen=True)
class Interactions:
    """Which parameters of a study interact.

    Parameters
    ----------
    pairs : tuple of Interaction
        All pairs, the largest log evidence first.
    effects : tuple of Effect
        All parameters, the largest share of variance first.
    groups : tuple of tuple of str
        Parameters that strong interactions connect, and the others one by one. Inert parameters
        are in none. Groups with the largest shares of variance come first.
    left_out : Mapping of str to str
        Parameters that are not assessed, with the reason.
    noise : float
        Share of the values' variance that the model does not explain.
    n_trials : int
        Trials that the model was fitted to.
    n_completed : int or None
        Completed trials that these are from; ``None`` where it is unknown.
    """

    pairs: tuple[Interaction, ...]
    effects: tuple[Effect, ...]
    groups: tuple[tuple[str, ...], ...]
    left_out: Mapping[str, str]
    noise: float
    n_trials: int
    n_completed: int | None = None

    def between(self, a: str, b: str) -> Interaction:
        """Return what is known about two parameters, in either order."""
        for pair in self.pairs:
            if set(pair.parameters) == {a, b} and a != b:
                return pair
        reasons = [f"{name!r}, {self.left_out[name]}" for name in (a, b) if name in self.left_out]
        assessed = ", ".join(sorted((effect.parameter for effect in self.effects), key=natural))
        raise ValueError(
            f"a and b must be two assessed parameters, but got {a!r} and {b!r}. "
            + (f"Left out: {'; '.join(reasons)}." if reasons else f"Assessed are {assessed}.")
        )

    @property
    def strong(self) -> tuple[Interaction, ...]:
        """The pairs that interact strongly."""
        return tuple(pair for pair in self.pairs if pair.verdict == "strong")

    @property
    def inert(self) -> tuple[str, ...]:
        """The parameters without influence, in natural order."""
        names = [effect.parameter for effect in self.effects if effect.influence == "inert"]
        return tuple(sorted(names, key=natural))

    @property
    def summary(self) -> str:
        """One sentence."""
        return _summary(self)

    def __str__(self) -> str:
        """Return the summary and a table of the pairs that are more likely than not."""
        likely = [pair for pair in self.pairs if pair.verdict in ("strong", "weak")]
        names = [", ".join(pair.parameters) for pair in likely]
        width = max(map(len, names), default=0)
        lines = [self.summary]
        if likely:
            lines.append(f"{'pair':{width}s} verdict  probability    nats  share")
        for name, pair in zip(names, likely, strict=True):
            lines.append(
                f"{name:{width}s} {pair.verdict:7s} {pair.probability:12.1%} "
                f"{pair.log_evidence:7.1f} {pair.share:6.1%}"
            )
        left_out = [f"left out: {name}, {reason}" for name, reason in self.left_out.items()]
        lines += left_out[:MOST_NAMED]
        if (n := len(left_out) - MOST_NAMED) > 0:
            lines.append(f"and {n} other{'s' * (n > 1)}")
        return "\n".join(lines)


def get_interactions(
    study: Study, *, target: Target | None = None, n_trials: int = 300
) -> Interactions:
    """Return which parameters interact in a study of any sampler.

    The values are modelled as a sum of main effects and of interactions of two and three
    parameters, each of which averages to zero over each of its parameters. A term is taken in if
    the trials are convincing evidence for it, also without the most extreme values. Values that
    are far outside of all others count as failures and are left out.

    Parameters
    ----------
    study : optuna.study.Study
    target : callable or None
        A trial to the value whose dependence on parameters is assessed; ``None`` for the objective
        value.
    n_trials : int
        Trials that the model is fitted to, at least 2. From more completed trials this many are
        drawn at random. The cost grows with the cube of this number.

    Returns
    -------
    Interactions

    Raises
    ------
    ValueError
        For a setting outside of its range; for a study of several objectives without ``target``;
        and where fewer than two completed trials have a finite value, or none of the parameters
        that they share has two values.

    Examples
    --------
    >>> import optuna
    >>> from optuna_hdbo import get_interactions
    >>> study = optuna.load_study(study_name="tuning", storage="sqlite:///tuning.db")
    >>> print(get_interactions(study))
    """
    return interactions_of(fitted_effects(study, target=target, n_trials=n_trials))


def interactions_of(fitted: Effects) -> Interactions:
    """Return what a fitted model says, in the words of the study."""
    found, names, n = fitted.findings, fitted.space.domain.names, len(fitted.trials)
    total, odds = found.variance, log_odds(len(found.pairs))
    pairs = []
    for (i, j), pair in found.pairs.items():
        probability = _probability(pair.log_evidence - odds)
        verdict: Verdict = "too early to say"
        if probability >= WEAK:
            verdict = "strong" if probability >= STRONG else "weak"
        elif pair.limit < NEGLIGIBLE * total:
            verdict = "none"
        share = pair.variance / total
        pairs.append(
            Interaction((names[i], names[j]), verdict, probability, pair.log_evidence, share, n)
        )
    pairs.sort(key=lambda pair: -pair.log_evidence)
    undecided = {
        name for p in pairs if p.verdict in ("weak", "too early to say") for name in p.parameters
    }
    strong = [set(pair.parameters) for pair in pairs if pair.verdict == "strong"]
    effects = []
    for name, column in zip(names, found.columns, strict=True):
        influence: Influence = "too early to say"
        probability = _probability(column.log_evidence)
        if probability >= STRONG or any(name in pair for pair in strong):
            influence = "matters"
        elif probability < WEAK and column.limit < INERT * total and name not in undecided:
            influence = "inert"
        effects.append(Effect(name, influence, column.main / total, column.joint / total))
    effects.sort(key=lambda effect: -(effect.main + effect.joint))
    inert = {effect.parameter for effect in effects if effect.influence == "inert"}
    groups = _connected([e.parameter for e in effects if e.parameter not in inert], strong)
    noise = found.noise / (total + found.beside + found.noise)
    left_out, of = dict(fitted.left_out), fitted.n_completed
    return Interactions(tuple(pairs), tuple(effects), groups, left_out, noise, n, of)


def _probability(log_odds_for: float) -> float:
    return 1.0 / (1.0 + math.exp(-min(max(log_odds_for, -700.0), 700.0)))


def _connected(names: Iterable[str], pairs: list[set[str]]) -> tuple[tuple[str, ...], ...]:
    """Return names by group, in their order, where pairs connect them."""
    groups: dict[str, set[str]] = {name: {name} for name in names}
    for pair in pairs:
        a, b = (groups[name] for name in pair)
        for name in b:
            groups[name] = a
        a |= b
    kept = {id(group): group for group in groups.values()}
    return tuple(tuple(sorted(group, key=natural)) for group in kept.values())


def _summary(found: Interactions) -> str:
    n, told = len(found.effects), f"{found.n_trials} trials"
    if found.n_completed not in (None, found.n_trials):
        told = f"{found.n_trials} of {found.n_completed} completed trials"
    joint = [group for group in found.groups if len(group) > 1]
    if joint:
        said = "; ".join(f"{_listed(group)} interact" for group in joint[:3])
        if len(joint) > 3:
            said += f"; {len(joint) - 3} more groups interact"
    elif all(pair.verdict == "none" for pair in found.pairs):
        said = "no parameters interact"
    else:
        said = "no interaction is established yet"
    if found.inert:
        verb = "does" if len(found.inert) == 1 else "do"
        said += f"; {len(found.inert)} of {n} parameters {verb} not matter"
    return f"{said[0].upper() if not joint else said[0]}{said[1:]} (from {told})."


def _listed(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
