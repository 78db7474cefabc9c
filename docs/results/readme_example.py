"""Which interactions are found in the README's example: ``python readme_example.py``.

It writes ``readme_example.jsonl``, a line per study, and takes some minutes.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import optuna
from kept import FOLDER

from optuna_hdbo import AddGPUCBSampler
from optuna_hdbo import get_interactions


SAMPLERS: dict[str, Callable[..., optuna.samplers.BaseSampler]] = {
    "random": optuna.samplers.RandomSampler,
    "tpe": optuna.samplers.TPESampler,
    "AddGPUCBSampler": AddGPUCBSampler,
}


def objective(trial: optuna.Trial) -> float:
    """Return the value of the README's example."""
    x = [trial.suggest_float(f"x{i}", -5, 5) for i in range(20)]
    kind = trial.suggest_categorical("kind", ["plain", "fancy"])
    return (x[0] * x[1] - 4) ** 2 + sum(v**2 for v in x[2:]) + (kind == "plain")


def main(n_seeds: int = 10, n_trials: tuple[int, ...] = (100, 200)) -> list[dict[str, object]]:
    """Return what was found in the studies of every sampler."""
    lines: list[dict[str, object]] = []
    for label, sampler in SAMPLERS.items():
        for seed in range(n_seeds):
            study = optuna.create_study(sampler=sampler(seed=seed))
            for n in n_trials:
                study.optimize(objective, n_trials=n - len(study.trials))
                found = get_interactions(study)
                strong = {frozenset(pair.parameters) for pair in found.strong}
                lines.append(
                    {
                        "sampler": label,
                        "seed": seed,
                        "n_trials": n,
                        "group": ("x0", "x1") in found.groups,
                        "false": len(strong - {frozenset(("x0", "x1"))}),
                    }
                )
    return lines


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in main())
    (FOLDER / "readme_example.jsonl").write_text(text, encoding="utf-8")
