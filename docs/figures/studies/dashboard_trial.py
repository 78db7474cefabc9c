"""A trial in optuna-dashboard, with what the sampler expected of it."""

from __future__ import annotations

from pathlib import Path

import browser
import dashboard


def main(path: Path, *, quick: bool = False) -> Path:
    """Photograph the page."""
    with dashboard.served(quick=quick) as address:
        page = f"{address}/dashboard/studies/1/trials?numbers={2 if quick else 64}"
        return browser.photograph(page, path, width=1100, height=900)
