"""The calibration page: coverage and gain of predictions whose truth is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from optuna_hdbo.benchmarks.report.pages import calibration


def run(error: float, n: int = 2030, seed: int = 0, **changes: Any) -> dict[str, Any]:
    """Return a run whose predictions have deviation 1 and whose errors have ``error``."""
    rng = np.random.default_rng(seed)
    mean = 10.0 * rng.standard_normal(n)
    rows = [[i, m, 1.0, m + error * rng.standard_normal()] for i, m in enumerate(mean)]
    base = {"problem": "levy-6", "rival": "HDBOSampler", "seed": seed, "n_trials": n}
    return {**base, "predictions": rows, **changes}


def test_honest_predictions_cover_as_often_as_they_say() -> None:
    assert calibration.coverage([run(1.0)], 1.96) == pytest.approx(0.95, abs=0.015)
    assert calibration.coverage([run(1.0)], 0.6745) == pytest.approx(0.5, abs=0.035)
    assert calibration.coverage([run(3.0)], 1.96) == pytest.approx(0.486, abs=0.035)


def test_the_gain_is_the_log_ratio_of_densities() -> None:
    # Values have deviation sqrt(101), their predictions 1, and both squares the same median.
    assert calibration.gain(run(1.0)) == pytest.approx(0.5 * np.log(101.0), abs=0.1)


def test_early_trials_do_not_count() -> None:
    found = calibration.counted(run(1.0, n=40))
    assert found[:, 0].min() == calibration.FIRST_TRIAL
    assert len(found) == 10


def test_the_page_has_a_row_per_problem_and_a_figure(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    other = run(2.0, seed=1, problem="gp-3")
    page = calibration.make([run(1.0), other, {**run(1.0), "predictions": []}], tmp_path)
    assert "| levy-6 | 2030 | 1 | 0." in page
    assert "| gp-3 | 2030 | 1 | 0." in page
    assert (tmp_path / "calibration.png").stat().st_size > 1000


def test_results_without_predictions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="results must hold runs with predictions"):
        calibration.make([{"problem": "levy-6", "rival": "tpe"}], tmp_path)
