"""Let Ray Tune run trials in parallel, with HDBOSampler as its search algorithm.

    pip install "optuna-hdbo[ray]"

A number on the command line is the number of trials.
"""

from __future__ import annotations

import sys
from typing import Any

import ray
from ray import tune
from ray.tune.search.optuna import OptunaSearch

from optuna_hdbo import HDBOSampler


SPACE = {f"x{i}": tune.uniform(-5.0, 5.0) for i in range(8)}
SPACE["kind"] = tune.choice(["plain", "fancy"])


def train(config: dict[str, Any]) -> None:
    """Report the loss of a configuration: your training goes here."""
    loss = sum((config[f"x{i}"] - 1.0) ** 2 for i in range(8)) + (config["kind"] == "plain")
    tune.report({"loss": loss})


def main(n_trials: int = 40, *, n_cpus: int = 2) -> Any:
    """Run the trials on one machine."""
    ray.init(num_cpus=n_cpus, include_dashboard=False, ignore_reinit_error=True)
    try:
        search = OptunaSearch(sampler=HDBOSampler(seed=0), metric="loss", mode="min")
        tuner = tune.Tuner(
            train,
            param_space=SPACE,
            tune_config=tune.TuneConfig(
                search_alg=search, num_samples=n_trials, max_concurrent_trials=n_cpus
            ),
        )
        results = tuner.fit()
        best = results.get_best_result("loss", "min")
        print(f"best of {len(results)} trials: {best.metrics['loss']:.4f} with {best.config}")
        return results
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
