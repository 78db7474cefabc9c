"""Four workers share a study: when each was busy, and with what value it came back."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import optuna
import style
import tasks
from matplotlib import pyplot as plt

from optuna_hdbo import HDBOSampler


N_WORKERS = 4


def objective(trial: optuna.Trial, seconds: float) -> float:
    """Return a loss after a time that differs from trial to trial."""
    loss = tasks.network(trial)
    time.sleep(seconds * (0.5 + trial.params["n_layers"] / 8.0))
    return loss


def _spans(study: optuna.Study) -> list[tuple[float, float]]:
    """Return when every trial started and ended, in seconds since the first one started."""
    began: dict[int, float] = {}
    ended: dict[int, float] = {}
    for trial in study.trials:
        assert trial.datetime_start is not None
        assert trial.datetime_complete is not None
        began[trial.number] = trial.datetime_start.timestamp()
        ended[trial.number] = trial.datetime_complete.timestamp()
    first = min(began.values())
    return [(began[number] - first, ended[number] - first) for number in began]


def main(path: Path, *, quick: bool = False) -> Path:
    """Draw the figure."""
    study = optuna.create_study(sampler=HDBOSampler(seed=0, n_startup_trials=4 if quick else 10))
    seconds = 0.01 if quick else 1.0
    n_trials = 8 if quick else 72
    study.optimize(lambda trial: objective(trial, seconds), n_trials=n_trials, n_jobs=N_WORKERS)
    spans = _spans(study)
    free = [0.0] * N_WORKERS  # when each worker ends its trial
    figure, (above, below) = plt.subplots(2, 1, figsize=(9.0, 4.2), sharex=True)
    values = [trial.values[0] for trial in study.trials]
    low, high = np.quantile(values, [0.0, 0.8])
    for (start, end), value in zip(spans, values, strict=True):
        worker = min(range(N_WORKERS), key=lambda w: (free[w] > start + 1e-3, free[w]))
        free[worker] = end
        shade = float(np.clip((value - low) / (high - low), 0.0, 1.0))
        colour = plt.get_cmap("viridis")(0.95 * shade)
        below.barh(worker, end - start, left=start, color=colour, edgecolor="white", height=0.8)
    order = np.argsort([end for _, end in spans])
    ends, known = np.array([end for _, end in spans])[order], np.array(values)[order]
    above.plot(ends, known, "o", color=style.GREY, markersize=3.5, alpha=0.7)
    best = np.minimum.accumulate(known)
    above.step(ends, best, where="post", color=style.VERMILION, linewidth=2)
    above.set(title="loss of every trial, and the best so far", ylim=(low - 0.1, high + 0.5))
    below.set(title="a row per worker, a bar per trial; the darker, the better", xlabel="seconds")
    below.set_yticks(range(N_WORKERS), [f"worker {w + 1}" for w in range(N_WORKERS)])
    below.grid(visible=False)
    figure.tight_layout()
    return style.save(figure, path)
