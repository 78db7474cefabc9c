"""Sphinx settings."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from optuna.samplers import BaseSampler
from sphinx.application import Sphinx


project = "optuna-hdbo"
author = "the optuna_hdbo developers"
_version = (Path(__file__).parent.parent / "optuna_hdbo" / "__init__.py").read_text()
_match = re.search(r'__version__ = "(.+)"', _version)
assert _match is not None
release = version = _match[1]

sys.path.insert(0, str(Path(__file__).parent))
extensions = ["mathml", "myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_math_renderer = "mathml"  # needs neither a script nor a network
myst_enable_extensions = ["dollarmath"]
autodoc_member_order = "alphabetical"
autodoc_typehints = "none"  # the docstrings have them
napoleon_google_docstring = False
napoleon_use_rtype = False
myst_heading_anchors = 3
exclude_patterns = ["_build"]
OPTUNAS = frozenset(vars(BaseSampler))
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_title = f"optuna-hdbo {release}"


def is_optunas(
    app: object, what: str, name: str, obj: object, skip: bool, options: object
) -> bool:
    """Leave out what Optuna calls on every sampler: its own documentation describes it."""
    return skip or name in OPTUNAS


def setup(app: Sphinx) -> None:
    """Connect the function above."""
    app.connect("autodoc-skip-member", is_optunas)
