"""A study in optuna-dashboard, with the figures that ``report`` saved."""

from __future__ import annotations

from pathlib import Path

import browser
import dashboard


def main(path: Path, *, quick: bool = False) -> Path:
    """Photograph the page."""
    with dashboard.served(quick=quick) as address:
        page = f"{address}/dashboard/studies/1"
        return browser.photograph(page, path, width=1600, height=1705, scale=1.0)
