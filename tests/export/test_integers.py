"""The quantisation recipe makes small files that predict the same labels."""

import importlib.util
import json
from pathlib import Path

import keras
import numpy as np
import pytest

import keras_slstm

RECIPE = Path(__file__).parents[2] / "docs" / "guides" / "recipes" / "quantize.py"
LARGE = 1000  # elements


@pytest.mark.ci_run("torch")
@pytest.mark.short_run
@pytest.mark.backends("tensorflow", "torch")
def test_quantised_classifier_keeps_its_accuracy(tmp_path):
    onnx = pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    if keras.backend.backend() == "tensorflow":
        pytest.importorskip("tf2onnx")
    keras.utils.set_random_seed(0)
    corpus = keras_slstm.datasets.load_corpus("travel_desk")
    model = keras_slstm.SentenceClassifier(
        corpus.label_names, encoder="slstm", units=96, embedding_dim=96, encoder_options={"steps": 2}
    )
    model.adapt(corpus.train.texts)
    model.compile(keras.optimizers.Adam(0.01), jit_compile=False)
    model.fit(corpus.train.texts[:2400], corpus.train.labels[:2400], epochs=2, batch_size=16, verbose=0)
    floats, integers = tmp_path / "floats.onnx", tmp_path / "integers.onnx"
    model.export(floats, format="onnx")
    spec = importlib.util.spec_from_file_location("quantize", RECIPE)
    recipe = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(recipe)
    recipe.quantize(str(floats), str(integers))

    graph = onnx.load(integers).graph
    matrices = [each for each in graph.initializer if each.data_type == onnx.TensorProto.FLOAT and len(each.dims) > 1]
    assert not [each.name for each in matrices if np.prod(each.dims) > LARGE]
    assert integers.stat().st_size < floats.stat().st_size / 2.5
    about = json.loads(integers.with_suffix(".json").read_text(encoding="utf-8"))
    assert about["label_names"] == list(model.labels)

    sessions = [onnxruntime.InferenceSession(file) for file in (floats, integers)]
    right = np.zeros(2)
    for inputs, labels in model.batches(corpus.test.texts, corpus.test.labels, shuffle=False, batch_size=64):
        words = np.asarray(inputs["words"] if isinstance(inputs, dict) else inputs, "int32")
        for i, session in enumerate(sessions):
            (probabilities,) = session.run(None, {"words": words})
            right[i] += np.sum(np.argmax(probabilities, axis=-1) == labels)
    accuracy = right / len(corpus.test)
    assert accuracy[0] > 0.5  # the commonest of twelve labels has a tenth of the requests
    assert abs(accuracy[0] - accuracy[1]) <= 0.005, accuracy
