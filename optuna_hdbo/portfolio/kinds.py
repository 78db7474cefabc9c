"""Kinds of domains: which one it is decides how often each expert and each search is asked."""

from __future__ import annotations

from typing import Literal

from optuna_hdbo.methods.base import Domain


FEW_COLUMNS = 10
"""Below this many columns the whole domain can be searched: the local expert gets less credit."""

MANY_COLUMNS = 60
"""From this many columns on it gets less credit, too, and models are fitted half as often as those
of single samplers."""

Kind = Literal["few", "few mixed", "medium", "many"]
"""How many columns there are, and whether few ones are mixed, see :func:`is_mixed`."""


def is_mixed(domain: Domain) -> bool:
    """Tell whether a domain has few columns, some but not all discrete, and all always active.

    Most models that are tuned have such a domain. There the global expert makes most queries.
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
