"""The trees of SOO and BaMSOO on one parameter, as ``examples/bamsoo_tree.py`` draws them."""

from __future__ import annotations

import runpy
from pathlib import Path

import style


EXAMPLE = Path(__file__).parents[3] / "examples" / "bamsoo_tree.py"


def main(path: Path, *, quick: bool = False) -> Path:
    """Draw the figure."""
    runpy.run_path(str(EXAMPLE))["main"](6 if quick else 20, path=str(path))
    return style.shrink(path, path)
