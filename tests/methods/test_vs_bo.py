"""VS-BO finds the columns that matter, keeps to them, and hands its findings on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from histories import INTERPRETED
from histories import Ledger
from histories import affordable
from histories import make_domain
from histories import published
from work import counted

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.variables import selection
from optuna_hdbo.methods.base import Record
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.vs_bo import VSBO


PUBLISHED = published(VSBO, n_is=1000)


def needle(x: np.ndarray) -> float:
    """Two columns matter, the others are inert."""
    return float(-30 * (x[1] - 0.3) ** 2 - 20 * (x[4] - 0.8) ** 2 + 4 * x[1] * x[4])


def selections(ledger: Ledger) -> list[tuple[str, ...]]:
    return [tuple(r.data["selection"]["names"]) for r in ledger.records if "selection" in r.data]


@pytest.mark.skipif(INTERPRETED, reason="needs hundreds of fits")
@pytest.mark.parametrize("settings", [{}, PUBLISHED], ids=["default", "published"])
def test_the_columns_that_matter_are_found(settings: dict[str, Any]) -> None:
    ledger = Ledger.started(Domain.continuous(20), 10, needle)
    method = VSBO(**{**settings, "n_vs": 15, "n_init": 10})
    ledger.run(method, 65)
    found = selections(ledger)
    assert len(found) == 4
    for names in found[1:]:
        assert {"x1", "x4"} <= set(names)
        assert len(names) <= 4
    best = max(ledger.values)
    grid = np.linspace(0, 1, 101)
    top = max(needle(np.array([0, a, 0, 0, b])) for a in grid for b in grid)
    assert best > top - 0.05


def test_selections_come_every_so_many_observations() -> None:
    ledger = Ledger.started(Domain.continuous(3), 4)
    ledger.run(VSBO(n_vs=3, n_init=4, n_is=10), affordable(10, 8))
    made = [r.data["selection"]["n"] for r in ledger.records if "selection" in r.data]
    assert made == [7, 10, 13][: len(made)]
    assert len(made) >= 2


def test_selections_by_gain_do_not_grow_frequent_in_long_studies() -> None:
    due = VSBO(n_vs=20)._is_selection_due
    made = selection.Selection(400, ("x0",))
    assert not due(made, 439)
    assert due(made, 440)
    published = VSBO(n_vs=20, criterion="momentum")._is_selection_due
    assert published(made, 420)


def with_selection(names: list[str], n: int = 12, n_columns: int = 4, **settings: Any) -> Ledger:
    ledger = Ledger.started(Domain.continuous(n_columns), n)
    ledger.records.append(Record(n - 1, "complete", {"selection": {"n": n, "names": names}}))
    return ledger


def ask(method: VSBO, ledger: Ledger, step: int | None = None) -> np.ndarray:
    return method.suggest(ledger.domain, ledger.seen(step=step), Streams(0)).x


def test_only_selected_columns_leave_the_incumbent() -> None:
    ledger = with_selection(["x2", "x0"])
    best = ledger.X[int(np.argmax(ledger.values))]
    method = VSBO(unimportant="incumbent", whole_every=0)
    x = ask(method, ledger)
    assert x[[1, 3]].tolist() == best[[1, 3]].tolist()
    assert (x[[0, 2]] != best[[0, 2]]).any()


def test_mix_is_the_incumbent_every_other_time() -> None:
    ledger = with_selection(["x2", "x0"])
    best = ledger.X[int(np.argmax(ledger.values))]
    method = VSBO(unimportant="mix", whole_every=0)
    same = []
    for step in range(12, 12 + affordable(60, 14)):
        x = ask(method, ledger, step)
        equal = x[[1, 3]] == best[[1, 3]]
        assert equal.all() or not equal.any()
        same.append(bool(equal.all()))
    assert 0.2 < np.mean(same) < 0.8


def test_draws_follow_the_good_points() -> None:
    """Values grow with x1, so that the Gaussian does; the selected columns say nothing of it."""
    ledger = with_selection(["x0"], n=affordable(130, 30))
    ledger.values = [float(x[1]) for x in ledger.X]
    method = VSBO(n_init=10, n_draws=1, whole_every=0, n_vs=10**6)
    method.n_vs = 10
    method._is_selection_due = lambda *_: False  # type: ignore[method-assign]
    drawn = np.array([ask(method, ledger, step) for step in range(affordable(40, 6))])
    assert drawn[:, 1].mean() > 0.6
    assert len(np.unique(drawn[:, 3])) > 2  # draws differ, but for those that are clipped


def test_of_several_draws_the_promising_one_is_taken() -> None:
    ledger = with_selection(["x0"], n=30)
    ledger.values = [-float((x[1] - 0.4) ** 2) for x in ledger.X]
    far = []
    for n_draws in (1, 30):
        method = VSBO(n_init=10, n_draws=n_draws, whole_every=0)
        memory = Memory(ledger.records)
        method._models.whole(ledger.domain, ledger.seen(), memory, renew=True)
        ledger.records.append(Record(29, "complete", memory.kept))
        drawn = [ask(method, ledger, step)[1] for step in range(30, 30 + affordable(20, 6))]
        far.append(np.mean(np.abs(np.array(drawn) - 0.4)))
    assert far[1] < 0.5 * far[0]


def test_all_columns_have_their_turn() -> None:
    ledger = with_selection(["x2", "x0"])
    best = ledger.X[int(np.argmax(ledger.values))]
    method = VSBO(unimportant="incumbent", whole_every=3)
    for step in (12, 13, 14, 15, 16, 17):
        x = ask(method, ledger, step)
        assert (x[[1, 3]] == best[[1, 3]]).all() == (step % 3 != 2)


@pytest.mark.parametrize("priors", [True, False])
def test_of_all_columns_a_sum_over_them_may_be_asked(priors: bool) -> None:
    """From the first selection on, in turns of all columns, and not as published."""
    ledger = Ledger.started(Domain.continuous(4), 20, lambda x: float(np.sin(5.0 * x).sum()))
    method = VSBO(n_vs=5, n_init=10, whole_every=3, priors=priors)
    fits = []
    for suggestion in ledger.run(method, affordable(12, 6)):
        fits.append((suggestion.record or {}).get("whole:inverse-square:separable"))
    assert not any(fit for i, fit in enumerate(fits) if (20 + i) % 3 != 2)
    assert any(fits) == priors
    assert all(len(fit["groups"]) == 4 for fit in fits if fit)


def test_the_model_of_the_selected_columns_ignores_the_others() -> None:
    """What is asked of them does not change when columns that nobody selected are added."""
    small = with_selection(["x0", "x1"], n_columns=2)
    large = with_selection(["x0", "x1"], n_columns=6)
    rng = np.random.default_rng(0)
    large.X = [np.concatenate([x, rng.random(4)]) for x in small.X]
    large.values = list(small.values)
    method = VSBO(unimportant="incumbent", whole_every=0)
    assert ask(method, small).tolist() == ask(VSBO(), large)[:2].tolist()


def test_a_selection_of_others_is_read_back() -> None:
    """Whoever asks next, under whatever number, goes on from the newest selection."""
    ledger = Ledger.started(Domain.continuous(4), 12)
    state: Any
    for number, (names, state) in enumerate([(["x0"], "failed"), (["x3"], "running")]):
        data = {"selection": {"n": 11 + number, "names": names}}
        ledger.records.append(Record(number, state, data))
    suggestion = VSBO(unimportant="incumbent", whole_every=0).suggest(
        ledger.domain, ledger.seen(), Streams(0)
    )
    best = ledger.X[int(np.argmax(ledger.values))]
    assert suggestion.x[:3].tolist() == best[:3].tolist()
    assert suggestion.x[3] != best[3]
    assert suggestion.report["n_selected"] == 1


def test_parameters_that_are_gone_are_left_out() -> None:
    def recall(names: list[str], n: int) -> selection.Selection | None:
        memory = Memory(with_selection(names, n=5).records)
        return selection.recall_selection(memory, Domain.continuous(4), n)

    chosen = recall(["gone", "x1"], 5)
    assert chosen is not None
    assert chosen.names == ("x1",)
    assert recall(["gone"], 5) is None
    assert recall(["x1"], 4) is None


@pytest.mark.parametrize("improved", [True, False])
@pytest.mark.parametrize("criterion", ["momentum", "forward"])
def test_momentum_asks_whether_the_best_value_improved(
    criterion: str, improved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Algorithm 3, and Algorithm 2 at every selection."""
    called = []
    for name in ("forward", "after_failure", "after_success"):
        monkeypatch.setattr(
            selection, name, lambda ranking, *_, name=name: called.append(name) or ranking[:1]
        )
    ledger = Ledger.started(Domain.continuous(3), 6)
    ledger.values = [0.0] * 6
    settings = {"n_vs": 2, "n_init": 4, "n_is": 5, "criterion": criterion}
    method = VSBO(**{**PUBLISHED, **settings})
    ledger.run(method, 1)
    assert called == ["forward"]
    ledger.values = [0.0] * 5 + [1.0] + [2.0 if improved else 1.0]
    ledger.observe(np.full(3, 0.5))
    ledger.values[-1] = 0.5
    ledger.run(method, 1)
    expected = "after_success" if improved else "after_failure"
    assert called == ["forward", "forward" if criterion == "forward" else expected]


def test_discrete_and_categorical_columns_are_selected_too() -> None:
    domain = make_domain(None, "3", 4, None, "2", None)

    def f(x: np.ndarray) -> float:
        return float(3 * (x[1] == 2) + 2 * x[2] + 0.001 * x[0])

    ledger = Ledger.started(domain, affordable(20, 12), f)
    ledger.run(VSBO(n_vs=5, n_init=6, n_is=affordable(500, 30)), affordable(20, 3))
    assert {"x1", "x2"} <= set(selections(ledger)[-1])
    assert max(ledger.values) > 3 + 2 * 0.8


def test_an_ordinary_query_costs_what_the_selected_columns_cost() -> None:
    """Proposition 4.1: 150 inert parameters leave what is computed as it is."""
    handed = {}
    for n_columns in (50, 200):
        ledger = with_selection(["x0", "x7", "x20"], affordable(200, 15), n_columns)
        method = VSBO(whole_every=0, n_vs=10**6)
        ledger.keep(method.suggest(ledger.domain, ledger.seen(), Streams(0)))
        method.suggest(ledger.domain, ledger.seen(), Streams(0))
        with counted() as work:
            for step in range(200, 200 + affordable(6, 2)):
                method.suggest(ledger.domain, ledger.seen(step=step), Streams(0))
        handed[n_columns] = work
    assert handed[200].calls == handed[50].calls
    assert 0 < handed[200].numbers <= 1.1 * handed[50].numbers


def test_hopeless_values_are_survived() -> None:
    for value in (math.inf, -math.inf, 1e308, 0.0):
        ledger = Ledger.started(Domain.continuous(3), 8)
        ledger.values = [value] * 8
        x = ask(VSBO(n_vs=4, n_init=2, n_is=10), ledger)
        assert np.isfinite(x).all()
