"""Share of targets reached over trials on 24 BBOB functions of 20 parameters.

The figure is drawn from a stored profile of these commands:

    python -m optuna_hdbo.benchmarks run --problems bbob-20 --seeds 0-2 --out bbob.jsonl --rivals \
        gp,tpe-default,cmaes,GPUCBSampler,MSUCBSampler,AddGPUCBSampler,VSBOSampler,BaMSOOSampler,HDBOSampler
    python docs/figures/methods/bbob.py bbob.jsonl
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import style
from matplotlib import pyplot as plt


STORED = Path(__file__).parent.parent / "bbob.json"

LABELS = {"gp": "GPSampler", "tpe-default": "TPESampler", "cmaes": "CmaEsSampler"}
COLOURS = {
    "HDBOSampler": style.VERMILION,
    "gp": style.BLUE,
    "cmaes": style.GREEN,
    "tpe-default": style.ORANGE,
}


def keep(results: Path) -> None:
    """Store the profile of a results file, to three digits."""
    from optuna_hdbo.benchmarks.measure.runner import read
    from optuna_hdbo.benchmarks.report.pages import family

    _, curves = family.common(read(results))
    kept = {label: np.round(p, 3).tolist() for label, p in family.profiles(curves).items()}
    lines = ",\n".join(f"{json.dumps(label)}: {json.dumps(p)}" for label, p in kept.items())
    STORED.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def apart(places: Sequence[float], gap: float) -> list[float]:
    """Return increasing places, moved as little as it takes until they have a gap between them."""
    moved = list(places)
    for _ in range(200):
        for i in range(len(moved) - 1):
            push = max(0.0, gap - (moved[i + 1] - moved[i])) / 2.0
            moved[i], moved[i + 1] = moved[i] - push, moved[i + 1] + push
    return moved


def main(path: Path, *, quick: bool = False) -> Path:
    """Draw the stored profile; ``quick`` makes no difference."""
    profiles = json.loads(STORED.read_text(encoding="utf-8"))
    figure, axis = plt.subplots(figsize=(8.0, 4.4))
    for label in sorted(profiles, key=lambda label: -profiles[label][-1]):
        shares = profiles[label]
        own = label == "HDBOSampler"
        axis.plot(
            np.arange(1, len(shares) + 1),
            shares,
            color=COLOURS.get(label, style.GREY),
            linewidth=2.6 if own else 1.6 if label in COLOURS else 1.0,
            zorder=3 if own else 2 if label in COLOURS else 1,
        )
    labels = sorted(profiles, key=lambda label: float(profiles[label][-1]))
    places = [float(profiles[label][-1]) for label in labels]
    for place, name_at, label in zip(places, apart(places, 0.045), labels, strict=True):
        name = LABELS.get(label, label)
        weight = "bold" if label == "HDBOSampler" else "normal"
        colour = COLOURS.get(label, style.GREY)
        axis.plot([200, 205], [place, name_at], color=colour, linewidth=0.7, clip_on=False)
        axis.text(206, name_at, name, color=colour, va="center", fontsize=9, fontweight=weight)
    axis.set(xlabel="trials", ylabel="share of targets reached", xlim=(1, 200), ylim=(0, 1))
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
