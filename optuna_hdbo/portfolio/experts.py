"""The experts of the portfolio: one entry each."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from types import MappingProxyType

from optuna_hdbo.methods.add_gp_ucb import AddGPUCB
from optuna_hdbo.methods.bamsoo import BaMSOO
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.gp_ucb import GPUCB
from optuna_hdbo.methods.ms_ucb import MSUCB
from optuna_hdbo.methods.turbo import TuRBO
from optuna_hdbo.methods.vs_bo import VSBO
from optuna_hdbo.portfolio.credit import FEW_COLUMNS
from optuna_hdbo.portfolio.credit import Credit
from optuna_hdbo.portfolio.credit import Kind
from optuna_hdbo.portfolio.quadratic import Quadratic
from optuna_hdbo.portfolio.quadratic import n_coefficients
from optuna_hdbo.portfolio.steps import Stepped


MOST_MODELLED_COLUMNS = 2000
"""With more columns there are random subspaces only: the records of all other models, which have a
lengthscale per column, would fill megabytes."""

LEAST_SUBSPACE_COLUMNS = 201
"""From this many columns on random subspaces take part."""

MOST_TREE_COLUMNS = 60
"""With more columns than this, a tree does not even split every column once in 200 trials."""

MOST_QUADRATIC_COLUMNS = 40
"""A quadratic function of more columns has more coefficients than a long study has trials."""

PRIOR = Credit(0.5, 2.0)
"""Pseudo-counts of successes and failures that an expert begins with."""


@dataclass(frozen=True)
class Expert:
    """A method and when to use it.

    Parameters
    ----------
    build : callable
        Takes whether the objective is deterministic (None: unknown) and returns the method.
    least, most : int
        Numbers of columns between which it suits a domain.
    prior : Credit
        What its record of successes begins with, as pseudo-counts.
    priors : mapping of Kind to Credit
        The same in the kinds of domains where it differs.
    branches : bool
        Whether it suits domains in which not all columns are always active.
    takes_over : bool
        Whether it makes all queries in domains with branches where it is ready, and none there
        where it is not. In other domains it is one of the experts.
    default : bool
        Whether it takes part unless the user chooses the experts.
    begins_anew : bool
        Whether it suggests other points when a search begins afresh. A tree would have the same
        cells again.
    categorical : bool
        Whether it suits domains with categorical columns.
    least_observations : callable
        Takes the number of columns and returns how many observations the expert needs.
    """

    build: Callable[[bool | None], Method]
    least: int = 1
    most: int = 10**9
    prior: Credit = PRIOR
    priors: Mapping[Kind, Credit] = field(default_factory=dict)
    branches: bool = True
    takes_over: bool = False
    default: bool = True
    begins_anew: bool = True
    categorical: bool = True
    least_observations: Callable[[int], int] = lambda n_columns: 1

    def prior_in(self, kind: Kind) -> Credit:
        """Return the pseudo-counts of successes and failures in a kind of domain."""
        return self.priors.get(kind, self.prior)

    def suits(self, domain: Domain) -> bool:
        """Tell whether the expert is worth a query in this domain."""
        suited = self.branches or not domain.gates
        suited = suited and (self.categorical or not domain.categorical.any())
        return suited and self.least <= len(domain) <= self.most


EXPERTS: Mapping[str, Expert] = MappingProxyType(
    {
        "local": Expert(
            lambda deterministic: TuRBO(pooled=True, frugal=True),
            most=MOST_MODELLED_COLUMNS,
            prior=Credit(1.0, 2.0),
            priors={
                "few real": Credit(6.0, 3.0),
                "few mixed": Credit(6.0, 3.0),
                "medium": Credit(2.0, 2.0),
            },
        ),
        "global": Expert(
            lambda deterministic: GPUCB(pooled=True, frugal=True),
            most=MOST_MODELLED_COLUMNS,
            prior=Credit(2.0, 2.0),
            priors={
                "few real": Credit(3.0, 3.0),
                "few mixed": Credit(3.0, 3.0),
                "medium": PRIOR,
            },
        ),
        "tree": Expert(
            lambda deterministic: BaMSOO(
                deterministic_objective=deterministic is not False, quiet=True
            ),
            most=MOST_TREE_COLUMNS,
            priors={
                "few": Credit(1.0, 2.0),
                "few real": Credit(1.0, 2.0),
                "few mixed": Credit(0.5, 4.0),
            },
            branches=False,
            begins_anew=False,
        ),
        "groups": Expert(
            lambda deterministic: AddGPUCB(
                decomposition_search="swap",  # as it was measured
                frugal=True,
            ),
            least=3,
            most=MOST_MODELLED_COLUMNS,
            priors={"few mixed": Credit(0.5, 4.0)},
        ),
        "quadratic": Expert(
            lambda deterministic: Quadratic(),
            least=FEW_COLUMNS,
            most=MOST_QUADRATIC_COLUMNS,
            branches=False,
            categorical=False,
            least_observations=n_coefficients,
        ),
        "steps": Expert(
            lambda deterministic: Stepped(
                deterministic_objective=deterministic is not False, frugal=True
            ),
            most=MOST_MODELLED_COLUMNS,
            takes_over=True,
            begins_anew=False,
        ),
        "selection": Expert(
            lambda deterministic: VSBO(), least=3, most=MOST_MODELLED_COLUMNS, default=False
        ),
        "subspaces": Expert(lambda deterministic: MSUCB(), least=LEAST_SUBSPACE_COLUMNS),
    }
)
"""Every expert by name."""
