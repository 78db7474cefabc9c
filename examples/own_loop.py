"""Ask and tell: keep your own loop, and let the sampler only suggest.

Each round asks for three points, evaluates them in any order and tells their values, as a batch on
a cluster or in a laboratory would. A number on the command line is the number of rounds.
"""

from __future__ import annotations

import sys

import optuna
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution

from optuna_hdbo import HDBOSampler
from optuna_hdbo import explain


RECIPE = {
    "temperature": FloatDistribution(20.0, 120.0),
    "minutes": IntDistribution(5, 120, log=True),
    "acid": FloatDistribution(1e-4, 1.0, log=True),
    "solvent": CategoricalDistribution(["water", "ethanol", "acetone"]),
}


def experiment(temperature: float, minutes: int, acid: float, solvent: str) -> float:
    """Return the yield of a reaction, in percent: here a formula, elsewhere a measurement."""
    heat = ((temperature - 80.0) / 40.0) ** 2 + (minutes / 60.0 - 0.7) ** 2
    loss = {"water": 0.3, "ethanol": 0.0, "acetone": 0.15}[solvent]
    return 95.0 / (1.0 + heat + 4.0 * (acid - 0.02) ** 2 + loss)


def main(n_rounds: int = 12) -> None:
    """Do rounds of three experiments each."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=HDBOSampler(seed=0))
    for number in range(n_rounds):
        batch = [study.ask(RECIPE) for _ in range(3)]  # pending points count: the three differ
        for trial in reversed(batch):
            study.tell(trial, experiment(**trial.params))
        print(f"round {number + 1:2}: best yield {study.best_value:.1f} %")
    print(study.best_params)
    print(explain(study))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
