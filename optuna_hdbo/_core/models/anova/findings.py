"""What a search for interactions found out about columns, pairs of them and terms."""

from __future__ import annotations

from dataclasses import dataclass

from optuna_hdbo._core.models.anova.features import Term


Pair = tuple[int, int]


@dataclass(frozen=True)
class PairFinding:
    """What is known about two columns.

    Parameters
    ----------
    log_evidence : float
        Log evidence for all terms that have both columns, against none, in nats.
    variance : float
        Variance of these terms over the cube, expected under the posterior; 0 without any.
    limit : float
        With a probability of 95 %, the variance of the pair's own term is below this.
    """

    log_evidence: float
    variance: float
    limit: float


@dataclass(frozen=True)
class ColumnFinding:
    """What is known about one column.

    Parameters
    ----------
    log_evidence : float
        Log evidence for all terms that have the column, against none, in nats.
    main, joint : float
        Variances of its main effect, and of all terms that it shares with others.
    limit : float
        With a probability of 95 %, the variance of its main effect is below this.
    """

    log_evidence: float
    main: float
    joint: float
    limit: float


@dataclass(frozen=True, eq=False)
class Findings:
    """Terms that the data ask for, and what is known about all pairs and columns.

    ``parts`` are the variances of all terms over the cube, main effects first; that of the values
    is 1. ``beside`` is the variance of the main effects of conditional columns at the points.
    """

    terms: tuple[Term, ...]
    pairs: dict[Pair, PairFinding]
    columns: tuple[ColumnFinding, ...]
    parts: dict[Term, float]
    noise: float
    beside: float = 0.0

    @property
    def variance(self) -> float:
        """Variance of the whole function over the cube."""
        return sum(self.parts.values())
