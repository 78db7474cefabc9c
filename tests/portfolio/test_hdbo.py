"""The portfolio: which expert is asked, what is shared, and what is not worth a trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from typing import get_args

import numpy as np
import pytest
from histories import DOMAINS
from histories import Ledger
from histories import affordable
from histories import is_admissible
from histories import make_domain

from optuna_hdbo._core.domain import Condition
from optuna_hdbo._core.gp import fitted
from optuna_hdbo._core.models.ensemble import FEW_MATTER
from optuna_hdbo._core.observations import MOST_MODELLED
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.portfolio import credit
from optuna_hdbo.portfolio.credit import FEW_COLUMNS
from optuna_hdbo.portfolio.credit import FLOORS
from optuna_hdbo.portfolio.credit import MANY_COLUMNS
from optuna_hdbo.portfolio.credit import Credit
from optuna_hdbo.portfolio.credit import Kind
from optuna_hdbo.portfolio.credit import kind_of
from optuna_hdbo.portfolio.experts import EXPERTS
from optuna_hdbo.portfolio.experts import LEAST_SUBSPACE_COLUMNS
from optuna_hdbo.portfolio.experts import MOST_MODELLED_COLUMNS
from optuna_hdbo.portfolio.hdbo import HDBO
from optuna_hdbo.portfolio.panel import CREDITS
from optuna_hdbo.portfolio.panel import MOST_REFINED
from optuna_hdbo.portfolio.panel import QUERY
from optuna_hdbo.portfolio.panel import REFINED
from optuna_hdbo.portfolio.panel import WINDOW
from optuna_hdbo.portfolio.panel import _far_from


class Stays:
    """An expert that never leaves the best point."""

    name = "stays"

    def __init__(self) -> None:
        self.n_asked = 0

    def validate(self, domain: Domain) -> None:
        """Accept every domain."""

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        self.n_asked += 1
        return Suggestion(seen.X[int(np.argmax(seen.values))] + 1e-6, {"stays": seen.step})


def test_experts_of_a_long_study_tell_all_values_apart() -> None:
    told: list[np.ndarray] = []

    class Spy(Stays):
        def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
            told.append(seen.y)
            return super().suggest(domain, seen, streams)

    n = MOST_MODELLED + 60
    values = np.random.default_rng(0).standard_normal(n)
    seen = Observations.from_arrays(np.random.default_rng(1).random((n, 2)), values)
    assert len(set(seen.y)) == MOST_MODELLED // 2
    method = HDBO(experts=("global",))
    method._everywhere.experts = {"global": Spy()}
    method.suggest(make_domain(None, None), seen, Streams(0))
    assert [len(set(y)) for y in told] == [n]


@pytest.mark.parametrize("name", list(DOMAINS))
def test_every_record_names_an_expert(name: str) -> None:
    ledger = Ledger.started(DOMAINS[name], 6)
    method = HDBO()
    for suggestion in ledger.run(method, affordable(12, 4)):
        assert is_admissible(ledger.domain, suggestion.x)
        assert suggestion.record is not None
        assert suggestion.record[credit.KEY] in method.experts_for(ledger.domain)
        assert suggestion.report["expert"] == suggestion.record[credit.KEY]
        assert suggestion.report["query"] == suggestion.record[QUERY]


def test_all_experts_are_asked_in_time() -> None:
    ledger = Ledger.started(make_domain(None, None), 6)
    records = [s.record or {} for s in ledger.run(HDBO(), affordable(40, 15))]
    assert len({r[credit.KEY] for r in records if credit.KEY in r}) >= 2


def test_experts_suit_the_number_of_parameters() -> None:
    few, many = make_domain(None, None), make_domain(*[None] * LEAST_SUBSPACE_COLUMNS)
    assert set(HDBO().experts_for(few)) == {"local", "global", "tree", "steps"}
    some = make_domain(*[None] * 20)
    every = {"local", "global", "tree", "groups", "quadratic", "steps"}
    assert set(HDBO().experts_for(some)) == every
    models = {"local", "global", "groups", "steps"}
    assert set(HDBO().experts_for(make_domain(*[None] * (LEAST_SUBSPACE_COLUMNS - 1)))) == models
    assert set(HDBO().experts_for(many)) == {*models, "subspaces"}
    most = make_domain(*[None] * MOST_MODELLED_COLUMNS)
    assert set(HDBO().experts_for(most)) == {*models, "subspaces"}
    too_many = make_domain(*[None] * (MOST_MODELLED_COLUMNS + 1))
    assert set(HDBO().experts_for(too_many)) == {"subspaces"}
    assert HDBO(experts=["tree"]).experts_for(too_many) == ("tree",)


def test_the_first_credit_depends_on_the_kind_of_the_domain() -> None:
    for kind in get_args(Kind):
        rate = {name: expert.prior_in(kind).wins for name, expert in EXPERTS.items()}
        is_local = kind in ("medium", "few real", "few mixed")
        larger, smaller = ("local", "global") if is_local else ("global", "local")
        assert rate[larger] > rate[smaller] > 0.0


KINDS: list[tuple[tuple[int | str | None, ...], Kind]] = [
    ((None, None), "few real"),
    ((7, 5, "3"), "few"),
    ((None, 5, "3"), "few mixed"),
    ((None,) * (FEW_COLUMNS - 1), "few real"),
    ((None, 5, *[None] * (FEW_COLUMNS - 2)), "medium"),
    ((None,) * (MANY_COLUMNS - 1), "medium"),
    ((None,) * MANY_COLUMNS, "many"),
]


@pytest.mark.parametrize(("columns", "kind"), KINDS)
def test_kinds_of_domains(columns: tuple[int | str | None, ...], kind: Kind) -> None:
    assert kind_of(make_domain(*columns)) == kind


def test_a_part_of_a_few_columns_is_of_the_same_kind() -> None:
    part = make_domain(None, None)
    assert kind_of(part, make_domain(None, None, 5)) == "few mixed"
    assert kind_of(part, make_domain(None, None, None)) == "few real"
    assert kind_of(part, make_domain(*[None] * FEW_COLUMNS)) == "few"


def _two_branches(*columns: int | str | None) -> Domain:
    """Return a domain with a choice, both options of which have so many columns of their own."""
    n = len(columns)
    domain = make_domain("2", *columns, *columns)
    gates = {1 + i: (Condition(0, (float(i // n),)),) for i in range(2 * n)}
    return replace(domain, gates=gates)


@pytest.mark.parametrize(
    ("domain", "kind"),
    [
        (_two_branches(5, *[None] * (FEW_COLUMNS - 3)), "few mixed"),
        (_two_branches(*[None] * (FEW_COLUMNS - 2)), "few"),
        (_two_branches(*[5] * (FEW_COLUMNS - 2)), "few"),
        (_two_branches(*[None] * (FEW_COLUMNS - 1)), "many"),
        (_two_branches(*[5] * (FEW_COLUMNS - 1)), "many"),
    ],
)
def test_the_kind_of_a_domain_with_branches_depends_on_the_columns_of_one(
    domain: Domain, kind: Kind
) -> None:
    assert kind_of(domain) == kind
    # A search of one branch.
    few, some = make_domain(*[None] * (FEW_COLUMNS - 1)), make_domain(*[None] * FEW_COLUMNS)
    assert kind_of(few, domain) == ("few mixed" if kind == "few mixed" else "few")
    assert kind_of(some, domain) == ("few mixed" if kind == "few mixed" else "many")


@pytest.mark.parametrize(
    ("columns", "wins", "floor"),
    [
        ((None, 5, "3"), 6.0, FLOORS["few mixed"]),
        ((None, None, None), 6.0, FLOORS["few real"]),
        ((7, 5, "3"), 1.0, FLOORS["few"]),
        ((None, 5, *[None] * (FEW_COLUMNS - 2)), 2.0, FLOORS["medium"]),
    ],
)
def test_in_a_few_columns_unless_all_are_discrete_the_local_expert_has_the_most_credit(
    columns: tuple[int | str | None, ...],
    wins: float,
    floor: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order, said = credit.order, []

    def recorded(
        earned: Mapping[str, Credit],
        prior: Mapping[str, Credit],
        rng: np.random.Generator,
        floor: float,
    ) -> list[str]:
        said.append((prior["local"].wins, floor))
        return order(earned, prior, rng, floor)

    monkeypatch.setattr(credit, "order", recorded)
    Ledger.started(make_domain(*columns), 12, f=lambda x: float(x.sum())).run(HDBO(), 2)
    assert said == [(wins, floor)] * 2


@pytest.mark.parametrize("name", ["local", "global", "groups"])
def test_with_many_columns_fits_come_half_as_often(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    due, growths = fitted.is_due, []

    def recorded(last: fitted.Fitted | None, n: int, n_cyc: int | None, growth: float) -> bool:
        growths.append(growth)
        return due(last, n, n_cyc, growth)

    monkeypatch.setattr(fitted, "is_due", recorded)
    largest = []
    for n_columns in (fitted.COSTLY_FROM - 1, fitted.COSTLY_FROM):
        domain = make_domain(*[None] * n_columns)
        Ledger.started(domain, 40, f=lambda x: 0.0).run(EXPERTS[name].build(None), 2)
        largest.append(max(growths))
        growths.clear()
    assert largest[1] == 2.0 * largest[0]


@pytest.mark.parametrize("experts", [[name] for name in EXPERTS])
def test_every_expert_works_alone(experts: list[str]) -> None:
    ledger = Ledger.started(make_domain(None, None, 5), 6)
    for suggestion in ledger.run(HDBO(experts=experts), affordable(5, 3)):
        assert suggestion.record is not None
        assert suggestion.record[credit.KEY] == experts[0]


def test_refinements_have_a_budget() -> None:
    ledger = Ledger.started(make_domain(*[None] * 30), 10)  # no search afresh, and no box
    method = HDBO(experts=["local", "global"])
    method._everywhere.experts = method._in_box.experts = {"local": Stays(), "global": Stays()}
    n = 2 * WINDOW
    refined, said = [], []
    for _ in range(n):
        suggestion = method.suggest(ledger.domain, ledger.seen(), Streams(0))
        best = ledger.X[int(np.argmax(ledger.values))]
        refined.append(bool(np.sqrt(((suggestion.x - best) ** 2).mean()) < REFINED))
        said.append(suggestion.report["query"])
        ledger.keep(suggestion)
        ledger.observe(suggestion.x)
    assert said == ["refine" if r else "elsewhere" for r in refined]
    assert sum(refined[:WINDOW]) == pytest.approx(MOST_REFINED * WINDOW, abs=1)
    assert sum(refined[WINDOW:]) == pytest.approx(MOST_REFINED * WINDOW, abs=1)


@pytest.mark.parametrize("others", [[], ["global"]])
def test_no_expert_gets_a_pending_point_again(others: list[str]) -> None:
    """Another expert is asked, or a point is drawn far away."""
    ledger = Ledger.started(make_domain(*[None] * 30), 10)
    method = HDBO(experts=["local", *others])
    stays = {"local": Stays()} | {name: EXPERTS[name].build(None) for name in others}
    method._everywhere.experts = method._in_box.experts = stays
    seen = ledger.seen()
    best = seen.X[int(np.argmax(seen.values))]
    seen = replace(seen, pending=(best + 2e-6)[None])
    suggestion = method.suggest(ledger.domain, seen, Streams(0))
    assert suggestion.report["query"] == ("search" if others else "pending")
    assert suggestion.record is not None
    assert suggestion.record[credit.KEY] == ("global" if others else "local")
    assert np.sqrt(((suggestion.x - best) ** 2).mean()) > REFINED


def test_the_record_keeps_the_credits_of_that_time() -> None:
    ledger = Ledger.started(make_domain(*[None] * 12), 10)
    method = HDBO(experts=["local", "tree"])
    method._everywhere.experts = method._in_box.experts = {"local": Stays(), "tree": Stays()}
    suggestion = method.suggest(ledger.domain, ledger.seen(), Streams(0))
    assert suggestion.record is not None
    assert suggestion.record[CREDITS] == {"local": 0.5, "tree": 0.2}  # what they begin with
    ledger.keep(suggestion)
    ledger.f = lambda x: 1e9  # a success of whoever was asked
    ledger.observe(suggestion.x)
    again = method.suggest(ledger.domain, ledger.seen(), Streams(0)).record
    assert again is not None
    expected = {"local": 0.6, "tree": 0.2} if suggestion.record[credit.KEY] == "local" else None
    expected = expected or {"local": 0.5, "tree": pytest.approx(1.5 / 3.5, rel=1e-3)}
    assert again[CREDITS] == expected


def test_within_the_budget_the_first_expert_decides() -> None:
    ledger = Ledger.started(make_domain(None, None), 10)
    method = HDBO(experts=["local"])
    stays = Stays()
    method._everywhere.experts = method._in_box.experts = {"local": stays}
    suggestion = method.suggest(ledger.domain, ledger.seen(), Streams(0))
    assert stays.n_asked == 1
    assert suggestion.record is not None
    assert suggestion.record["stays"] == 10  # what the expert recorded is kept


class Knows(Stays):
    """An expert that never leaves the best point, or goes far away, and fits a model."""

    def __init__(self, key: str, goes: bool = False) -> None:
        super().__init__()
        self._key, self._goes = key, goes

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        x = np.full(len(domain), 0.9) if self._goes else super().suggest(domain, seen, streams).x
        return Suggestion(x, {self._key: 1, f"own {self._key}": 2})


@pytest.mark.parametrize("goes", [False, True], ids=["all refine", "one goes elsewhere"])
@pytest.mark.parametrize(
    "fits",
    [
        ("constraint0", "failures"),
        (f"local:{FEW_MATTER.key}", f"plain:{FEW_MATTER.key}"),
        ("additive", "fit"),
    ],
)
def test_fits_are_kept_whosever_point_is_used(fits: tuple[str, str], goes: bool) -> None:
    ledger = Ledger.started(make_domain(None, None), 10)
    method = HDBO(experts=["local", "tree"])
    experts = {"local": Knows(fits[0]), "tree": Knows(fits[1], goes)}
    asked = method._everywhere
    asked.experts = experts
    suggestion = asked.suggest(
        ledger.domain,
        ledger.seen(),
        Streams(0),
        ("local", "tree"),
        kind=kind_of(ledger.domain),
        may_refine=False,
    )
    assert [expert.n_asked for expert in experts.values()] == [1, 0 if goes else 1]
    assert suggestion.record is not None
    assert suggestion.record[fits[0]] == suggestion.record[fits[1]] == 1
    # A point that is far from all others is no expert's.
    own = {key for key in suggestion.record if key.startswith("own")}
    assert own == ({f"own {fits[1]}"} if goes else set())


def test_the_furthest_point_has_any_other_choice() -> None:
    """The number of a choice is no distance."""
    domain = make_domain("10")
    seen = Observations.from_arrays(np.zeros((5, 1)), np.arange(5.0))
    drawn = [_far_from(domain, seen, np.random.default_rng(i))[0] for i in range(40)]
    assert len(set(drawn)) > 5
    assert 0.0 not in drawn


@pytest.mark.parametrize(
    "experts", ["local", [], ["nobody"], ["local", "local"], 3, [3], ("tree", None)]
)
def test_wrong_experts_are_refused(experts: Any) -> None:
    with pytest.raises(ValueError, match="experts must"):
        HDBO(experts=experts)
