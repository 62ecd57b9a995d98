"""Each example fits on a page, uses public names only, and runs."""

from __future__ import annotations

import ast
import runpy
import sys
from pathlib import Path

import pytest

import keras_slstm

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))
LONGEST = 120  # lines
# Part of the last output lines of each script, which are about a handwritten sentence.
ENDS = {
    "classify_text": "We do not want to cancel the car, we want to change it.",
    "inspect_depth": "cancel/",
    "match_sentences": "| Please change my flight to Oslo.",
    "own_layer": "Cancel the hotel in Paris, but leave my flight as it is.",
    "tag_text": "My friend Maria Rossi needs a hotel in New York for three nights .",
    "train_distributed": "Cancel the hotel in Paris, but leave my flight as it is.",
    "transfer_sentences": "Nearest to: I do not need the room in Oslo any more, please cancel it.",
    "translate": "If Mr Keller paid two hundred and twelve euros on January the first, please call us.",
}
PARTS = {"train": 320, "validation": 32, "test": 60}

each_script = pytest.mark.parametrize("script", [pytest.param(path, id=path.stem) for path in SCRIPTS])
each_script_one_of_them_soon = pytest.mark.parametrize(
    "script",
    [
        pytest.param(path, id=path.stem, marks=[] if path.stem == "classify_text" else pytest.mark.short_run())
        for path in SCRIPTS
    ],
)


@pytest.fixture
def small_corpora(monkeypatch):
    """Every corpus has only a few examples."""

    def few(load):
        def load_few(*args, **kwargs):
            corpus = load(*args, **kwargs)
            parts = {name: getattr(corpus, name).take(range(size)) for name, size in PARTS.items()}
            return type(corpus)(**{**vars(corpus), **parts})

        return load_few

    for name in ("load_corpus", "load_tagged_corpus", "load_parallel_corpus"):
        monkeypatch.setattr(keras_slstm.datasets, name, few(getattr(keras_slstm.datasets, name)))


def run(script, output, monkeypatch, *options):
    monkeypatch.setattr(sys, "argv", [str(script), "--epochs", "1", "--output", str(output), *options])
    runpy.run_path(str(script), run_name="__main__")


@pytest.mark.filterwarnings("ignore:.*many times as long.*", "ignore:.*least populated class.*")
@each_script_one_of_them_soon
def test_script_runs_and_ends_with_a_handwritten_sentence(script, small_corpora, tmp_path, monkeypatch, capfd):
    for part, extra in (("matplotlib", "plots"), ("sklearn", "examples"), ("tokenizers", "translation")):
        pytest.importorskip(part, reason=f"the examples need the `{extra}` extra")
    run(script, tmp_path / "run", monkeypatch)
    printed = capfd.readouterr()
    assert ENDS[script.stem] in "\n".join(printed.out.splitlines()[-7:])
    assert (tmp_path / "run" / "model.keras").is_file()
    assert len(printed.out.splitlines()) <= 40


@each_script
def test_script_fits_on_a_page(script):
    assert len(script.read_text(encoding="utf-8").splitlines()) <= LONGEST


@each_script
def test_script_imports_only_public_names(script):
    """Scripts import only the package, and only names in `__all__`."""
    tree = ast.parse(script.read_text(encoding="utf-8"))
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(str(node.module))
    assert imported - set(sys.stdlib_module_names) <= {"keras", "keras_slstm", "numpy"}
    assert "keras_slstm" in imported
    for node in ast.walk(tree):
        path = dotted(node) if isinstance(node, ast.Attribute) else []
        if path and path[0] == "keras_slstm":
            place = keras_slstm
            for name in path[1:]:
                if not hasattr(place, "__all__"):
                    break  # a name inside a class or function
                assert name in place.__all__
                place = getattr(place, name)


def dotted(node: ast.expr) -> list[str]:
    """Return the names in `a.b.c`."""
    if isinstance(node, ast.Name):
        return [node.id]
    before = dotted(node.value) if isinstance(node, ast.Attribute) else []
    return [*before, node.attr] if before else []


def test_a_finished_run_is_kept(small_corpora, tmp_path, monkeypatch, capsys):
    script = EXAMPLES / "classify_text.py"
    options = ("--encoder", "bilstm")
    run(script, tmp_path / "run", monkeypatch, *options)
    with pytest.raises(SystemExit) as end:
        run(script, tmp_path / "run", monkeypatch, *options)
    assert end.value.code == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "contains a finished run" in line


@pytest.mark.parametrize(("name", "problem"), [("mails.tsv", "mails.tsv"), ("travel_dsk", "travel_desk")])
def test_unreadable_data_is_reported(name, problem, tmp_path, monkeypatch, capsys):
    with pytest.raises(SystemExit) as end:
        run(EXAMPLES / "classify_text.py", tmp_path / "run", monkeypatch, "--data", name)
    assert end.value.code == 2
    assert problem in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
