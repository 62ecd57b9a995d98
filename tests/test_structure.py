"""The structure of the package: no imports of private names, no import cycles, no module that is too long."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import keras_slstm

pytestmark = pytest.mark.backends("torch")  # reads files only

FOLDER = Path(keras_slstm.__file__).parent
LONGEST = 400
MODULES = {".".join(path.relative_to(FOLDER.parent).with_suffix("").parts): path for path in FOLDER.rglob("*.py")}
# Lower packages must not import those that use them.
FLOORS = ("ops", "layers", "losses", "metrics")
PACKAGES = (*FLOORS, "text", "datasets", "distribute", "training", "streaming", "models", "transfer", "tuning", "cli")


def _imports(module: str, in_functions: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the modules that a module imports when it is loaded, or also later, and the names that it takes of them."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    later = [] if in_functions else [part for part in ast.walk(tree) if _runs_later(part)]
    inside = {id(node) for part in later for node in ast.walk(part)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and id(node) not in inside:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                is_module = whole in MODULES or f"{whole}.__init__" in MODULES
                yield (whole, "") if is_module else (node.module, alias.name)


def _runs_later(node: ast.AST) -> bool:
    checks_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    return checks_types or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))


def _own(name: str) -> str:
    return name.removesuffix(".__init__")


@pytest.mark.parametrize("module", sorted(MODULES))
def test_no_private_import_and_no_long_file(module):
    for imported, name in _imports(module):
        private = [part for part in (*imported.split("."), name) if part.startswith("_") and not part.startswith("__")]
        assert not private, f"{module} imports {imported}.{name}"
    assert len(MODULES[module].read_text(encoding="utf-8").splitlines()) <= LONGEST


def test_autograph_can_convert_graph_code():
    """It cannot convert a function with `:=`, and prints four lines in the user's own `tf.function` for each."""
    for module, path in MODULES.items():
        if module.split(".")[1] in FLOORS:
            nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            lines = [node.lineno for node in nodes if isinstance(node, ast.NamedExpr)]
            assert not lines, f"{module} has := in line {lines[0]}"


# Folders whose code may depend on the backend and define gradients.
BACKEND_FOLDERS = ("keras_slstm.ops.kernels.", "keras_slstm.ops.backend.")
OF_A_BACKEND = {"custom_gradient", "custom_vjp", "custom_jvp", "Function"}  # the last one of torch.autograd
STACKS = {"tensorflow", "jax", "torch"}


def _backend_code(source: str) -> list[str]:
    """Return the expressions that name a backend or a gradient written by hand, and the imports of a backend."""
    found = []
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.split(".")[0] in STACKS or name in OF_A_BACKEND for name in names):
            found.append(ast.unparse(node))
        if isinstance(node, ast.Attribute) and node.attr in OF_A_BACKEND:
            found.append(ast.unparse(node))
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "backend":
            found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize("floor", FLOORS)
def test_backend_code_and_custom_gradients_are_in_two_folders(floor):
    for module, path in MODULES.items():
        if module.startswith(f"keras_slstm.{floor}.") and not module.startswith(BACKEND_FOLDERS):
            assert _backend_code(path.read_text(encoding="utf-8")) == [], module


@pytest.mark.parametrize(
    "source",
    [
        "if keras.backend.backend() == 'jax': pass",
        "if keras.config.backend() == 'jax': pass",
        "@ops.custom_gradient\ndef f(x): pass",
        "from keras.ops import custom_gradient",
        "def f():\n    import tensorflow as tf",
        "from jax import numpy",
        "class F(torch.autograd.Function): pass",
    ],
)
def test_backend_code_is_detected(source):
    assert _backend_code(source)


@pytest.mark.parametrize(
    ("layer", "equation"),
    [
        ("SLSTM", "slstm"),
        ("CASLSTM", "cas_lstm"),
        ("CASLSTMCell", "cas_lstm"),
        ("SuBiLSTM", "subilstm"),
        ("DepthAdaptiveGRN", "depth_adaptive_grn"),
        ("CRF", "crf"),
        ("SemiMarkovCRF", "semi_crf"),
    ],
)
def test_a_layer_names_the_file_of_its_equations(layer, equation):
    assert f"`keras_slstm/ops/{equation}.py`" in getattr(keras_slstm, layer).__doc__
    assert f"keras_slstm.ops.{equation}" in MODULES


def test_no_import_circle():
    graph = {
        _own(module): {name for name, _ in _imports(module, in_functions=True) if name.startswith("keras_slstm")}
        - {_own(module)}
        for module in MODULES
    }
    TopologicalSorter(graph).prepare()


def test_every_package_has_its_place():
    assert sorted(PACKAGES) == sorted(path.parent.name for path in FOLDER.glob("*/__init__.py"))


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_import_only_from_those_below(package):
    below = PACKAGES[: PACKAGES.index(package) + 1]
    for module in MODULES:
        if not module.startswith(f"keras_slstm.{package}."):
            continue
        for imported, _ in _imports(module, in_functions=True):
            parts = imported.split(".")
            if parts[0] == "keras_slstm" and (FOLDER / parts[1]).is_dir():
                assert parts[1] in below, f"{module} imports {imported}"


def test_the_hooks_have_the_versions_of_the_extra():
    root = FOLDER.parent
    pinned = re.findall(r'"((?:ruff|mypy)==[\d.]+)"', (root / "setup.py").read_text())
    hooks = re.findall(r'"(\w+==[\d.]+)"', (root / ".pre-commit-config.yaml").read_text())
    assert len(pinned) == 2
    assert set(hooks) == set(pinned)
