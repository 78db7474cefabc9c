"""Random hostile studies, a few at every run of the suite and thousands on demand.

``HDBO_FUZZ=500 python -m pytest tests/test_hostile.py`` runs 500 studies per sampler, other ones
every time; with ``HDBO_SHRINK=1`` a failure is reduced to its smallest form, which takes long.
"""

from __future__ import annotations

import math
import os
import secrets
import zlib
from typing import Any

import fuzz
import pytest
from exported import EVERY
from histories import affordable
from hypothesis import HealthCheck
from hypothesis import Phase
from hypothesis import given
from hypothesis import seed
from hypothesis import settings


SHRINK = "HDBO_SHRINK" in os.environ
N_STUDIES = int(os.environ.get("HDBO_FUZZ", "0"))
TREES = [name for name in EVERY if "SOO" in name]
FORKED = ["GPUCBSampler", "SOOSampler"]
COUNT = {"studies": 0, "trials": 0, "comparisons": 0, "forks": 0}


@pytest.mark.parametrize("name", list(EVERY))
def test_hostile_studies(name: str) -> None:
    """Every suggestion is in range, of the right type, and what a fresh sampler asks for.

    Every sampler has studies of its own, so that few of them are many together.
    """

    @settings(
        max_examples=N_STUDIES or 2,
        derandomize=not N_STUDIES,
        phases=list(Phase) if SHRINK else [Phase.generate],
        database=None,
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    @seed(secrets.randbits(32) if N_STUDIES else zlib.crc32(name.encode()))
    @given(plan=fuzz.plans())
    def run(plan: fuzz.Plan) -> None:
        study, told = fuzz.run(plan, EVERY[name])
        COUNT["studies"] += 1
        COUNT["trials"] += len(study.trials)
        COUNT["comparisons"] += told.n_compared
        assert not told.warnings, told.warnings
        failures = [message for message in told.messages if "at random" in message]
        assert not failures, failures
        # Of ten parameters and constraints per sampler, of foreign attributes once per copy of it.
        n_samplers = 1 + plan.events.count("new")
        n_copies = n_samplers + plan.events.count("pickle")
        assert len(told.messages) <= 11 * n_samplers + n_copies, told.messages

    run()


@pytest.mark.parametrize("name", TREES)
def test_finite_spaces_are_searched_to_the_end(name: str) -> None:
    """Every configuration once, in a tree of at most twice as many cells; then one warning."""

    @settings(
        max_examples=N_STUDIES or affordable(3, 2),
        derandomize=not N_STUDIES,
        phases=list(Phase) if SHRINK else [Phase.generate],
        database=None,
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    @given(plan=fuzz.finite_plans())
    def run(plan: fuzz.Plan) -> None:
        study, told = fuzz.run(plan, EVERY[name])
        COUNT["studies"] += 1
        COUNT["trials"] += len(study.trials)
        COUNT["comparisons"] += told.n_compared
        n = math.prod(fuzz.size(p.distribution) for p in plan.parameters)
        points = [repr(sorted(trial.params.items())) for trial in study.trials]
        assert len(set(points[:n])) == n
        assert study.trials[n].user_attrs["hdbo:nodes"] <= 2 * n
        assert len([message for message in told.messages if "every configuration" in message]) == 1

    run()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("name", list(EVERY) if N_STUDIES else FORKED)
def test_forks_under_threads(name: str) -> None:
    """A child asks with the sampler that a thread of its parent was using, at any line."""

    @settings(
        max_examples=-(-N_STUDIES // 5) or affordable(3, 1),
        derandomize=not N_STUDIES,
        phases=list(Phase) if SHRINK else [Phase.generate],
        database=None,
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    @given(plan=fuzz.plans())
    def run(plan: fuzz.Plan) -> None:
        study, _ = fuzz.run(plan, EVERY[name])
        for moment in plan.moments[:3]:
            status = fuzz.fork(study, moment, lambda: EVERY[name](**plan.settings))
            assert status == 0
            COUNT["forks"] += 1

    run()


@pytest.fixture(scope="module", autouse=True)
def count() -> Any:
    yield
    if N_STUDIES:
        print(f"\nfuzzed: {COUNT}")  # noqa: T201
