"""A Sphinx extension that writes formulas as MathML, which browsers draw without a script."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.errors import SphinxError


def mathml(tex: str, *, block: bool = False) -> str:
    """Return the MathML of a formula; ``SphinxError`` for what cannot be written as such."""
    try:
        written = convert(tex, display="block" if block else "inline")
    except Exception as error:
        raise SphinxError(f"The formula {tex!r} cannot be read: {error!r}") from error
    if "\\" in written:  # an unknown command is passed through as text
        raise SphinxError(f"The formula {tex!r} has a command that is not known.")
    return written


def visit_inline(translator: Any, node: nodes.math) -> None:
    """Write a formula in a line of text."""
    translator.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.math_block) -> None:
    """Write formulas of their own, one per line of the source."""
    lines = [line for line in node.astext().replace(r"\\", "\n").splitlines() if line.strip()]
    formulas = "".join(mathml(line.strip(), block=True) for line in lines)
    translator.body.append(f'<div class="formulas">{formulas}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Make MathML a way of writing formulas, which ``html_math_renderer`` chooses."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
