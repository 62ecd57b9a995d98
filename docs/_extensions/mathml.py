"""Renders formulas as MathML, which browsers display without scripts, fonts or a network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx


def visit_inline(translator: Any, node: nodes.math) -> None:
    """Write an inline formula."""
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.math_block) -> None:
    """Write a displayed formula with its number, if it has one."""
    number = f'<span class="eqno">({node["number"]})</span>' if node.get("number") else ""
    anchor = f' id="{node["ids"][0]}"' if node["ids"] else ""
    latex = re.sub(r"\\(begin|end)\{split\}", "", node.astext())  # MyST adds it to several lines
    lines = [latex] if r"\begin" in latex else re.split(r"\\\\", latex)
    formulas = "\n".join(convert(line.replace("&", ""), display="block") for line in lines if line.strip())
    translator.body.append(f'<div class="math"{anchor}>{number}{formulas}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer under the name that `html_math_renderer` selects."""
    app.add_html_math_renderer("mathml", inline_renderers=(visit_inline, None), block_renderers=(visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
