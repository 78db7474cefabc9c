"""Optuna's own contract tests, for every sampler of the package and for the bare lifecycle."""

from __future__ import annotations

import functools
import logging
import types
from collections.abc import Callable
from typing import Any

import optuna
import pytest
from exported import SAMPLERS
from fakes import FakeSampler
from fakes import create_sqlite
from fakes import mixed_objective
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import BasicSamplerTestCase
from optuna.testing.pytest_samplers import MultiObjectiveSamplerTestCase
from optuna.testing.pytest_samplers import RelativeSamplerTestCase
from optuna.testing.pytest_samplers import SingleOnlySamplerTestCase


def factories() -> dict[str, Callable[..., BaseSampler]]:
    return {"FakeSampler": FakeSampler, **SAMPLERS}


def build(name: str, **settings: Any) -> BaseSampler:
    return factories()[name](seed=0, warn_independent_sampling=False, **settings)


class EverySampler:
    """Asking the method from the second trial on."""

    @pytest.fixture(params=list(SAMPLERS))
    def sampler(self, request: pytest.FixtureRequest) -> Callable[[], BaseSampler]:
        return functools.partial(build, request.param, n_startup_trials=0)


def in_turn(test: Callable[..., None]) -> Any:
    """Give a test of all pairs of distributions each one twice, beside two different ones.

    How a distribution becomes a column, and a column a value, is the business of the base, which
    has all pairs below.
    """
    (x, every_x), (y, every_y) = (mark.args for mark in test.pytestmark)  # type: ignore[attr-defined]
    pairs = list(zip(every_x, [*every_y[1:], every_y[0]], strict=True))
    unmarked = types.FunctionType(test.__code__, test.__globals__, test.__name__)
    return pytest.mark.parametrize((x, y), pairs)(unmarked)


@pytest.fixture(autouse=True)
def no_fallback(caplog: pytest.LogCaptureFixture) -> Any:
    """A sampler that quietly falls back to random points would pass every test."""
    with caplog.at_level(logging.WARNING, logger="optuna.optuna_hdbo"):
        yield
    assert not [record.message for record in caplog.records if "at random" in record.message]


class TestBasic(EverySampler, BasicSamplerTestCase):
    test_combination_of_different_distributions_objective = in_turn(
        BasicSamplerTestCase.test_combination_of_different_distributions_objective
    )


class TestRelative(EverySampler, RelativeSamplerTestCase):
    test_sample_relative_numerical = in_turn(
        RelativeSamplerTestCase.test_sample_relative_numerical
    )


class TestBase(BasicSamplerTestCase, RelativeSamplerTestCase):
    """What all samplers share, with startup trials and without."""

    @pytest.fixture(params=[0, 10])
    def sampler(self, request: pytest.FixtureRequest) -> Callable[[], BaseSampler]:
        return functools.partial(build, "FakeSampler", n_startup_trials=request.param)


SEVERAL = [name for name, create in SAMPLERS.items() if create().supports_several_objectives]


class TestSingleOnly(SingleOnlySamplerTestCase):
    @pytest.fixture(params=[name for name in factories() if name not in SEVERAL])
    def sampler(self, request: pytest.FixtureRequest) -> Callable[[], BaseSampler]:
        return functools.partial(build, request.param)


class TestSeveralObjectives(MultiObjectiveSamplerTestCase):
    @pytest.fixture(params=SEVERAL)
    def sampler(self, request: pytest.FixtureRequest) -> Callable[[], BaseSampler]:
        return functools.partial(build, request.param)


@pytest.mark.parametrize("name", list(factories()))
def test_resuming_in_another_storage_is_going_on(name: str) -> None:
    create = functools.partial(build, name, n_startup_trials=4)
    whole = optuna.create_study(sampler=create())
    whole.optimize(mixed_objective, n_trials=8)
    study = optuna.create_study(sampler=create(), storage=create_sqlite())
    study.optimize(mixed_objective, n_trials=6)
    study.sampler = create()
    study.optimize(mixed_objective, n_trials=2)
    assert [t.params for t in study.trials] == [t.params for t in whole.trials]
