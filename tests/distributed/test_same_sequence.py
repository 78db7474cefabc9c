"""One seed, one worker, any storage: the same trials."""

from __future__ import annotations

from collections.abc import Callable

import optuna
import pytest
from exported import ACROSS_PROCESSES
from fakes import mixed_objective
from histories import affordable

import optuna_hdbo


@pytest.mark.parametrize("name", ACROSS_PROCESSES)
def test_storages_agree(name: str, create_study: Callable[[], optuna.Study]) -> None:
    create = getattr(optuna_hdbo, name)
    studies = [optuna.create_study(), create_study()]
    for study in studies:
        study.sampler = create(seed=2, n_startup_trials=4)
        study.optimize(mixed_objective, n_trials=affordable(8, 6))
    assert [t.params for t in studies[0].trials] == [t.params for t in studies[1].trials]
    assert [t.system_attrs for t in studies[0].trials] == [
        t.system_attrs for t in studies[1].trials
    ]
