"""What the pages need beside Sphinx: formulas, an order of examples, a link, checks."""

import re
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from docutils import nodes
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

#: The examples as they are best read; others follow.
READING_ORDER = [
    "quick_start", "choosing_the_metric", "cost_matrix", "precision_at_recall",
    "own_metric", "several_classes", "several_labels", "sample_weights",
    "tabular_pipeline", "search", "compare_resamplers", "reading_the_verdict",
    "calibration", "torch_cnn", "text", "losses", "many_fits", "partial_fit", "parquet",
    "distributed",
]  # fmt: skip


class ReadingOrder:
    """Sort key of sphinx-gallery for the files of a folder of examples."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, filename: str) -> tuple[int, str]:
        """Give the place in the list, and the name."""
        name = Path(filename).stem.removeprefix("plot_")
        known = name in READING_ORDER
        return READING_ORDER.index(name) if known else len(READING_ORDER), name


def formula(tex: str) -> str:
    """Draw a formula as SVG: without scripts, and the same with any fonts.

    Screen readers read its TeX.
    """
    font = FontProperties(math_fontfamily="stix")
    path = TextPath((0, 0), f"${' '.join(tex.split())}$", size=10, prop=font)
    box = path.get_extents()
    # The codes of matplotlib's paths.
    names = {1: "M", 2: "L", 3: "Q", 4: "C", 79: "Z"}
    # The y of SVG points down. The point of a closing segment has no meaning.
    drawing = " ".join(
        names[code] + ("" if code == 79 else " ".join(f"{v:.2f}" for v in points))
        for points, code in path.transformed(Affine2D().scale(1, -1)).iter_segments(
            curves=True, simplify=False
        )
    )
    view = f"{box.x0 - 0.5:.2f} {-box.y1 - 0.5:.2f} {box.width + 1:.2f}"
    size = f"width:{(box.width + 1) / 10:.3f}em;vertical-align:{box.y0 / 10:.3f}em"
    return (
        f'<svg class="formula" role="img" aria-label="{escape(tex.strip())}" '
        f'viewBox="{view} {box.height + 1:.2f}" style="{size}">'
        f'<path d="{drawing}" fill="currentColor"/></svg>'
    )


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(formula(node.astext()))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    # As TeX does in a display, fractions are not smaller than the rest.
    tex = re.sub(r"\\frac\b", r"\\dfrac", node.astext())
    translator.body.append(f'<div class="formula">{formula(tex)}</div>')
    raise nodes.SkipNode


def _link_to_search(app: Sphinx, docname: str, source: list[str]) -> None:
    """Let links to search.md lead to guide/search: search.html is Sphinx's own page."""
    source[0] = source[0].replace("](search.md", "](/guide/search.md")


def broken_links(site: Path) -> list[str]:
    """Links within a built site that lead nowhere, each after the page that has it."""
    files = {path for path in site.rglob("*.html") if "_static" not in path.parts}
    pages = {path: path.read_text(encoding="utf-8") for path in files}
    anchors = {
        path: set(re.findall(r'\b(?:id|name)="([^"]+)"', text))
        for path, text in pages.items()
    }
    broken = set()
    for path, text in pages.items():
        for link in re.findall(r'\b(?:href|src)="([^"]*)"', text):
            if re.match(r"\w+:|//", link):
                continue
            to, _, anchor = unquote(link).partition("#")
            target = (path.parent / to.partition("?")[0]).resolve() if to else path
            is_there = target.exists()
            # ":~:text=" is searched for in the page by the browser.
            if is_there and target in anchors and anchor.partition(":~:")[0]:
                is_there = anchor in anchors[target]
            if not is_there:
                broken.add(f"{path.relative_to(site)}: {link}")
    return sorted(broken)


def _check(app: Sphinx, exception: Exception | None) -> None:
    """Fail on links that lead nowhere, and on examples without a picture."""
    if exception is not None or app.builder.format != "html":
        return
    site = Path(app.outdir).resolve()
    problems = broken_links(site)
    pattern = re.compile(app.config.sphinx_gallery_conf["filename_pattern"])
    for script in (Path(app.srcdir).parent / "examples").glob("plot_*.py"):
        picture = site / "_images" / f"sphx_glr_{script.stem}_001.png"
        if pattern.search(str(script)) and not picture.exists():
            problems.append(f"{script.name}: no picture")
    if problems:
        raise ExtensionError("\n".join(["The site has problems:", *problems]))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer of formulas, and use it."""
    app.add_html_math_renderer("svg", (_inline, None), (_block, None))
    app.config.html_math_renderer = "svg"
    app.connect("source-read", _link_to_search)
    app.connect("build-finished", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
