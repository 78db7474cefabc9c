"""How often the value of a trial lies in the interval that was predicted for it.

It needs runs of samplers that write ``hdbo:predicted`` and ``hdbo:std``, of at least 50 trials::

    run --problems tune --rivals HDBOSampler --seeds 1000-1002 --out calibration.jsonl
    page calibration calibration.jsonl --out pages

Trials count from number 30 on. *Gain* is the mean log density of the values under the predictions,
less that under a normal distribution with the mean and the deviation of all earlier values of the
study's predicted trials, in nats per trial.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.report import curves
from optuna_hdbo.benchmarks.report.curves import Result


FIRST_TRIAL = 30
LEVELS = {0.5: 0.6745, 0.95: 1.96}
"""Level of an interval -> its half width in standard deviations."""


def make(results: Sequence[Result], folder: Path) -> str:
    """Write the figure to a folder and return the page."""
    runs = [r for r in results if len(counted(r))]
    if not runs:
        raise ValueError(
            f"results must hold runs with predictions of trials from {FIRST_TRIAL} on, but none "
            f"of {len(results)} is one."
        )
    problems = list(dict.fromkeys(r["problem"] for r in runs))
    _draw(runs, folder / "calibration.png")
    return "\n\n".join(
        [
            "# Calibration",
            f"Share of the values inside the 50 % / 95 % interval, trials from {FIRST_TRIAL} on, "
            "all seeds together; then the gain over a normal distribution in nats per trial.",
            curves.table(runs, problems, _cell),
            "![Share of values inside intervals of every level](calibration.png)",
        ]
    )


def counted(result: Result) -> FloatArray:
    """Return number, mean, deviation and value of the predictions that count, shape (k, 4)."""
    rows = np.array(result.get("predictions", []), np.float64).reshape(-1, 4)
    kept: FloatArray = rows[(rows[:, 0] >= FIRST_TRIAL) & (rows[:, 2] > 0.0)]
    return kept


def scores(result: Result) -> FloatArray:
    """Return the standardised errors of the predictions that count, shape (k,)."""
    _, mean, std, value = counted(result).T
    return np.asarray((value - mean) / std, np.float64)


def coverage(results: Sequence[Result], half_width: float) -> float:
    """Return the share of values within so many deviations of the prediction."""
    found = np.concatenate([scores(r) for r in results])
    return float((np.abs(found) < half_width).mean())


def gain(result: Result) -> float:
    """Return the mean log density of the values over that of a normal distribution, in nats."""
    rows = np.array(result["predictions"], np.float64)
    gains = []
    for i, (number, mean, std, value) in enumerate(rows):
        if number < FIRST_TRIAL or i < 2 or std <= 0.0:
            continue
        earlier = rows[:i, 3]
        spread = max(float(earlier.std()), 1e-12)
        plain = -0.5 * ((value - earlier.mean()) / spread) ** 2 - np.log(spread)
        gains.append(-0.5 * ((value - mean) / std) ** 2 - np.log(std) - plain)
    return float(np.mean(gains))


def _cell(results: list[Result]) -> str:
    shares = " / ".join(f"{coverage(results, width):.2f}" for width in LEVELS.values())
    return f"{shares}, {np.mean([gain(r) for r in results]):+.1f}"


def _draw(results: Sequence[Result], path: Path) -> None:
    """Draw the share of values inside central intervals of every level, a line per sampler."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from scipy.special import ndtri

    levels = np.linspace(0.02, 0.98, 49)
    widths = ndtri(0.5 + levels / 2.0)
    figure, axis = plt.subplots(figsize=(4.8, 4.4))
    axis.plot([0, 1], [0, 1], color="0.6", linewidth=1.0, label="honest")
    for label in dict.fromkeys(r["rival"] for r in results):
        found = np.abs(np.concatenate([scores(r) for r in results if r["rival"] == label]))
        axis.plot(levels, [(found < width).mean() for width in widths], label=label)
    axis.set(xlabel="level of the interval", ylabel="share of values inside", aspect="equal")
    axis.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
