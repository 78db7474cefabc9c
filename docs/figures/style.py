"""What the documentation's figures have in common: colours, fonts and how they are saved."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import matplotlib as mpl


mpl.use("Agg")

from matplotlib import pyplot as plt


if TYPE_CHECKING:
    from matplotlib.figure import Figure


INK, GREY, LIGHT = "#333333", "#8c8c8c", "#e6e6e6"
BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
)
"""Colours of Okabe & Ito, which colour-blind readers can tell apart."""

MAX_BYTES = 150_000
"""Size of the largest image that belongs into the repository."""

plt.rcParams.update(
    {
        "axes.edgecolor": "#bbbbbb",
        "axes.grid": True,
        "axes.labelcolor": INK,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlecolor": INK,
        "axes.titlelocation": "left",
        "axes.titlesize": 11,
        "font.family": "DejaVu Sans",
        "font.size": 10,
        "grid.color": LIGHT,
        "grid.linewidth": 0.8,
        "legend.frameon": False,
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
    }
)


def save(figure: Figure, path: Path) -> Path:
    """Write a figure as a PNG image of few colours, and close it."""
    image = io.BytesIO()
    figure.savefig(image, dpi=150, facecolor="white")
    plt.close(figure)
    return shrink(image, path)


def shrink(image: Any, path: Path) -> Path:
    """Write an image (a file or its bytes) as a PNG of at most 256 colours."""
    from PIL import Image

    with Image.open(image) as picture:
        few = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
        few.save(path, optimize=True)
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"{path.name} has {path.stat().st_size} bytes: make it smaller.")
    return path
