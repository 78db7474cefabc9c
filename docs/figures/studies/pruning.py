"""A study whose pruner stops trials early that look bad; the sampler learns from them as well."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import optuna
import style
import tasks
from matplotlib import pyplot as plt
from optuna.trial import TrialState

from optuna_hdbo import HDBOSampler


def objective(trial: optuna.Trial) -> float:
    """Return the last loss of a learning curve of 26 epochs: the pruner looks after 1, 3 and 9."""
    final = tasks.network(trial)
    loss = final
    for epoch in range(1, 27):
        loss = final + 1.5 * (0.3 + trial.params["dropout"]) / epoch**0.8
        trial.report(loss, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned
    return loss


def main(path: Path, *, quick: bool = False) -> Path:
    """Draw the figure."""
    study = optuna.create_study(
        sampler=HDBOSampler(seed=0, n_startup_trials=3 if quick else 10),
        pruner=optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=3),
    )
    study.optimize(objective, n_trials=6 if quick else 90)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.8), width_ratios=(1.2, 1.0))
    for trial in study.trials:
        steps, losses = zip(*sorted(trial.intermediate_values.items()), strict=True)
        if trial.state == TrialState.COMPLETE:
            left.plot(steps, losses, color=style.BLUE, linewidth=1.2, alpha=0.7, zorder=3)
        else:
            left.plot(steps, losses, color=style.GREY, linewidth=0.8, alpha=0.5)
            left.plot(steps[-1], losses[-1], "x", color=style.VERMILION, markersize=4, zorder=2)
    low = min(min(t.intermediate_values.values()) for t in study.trials)
    left.set(title="learning curves", xlabel="epoch", ylabel="loss", ylim=(low - 0.1, low + 1.8))
    left.plot([], [], color=style.BLUE, label="complete")
    left.plot([], [], "x-", color=style.GREY, markeredgecolor=style.VERMILION, label="pruned")
    left.legend()
    epochs = np.cumsum([len(t.intermediate_values) for t in study.trials])
    finals = [t.value if t.state == TrialState.COMPLETE else np.inf for t in study.trials]
    best = np.minimum.accumulate(np.array(finals, float))
    right.step(epochs, best, where="post", color=style.BLUE, linewidth=2)
    n_pruned = sum(t.state == TrialState.PRUNED for t in study.trials)
    right.set_title(f"best loss; {n_pruned} of {len(epochs)} trials were pruned")
    right.set(xlabel="epochs, all trials together", xlim=(0, None))
    figure.tight_layout()
    return style.save(figure, path)
