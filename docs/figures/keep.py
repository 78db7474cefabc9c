"""Keep what the figure of regrets needs of a benchmark's results: ``keep.py results.jsonl``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


STORED = Path(__file__).parent / "regret.json"

N_TRIALS = 150

N_STARTUP = 10
"""Trials without a model, whose time is left out."""


def keep(results: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what the figure needs of a benchmark's results: the improvements, and the time."""
    kept = {}
    for run in results:
        best = np.array(run["regret"])[:N_TRIALS]
        steps = np.flatnonzero(np.diff(best, prepend=np.inf) < 0)
        cpu = np.array(run["cpu"]["per_trial"])[N_STARTUP:N_TRIALS]
        kept[run["problem"], run["rival"], run["seed"]] = {  # a run that was repeated counts once
            "problem": run["problem"],
            "rival": run["rival"],
            "seed": run["seed"],
            "n_trials": len(best),
            "improvements": [[int(t), float(f"{best[t]:.4g}")] for t in steps],
            "ms": float(f"{1e3 * np.median(cpu):.3g}"),
        }
    return list(kept.values())


if __name__ == "__main__":
    from optuna_hdbo.benchmarks.measure.runner import read

    lines = ",\n".join(json.dumps(run) for run in keep(read(Path(sys.argv[1]))))
    STORED.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
