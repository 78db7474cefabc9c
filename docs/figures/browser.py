"""Photograph pages and plotly's figures in a browser without a window."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import style


NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def find() -> str | None:
    """Return the path of a browser, or ``None`` where there is none."""
    found = (shutil.which(name) for name in NAMES)
    return next((path for path in found if path is not None), None)


def photograph(
    url: str, path: Path, *, width: int, height: int, scale: float = 1.5, seconds: float = 10.0
) -> Path:
    """Write an image of a page, as it looks after so many seconds of the browser's clock.

    The image has ``scale`` times as many pixels as the window.
    """
    browser = find()
    if browser is None:
        raise RuntimeError(f"Screenshots need a browser, one of {', '.join(NAMES)}.")
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder) / "page.png"
        command = [
            browser,
            "--headless=new",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--force-device-scale-factor={scale}",
            f"--user-data-dir={folder}/profile",
            f"--window-size={width},{height}",
            f"--virtual-time-budget={round(1000 * seconds)}",
            f"--screenshot={image}",
        ]
        if os.name == "posix" and os.geteuid() == 0:
            command.append("--no-sandbox")  # which an administrator cannot use, as in containers
        subprocess.run([*command, url], check=True, capture_output=True, timeout=120)
        return style.shrink(image, path)


def save_plotly(figure: Any, path: Path, *, width: int = 900, height: int = 480) -> Path:
    """Write a figure of plotly as an image; without a browser, as a page beside it."""
    figure.update_layout(width=width, height=height, template="plotly_white")
    figure.update_layout(font={"family": "DejaVu Sans, sans-serif", "color": style.INK})
    figure.update_yaxes(ticklabelstandoff=6)
    page = path.with_suffix(".html")
    figure.write_html(page, config={"displayModeBar": False}, full_html=True)
    if find() is None:
        return page
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("<body>", "<body style='margin:0'>"), encoding="utf-8")
    try:
        return photograph(page.resolve().as_uri(), path, width=width, height=height)
    finally:
        page.unlink()
