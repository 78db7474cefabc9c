"""Kinds of domains: which one it is decides how often each expert and each search is asked."""

from __future__ import annotations

from typing import Literal

from optuna_hdbo.methods.base import Domain


FEW_COLUMNS = 10
"""Below this many columns the whole domain can be searched: the local expert gets less credit."""

MANY_COLUMNS = 60
"""From this many columns on it gets less credit, too. On nine functions of 100 columns, each with
seven seeds, the regret after 200 trials was .89 times as large in the geometric mean, and smaller
in 37 of 63 studies.

From there on models are also fitted half as often as those of single samplers. On ten functions of
100 columns, each with three seeds, that saved a quarter of the time, and the regret was smaller in
18 studies and larger in 12. With fewer columns it saved a tenth and gained nothing: with 20, on 32
functions of CEC, it was smaller in 13 and larger in 18."""

Kind = Literal["few", "few mixed", "medium", "many"]
"""How many columns there are, and whether few ones are mixed, see :func:`is_mixed`."""


def is_mixed(domain: Domain) -> bool:
    """Tell whether a domain has few columns, some but not all discrete, and all always active.

    Most models that are tuned have such a domain. There the global expert makes most queries. In
    48 studies of error rates and losses of models, the value after 50 trials was better in 27 and
    worse in 16.
    """
    some = bool(domain.discrete.any()) and not bool(domain.discrete.all())
    return some and domain.breadth < FEW_COLUMNS and not domain.gates


def kind_of(domain: Domain, whole: Domain | None = None) -> Kind:
    """Return the kind of a domain.

    A part of a mixed one, like a box in which integers have one value only, is mixed as well.

    Parameters
    ----------
    domain : Domain
    whole : Domain or None
        The one that it is a part of.
    """
    if is_mixed(domain if whole is None else whole):
        return "few mixed"
    if domain.breadth < FEW_COLUMNS:
        return "few"
    return "many" if domain.breadth >= MANY_COLUMNS else "medium"
