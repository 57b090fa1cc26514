"""The folders of the package know of those below them only, and import at the top."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "sk_anyloss"
#: From the lowest to the highest; a module may import from its own layer and below.
LAYERS = (
    "_cache",
    "_compat",
    "_files",
    "_names",
    "metrics",
    "losses",
    "training",
    "estimators",
    "baselines",
    "boosting",
    "search",
    "plain",
    "compare",
)
#: Extras, which are imported where they are used.
HEAVY = {"matplotlib", "skops", "skrub", "tqdm", "distributed", "baycomp", "pandas"}
MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


def imports_of(path):
    """Modules of the package that a file imports, and whether at its top."""
    tree = ast.parse((PACKAGE / path).read_text(encoding="utf-8"))
    top = set(map(id, tree.body))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, id(node) in top
        elif isinstance(node, ast.Import):
            for name in node.names:
                yield name.name, id(node) in top


def layer_of(module):
    return module.split(".")[1].removesuffix(".py")


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_from_itself_and_below(layer):
    below = LAYERS[: LAYERS.index(layer) + 1]
    for path in MODULES:
        if path.parts[0].removesuffix(".py") != layer:
            continue
        for module, _ in imports_of(path):
            if module.startswith("sk_anyloss.") and layer_of(module) != "__version__":
                assert layer_of(module) in below, f"{path} imports {module}"


def test_no_import_inside_a_function_breaks_a_cycle():
    for path in MODULES:
        if path.name in ("__init__.py", "__main__.py"):
            continue
        text = (PACKAGE / path).read_text(encoding="utf-8")
        inside_functions = {
            node.module
            for function in ast.walk(ast.parse(text))
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
            for node in ast.walk(function)
            if isinstance(node, ast.ImportFrom) and node.module
        }
        ours = {name for name in inside_functions if name.startswith("sk_anyloss")}
        # Pictures and pages need matplotlib, which is an extra.
        extras = {
            f"sk_anyloss.compare.report.{name}" for name in ("html.page", "pictures")
        }
        assert ours <= extras, path


def test_there_is_no_layer_that_is_not_there():
    found = {path.parts[0].removesuffix(".py") for path in MODULES}
    assert set(LAYERS) == found - {"__init__", "__main__"}


def test_folders_hold_about_a_dozen_modules():
    for folder in {path.parent for path in MODULES}:
        modules = [path for path in MODULES if path.parent == folder]
        assert len(modules) <= 13, folder
