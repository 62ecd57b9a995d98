"""Files of text models trained on PyTorch can be used where PyTorch is missing."""

import keras
import pytest

import keras_slstm
from tests.processes import run_python

pytestmark = [pytest.mark.backends("torch"), pytest.mark.short_run]

TEXTS = ["book a flight", "cancel the hotel"] * 8
LABELS = ["book", "cancel"] * 8


@pytest.mark.parametrize("optimizer", ["adam", keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1))])
def test_a_file_of_pytorch_is_trained_further_without_pytorch(tmp_path, optimizer):
    pytest.importorskip("jax")
    model = keras_slstm.SentenceClassifier(["book", "cancel"], encoder="cnn", units=2, embedding_dim=2)
    model.adapt(TEXTS)
    model.compile(optimizer)
    model.fit(TEXTS, LABELS, epochs=1, verbose=0)
    model.save(tmp_path / "model.keras")
    script = (
        "import sys, importlib.abc\n"
        "class WithoutTorch(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name.partition('.')[0] == 'torch':\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, WithoutTorch())\n"
        "import keras, keras_slstm\n"
        "model = keras.saving.load_model(sys.argv[1])\n"
        "before = int(model.optimizer.iterations)\n"
        "model.fit([sys.argv[2]], [model.labels[0]], verbose=0)\n"
        "print(before, int(model.optimizer.iterations))"
    )
    result = run_python("-c", script, tmp_path / "model.keras", TEXTS[0], KERAS_BACKEND="jax")
    assert result.returncode == 0, result.stderr
    before, after = map(int, result.stdout.split())
    assert (before, after) == (int(model.optimizer.iterations), before + 1)
