"""What the pages need beside Sphinx: formulas, and a link between two of them."""

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx


def _inline(translator: Any, node: nodes.math) -> None:
    """Write MathML, which browsers draw themselves: no script from elsewhere."""
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    formula = convert(node.astext(), display="block")
    translator.body.append(f'<div class="math">{formula}</div>')
    raise nodes.SkipNode


def _link_to_search(app: Sphinx, docname: str, source: list[str]) -> None:
    """Let links to search.md lead to guide/search: search.html is Sphinx's own page."""
    source[0] = source[0].replace("](search.md", "](/guide/search.md")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer of formulas, and use it."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.config.html_math_renderer = "mathml"
    app.connect("source-read", _link_to_search)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
