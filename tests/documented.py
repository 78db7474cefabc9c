"""The documentation's pages, and the commands in them."""

from __future__ import annotations

import re
from pathlib import Path


ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    *sorted([*DOCS.glob("*.md"), *DOCS.glob("choices/*.md")]),
]
RUNNERS = ("bash", "pip", "python", "sphinx-build", "tox")


def commands(page: Path) -> list[str]:
    """Return the commands of a page: lines of its blocks, and code in its tables."""
    text = page.read_text(encoding="utf-8")
    blocks = "".join(re.findall(r"```bash\n(.*?)```", text, re.DOTALL)).replace("\\\n", " ")
    lines = [piece for line in blocks.splitlines() for piece in re.split(r"&&|\|", line)]
    lines += re.findall(r"\| `((?:bash|python) [^`]+)` \|", text)
    return [line.strip() for line in lines if line.strip().startswith(RUNNERS)]


def slug(title: str) -> str:
    """Return the anchor of a heading, as GitHub and Sphinx make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
