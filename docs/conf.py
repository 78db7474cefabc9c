"""Sphinx settings."""

from __future__ import annotations

import re
from pathlib import Path


project = "optuna-hdbo"
author = "the optuna-hdbo maintainers"
_version = (Path(__file__).parent.parent / "optuna_hdbo" / "_version.py").read_text()
_match = re.search(r'__version__ = "(.+)"', _version)
assert _match is not None
release = version = _match[1]

extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"optuna-hdbo {release}"
