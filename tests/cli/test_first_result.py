"""Commands give their first result without work that they do not need."""

from __future__ import annotations

import pytest

import keras_slstm
from keras_slstm.cli.main import main
from keras_slstm.cli.tasks.predict import FEW
from tests.backend import BACKEND
from tests.processes import run_python

IMPORTS = """
import importlib, sys
import keras_slstm.cli.tasks
import keras
names = ["sklearn", "matplotlib.pyplot", *([] if keras.backend.backend() == "jax" else ["jax"])]
print(*[name for name in names if name in sys.modules], sep=",")
for name in names:
    importlib.import_module(name)
"""
TEXTS = ["good food", "an awful room and dirty floors", "lovely staff"]


def test_commands_do_not_load_packages_for_the_parts_of_keras_that_they_do_not_use(tmp_path):
    for name in ("sklearn", "matplotlib", "jax"):
        pytest.importorskip(name)
    command = tmp_path / "keras-slstm.py"  # the name of the command, which imports Keras in its own way
    command.write_text(IMPORTS)
    done = run_python(command, KERAS_BACKEND=BACKEND)
    assert done.returncode == 0, done.stderr  # they can be imported later
    assert done.stdout.strip() == ""


@pytest.mark.backends("tensorflow")
@pytest.mark.parametrize(("texts", "traced"), [(3, False), (FEW, True)])
def test_a_graph_is_traced_for_many_texts_only(texts, traced, tmp_path, monkeypatch, capsys):
    model = keras_slstm.SentenceClassifier(["bad", "good"], units=4, embedding_dim=4)
    model.adapt(TEXTS)
    model.save(tmp_path / "model.keras")
    expected = model.classify(TEXTS)
    (tmp_path / "texts.txt").write_text("".join(f"{TEXTS[i % 3]}\n" for i in range(texts)))
    eager = []
    call = keras_slstm.SLSTM.call

    def noted(self, inputs, *args, **kwargs):
        eager.append(hasattr(inputs, "numpy"))
        return call(self, inputs, *args, **kwargs)

    monkeypatch.setattr(keras_slstm.SLSTM, "call", noted)
    assert main(["predict", str(tmp_path / "model.keras"), "--file", str(tmp_path / "texts.txt")]) == 0
    labels = [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()]
    assert labels == [expected[i % 3] for i in range(texts)]
    assert any(eager) != traced
