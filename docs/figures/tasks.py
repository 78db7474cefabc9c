"""What the studies of the figures tune: functions that behave like the training of a network."""

from __future__ import annotations

import math

import optuna


def network(trial: optuna.Trial) -> float:
    """Return a loss with 11 hyperparameters, of which three pairs interact and two do nothing."""
    rate = math.log10(trial.suggest_float("learning_rate", 1e-5, 1.0, log=True))
    batch = math.log2(trial.suggest_int("batch_size", 8, 512, log=True))
    depth = trial.suggest_int("n_layers", 1, 8)
    width = math.log2(trial.suggest_int("width", 16, 1024, log=True))
    dropout = trial.suggest_float("dropout", 0.0, 0.8)
    decay = math.log10(trial.suggest_float("weight_decay", 1e-6, 0.1, log=True))
    momentum = trial.suggest_float("momentum", 0.0, 0.99)
    warmup = trial.suggest_float("warmup", 0.0, 0.3)
    adam = trial.suggest_categorical("optimizer", ["sgd", "adam"]) == "adam"
    trial.suggest_categorical("activation", ["relu", "gelu", "silu"])
    trial.suggest_float("label_smoothing", 0.0, 0.3)
    loss = 0.10 * (rate + 2.5 - 0.5 * (batch - 6.0)) ** 2
    loss += 0.06 * (depth - 4.0 + 0.8 * (width - 7.0)) ** 2
    loss += 0.9 * (dropout - 0.3 + 0.15 * (decay + 3.0)) ** 2
    loss += 0.25 * (momentum - 0.9) ** 2 + 0.8 * (warmup - 0.1) ** 2
    return 0.2 + loss + 0.12 * (not adam)


def few_of_many(trial: optuna.Trial) -> float:
    """Return a loss with 40 parameters, of which the first five matter."""
    x = [trial.suggest_float(f"x{i}", -1.0, 1.0) for i in range(40)]
    bowl = (x[0] - 0.4) ** 2 + (x[1] + 0.3 * x[0]) ** 2 + 0.5 * (x[2] - 0.6) ** 2
    return bowl + 0.3 * math.cos(4.0 * x[3]) + 0.2 * abs(x[4] + 0.5)
