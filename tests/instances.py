"""Instances of benchmark problems."""

from __future__ import annotations

from typing import TypeVar

from optuna_hdbo.benchmarks.problems import catalogue
from optuna_hdbo.benchmarks.problems.instances import Problem


Kind = TypeVar("Kind", bound=Problem)


def instance(kind: type[Kind], name: str, nth: int = 0) -> Kind:
    """Return the instance of a problem of this kind that has the nth seed of its purpose."""
    problem = catalogue.make(name, catalogue.SEEDS[catalogue.purpose_of(name)][nth])
    assert isinstance(problem, kind)
    return problem
