"""SavedModels that take strings work with TensorFlow Serving's REST interface, which a program here imitates."""

from __future__ import annotations

import json

import keras
import numpy as np
import pytest

import keras_slstm
from tests.processes import run_python

pytestmark = [pytest.mark.backends("tensorflow"), pytest.mark.short_run]

TEXTS = ["book a room", "cancel it", "", "cancel the room!"]
LABELS = ["book", "cancel"]
SMALL = {"encoder": "slstm", "units": 4, "embedding_dim": 4}
# Serving's rules: `instances` is a list of rows, each with the inputs by name or, if there is only one, its value;
# `inputs` is columnar. Row outputs need the batch as first dimension, and are bare if there is only one output. A name
# that ends in `_bytes` means base64.
SERVER = """
import json, sys
import tensorflow as tf

signatures = tf.saved_model.load(sys.argv[1]).signatures

def answer(body):
    function = signatures[body.get("signature_name", "serving_default")]
    specs = function.structured_input_signature[1]
    by_row = "instances" in body
    given = body["instances"] if by_row else body["inputs"]
    if by_row and specs:
        rows = [row if isinstance(row, dict) else dict(zip(specs, [row], strict=True)) for row in given]
        given = {name: [row[name] for row in rows] for name in specs}
    elif not isinstance(given, dict):
        given = dict(zip(specs, [given], strict=True))
    found = function(**{name: tf.constant(given[name], specs[name].dtype) for name in specs})
    assert not any(name.endswith("_bytes") for name in found)
    found = {name: json.loads(json.dumps(x.numpy().tolist(), default=bytes.decode)) for name, x in found.items()}
    if not by_row:
        return {"outputs": found if len(found) > 1 else next(iter(found.values()))}
    assert all(len(values) == len(body["instances"]) for values in found.values()), found
    rows = [dict(zip(found, values)) for values in zip(*found.values())]
    return {"predictions": rows if len(found) > 1 else [next(iter(row.values())) for row in rows]}

print(json.dumps([answer(body) for body in json.loads(sys.argv[2])]))
assert not any(name.startswith("keras_slstm") for name in sys.modules)
"""


def ask(folder, *requests):
    done = run_python("-c", SERVER, folder, json.dumps(requests), PYTHONPATH=None, TF_CPP_MIN_LOG_LEVEL="3")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def folder(tmp_path):
    if keras.backend.backend() != "tensorflow":
        pytest.skip("TensorFlow Serving takes what TensorFlow writes")
    return str(tmp_path / "1")  # Serving expects a version number


def test_classifier(folder):
    model = keras_slstm.SentenceClassifier(LABELS, **SMALL)
    model.adapt(TEXTS)
    model.export_text(folder)
    found = ask(folder, {"instances": TEXTS}, {"instances": [{"texts": TEXTS[1]}]}, {"inputs": TEXTS})
    probabilities = model.predict(TEXTS, verbose=0)
    rows = found[0]["predictions"]
    np.testing.assert_allclose([row["probabilities"] for row in rows], probabilities, atol=1e-5)
    assert [row["label"] for row in rows] == model.classify(TEXTS)
    np.testing.assert_allclose(found[1]["predictions"][0]["probabilities"], probabilities[1], atol=1e-5)
    np.testing.assert_allclose(found[2]["outputs"]["probabilities"], probabilities, atol=1e-5)


def test_pairs(folder):
    model = keras_slstm.SentencePairClassifier(LABELS, **SMALL)
    pairs = list(zip(TEXTS, TEXTS[::-1]))
    model.adapt(pairs)
    model.export_text(folder)
    (found,) = ask(folder, {"instances": [{"first": first, "second": second} for first, second in pairs]})
    given = [row["probabilities"] for row in found["predictions"]]
    np.testing.assert_allclose(given, model.predict(pairs, verbose=0), atol=1e-5)
    assert [row["label"] for row in found["predictions"]] == model.classify(pairs)


def test_tagger(folder):
    model = keras_slstm.SequenceTagger(LABELS, **SMALL)
    model.adapt([["cancel", "the", "room"], ["it"]])
    model.export_tokens(folder)
    (found,) = ask(folder, {"instances": [["cancel", "the", "room"], ["it", "", ""]]})
    labels = [row["labels"] for row in found["predictions"]]
    assert labels[1][1:] == ["", ""]
    assert [labels[0], labels[1][:1]] == model.tag([["cancel", "the", "room"], ["it"]])
