"""Draw the documentation's figures: ``python docs/figures/make.py``, or some of them by name.

Each script in the folders beside this file draws one figure into ``docs/images``. The figures of
``optuna_hdbo.visualization`` and of the dashboard are photographed in a browser, Chromium.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

import optuna


HERE = Path(__file__).resolve().parent
IMAGES = HERE.parent / "images"

SCRIPTS = {path.stem: path.parent.name for path in sorted(HERE.glob("*/*.py"))}
"""Name of a figure -> the folder of its script."""


def draw(name: str, folder: Path, *, quick: bool = False) -> Path:
    """Draw one figure into a folder and return its path; ``quick`` takes few trials."""
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))  # what the scripts share
    script = importlib.import_module(f"{SCRIPTS[name]}.{name}")
    path: Path = script.main(folder / f"{name}.png", quick=quick)
    return path


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw the figures that the command line names, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(SCRIPTS))
    parser.add_argument("--out", type=Path, default=IMAGES, help="folder (default: docs/images)")
    parser.add_argument("--quick", action="store_true", help="as few trials as possible")
    args = parser.parse_args(arguments)
    if unknown := set(args.names) - set(SCRIPTS):
        parser.error(f"there are no figures {', '.join(sorted(unknown))}.")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.names or SCRIPTS:
        print(draw(name, args.out, quick=args.quick))


if __name__ == "__main__":
    main()
