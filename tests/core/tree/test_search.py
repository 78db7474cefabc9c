"""What a tree search says, and what it does when no node is left."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import pytest
from histories import Ledger
from histories import make_domain

from optuna_hdbo._core.streams import Streams
from optuna_hdbo._core.tree.nodes import Rule
from optuna_hdbo._core.tree.replay import Replay
from optuna_hdbo._core.tree.replay import TreeSearch
from optuna_hdbo.methods.bamsoo import BaMSOO
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.soo import SOO
from optuna_hdbo.portfolio.experts import EXPERTS


def make_search() -> TreeSearch:
    return TreeSearch("soo", Replay(Rule(branching=3, exponent=0.5), None))


def exhausted(n: int = 3) -> Ledger:
    """Return a study of n configurations that SOO has searched."""
    ledger = Ledger.started(make_domain(n), 1)
    ledger.run(SOO(), n - 1)
    assert len({x.tobytes() for x in ledger.X}) == n
    return ledger


def test_a_node_brings_its_record_and_its_report() -> None:
    domain = make_domain(None, 4)
    ledger = Ledger.started(domain, 1)
    x, record, report = make_search().next(domain, ledger.seen(), Streams(0))
    assert x.tolist() == [0.5, 0.375]
    assert record["node"]["path"] == ""
    assert report == {"nodes": 1.0, "depth": 0.0}


def test_an_exhausted_tree_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    ledger, search = exhausted(), make_search()
    with caplog.at_level(logging.WARNING, logger="optuna_hdbo"):
        for _ in range(3):
            x, record, report = search.next(ledger.domain, ledger.seen(), Streams(0))
            assert record == {}
            assert "depth" not in report
            assert report["nodes"] <= 6
            ledger.observe(x)
    (message,) = caplog.messages
    assert "every configuration of the search space is known" in message
    assert "From trial 3 on" in message


def test_users_are_told_of_the_tree_that_they_chose_and_not_of_an_expert(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ledger = exhausted()
    methods: list[Method] = [EXPERTS["tree"].build(None), BaMSOO()]
    with caplog.at_level(logging.WARNING, logger="optuna_hdbo"):
        for method in methods:
            method.suggest(ledger.domain, ledger.seen(), Streams(0))
            assert bool(caplog.messages) == (method is methods[-1])


def test_a_tree_that_waits_for_a_trial_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """A running trial may fail, and its configuration be needed after all."""
    ledger, search = exhausted(), make_search()
    last = ledger.X.pop()
    ledger.values.pop()
    record = ledger.records.pop()
    with caplog.at_level(logging.WARNING, logger="optuna_hdbo"):
        seen = ledger.seen(pending=[last], step=3)
        running = replace(seen, records=(*seen.records, replace(record, state="running")))
        x, found, _ = search.next(ledger.domain, running, Streams(0))
    assert found == {}
    assert not caplog.messages
    # What is running already is not drawn.
    assert not np.array_equal(x, last)


def test_draws_depend_on_the_trial_alone() -> None:
    ledger = exhausted(1000)
    one, two = make_search(), make_search()
    points = []
    for step in (1000, 1001, 1002, 1003):
        seen = ledger.seen(step=step)
        x, _, _ = one.next(ledger.domain, seen, Streams(5))
        assert np.array_equal(x, two.next(ledger.domain, seen, Streams(5))[0])
        points.append(x.tobytes())
    assert len(set(points)) > 1
