"""The comparison of settings between processes names every difference that matters, and no other."""

from __future__ import annotations

import json

import keras
import numpy as np
import pytest

from keras_slstm.distribute.fingerprint import describe_difference, describe_training, describe_versions, flatten
from keras_slstm.text.batches import TextBatches


class Scaled(keras.layers.Layer):
    """A layer defined in a script, so its code is hashed."""

    def call(self, inputs):
        return 2 * inputs


def describe(units=3, rate=0.1, loss="mse", activation="relu", data=None, compiled=True, **arguments):
    model = keras.Sequential(
        [keras.Input((2,)), keras.layers.Dense(units, activation=activation), Scaled(), keras.layers.Dropout(0.5)]
    )
    if compiled:
        model.compile(keras.optimizers.Adam(rate), loss, metrics=["mae"])
    return flatten(describe_training(model, data, {"epochs": 2, **arguments}))


@pytest.mark.parametrize("compiled", [True, False])
def test_the_same_program_has_the_same_description(compiled):
    first = describe(compiled=compiled)
    keras.layers.Dense(1)  # Keras numbers the layers of the second model differently
    assert json.loads(json.dumps(first)) == describe(compiled=compiled)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"units": 4}, "model.layers.1.config.units is 3 on"),
        ({"activation": "tanh"}, "config.activation is 'relu' on"),
        ({"rate": 0.2}, "optimizer.learning_rate is 0.1"),
        ({"rate": keras.optimizers.schedules.ExponentialDecay(0.2, 3, 0.5)}, "optimizer.learning_rate"),
        ({"loss": "mae"}, "compile.loss is 'mse' on process 0 (a:1) and 'mae' on process 1 (b:1)."),
        ({"epochs": 3}, "argument.epochs is 2 on process 0 (a:1) and 3 on process 1 (b:1)."),
        ({"batch_size": 3}, "argument.batch_size is not set on process 0 (a:1) and 3 on process 1 (b:1)."),
        ({"class_weight": {0: 2.0}}, "argument.class_weight.0 is not set on"),
        ({"data": TextBatches([[1], [2]], batch_size=1)}, "data.class is 'NoneType'"),
        ({"compiled": False}, "optimizer"),
    ],
)
def test_a_difference_is_named(change, name):
    assert name in describe_difference([describe(), describe(**change)], ["a:1", "b:1"])


def test_settings_of_batches_are_compared():
    one, other = (describe(data=TextBatches([[1], [2], [3]], batch_size=size)) for size in (2, 3))
    assert "data.batches is 2 on process 0 (a:1) and 1 on" in describe_difference([one, other], ["a:1", "b:1"])
    assert one["data.batch_size"] == 2


def test_the_code_of_layers_is_compared(tmp_path, monkeypatch):
    before = describe()
    changed = tmp_path / "changed.py"
    changed.write_text("other code", encoding="utf-8")
    monkeypatch.setattr(__import__("sys").modules[__name__], "__file__", str(changed))
    assert f"code.{__name__} is" in describe_difference([before, describe()], ["a:1", "b:1"])


def test_versions():
    found = flatten(describe_versions())
    backend = keras.backend.backend()
    assert found["version.backend"] == backend
    assert {f"version.{name}" for name in ("python", "keras", backend, "keras_slstm")} < set(found)
    assert len(found["version.code of keras_slstm"]) == 12


def test_processes_with_equal_values_are_grouped():
    found = [{"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 1}]
    assert describe_difference(found, ["x:1", "y:1", "z:1"]) == (
        "All processes must be started alike, but a is 1 on process 0 (x:1), process 2 (z:1) and 2 on process 1 (y:1). "
        "They differ in 1 more: b ..."
    )


def test_values_of_any_kind():
    class Thing:
        pass

    values = {
        "a": np.float32(0.5),
        "b": np.arange(3),
        "c": Thing,
        "d": Thing(),
        "e": keras.ops.ones(()),
        "f": [None, ()],
    }
    flat = flatten(values)
    assert json.loads(json.dumps(flat)) == flat == flatten(values)
    assert (flat["a"], flat["e"], flat["f.0"]) == (0.5, 1.0, None)
    assert flat["b"] != flatten({"b": np.arange(1, 4)})["b"]


@pytest.mark.parametrize("rows", [300, 10**6])
def test_matrices_and_vocabularies_are_compared_by_a_hash(rows):
    def describe(last):
        matrix = np.zeros((rows, 2))
        matrix[-1] = last
        embedding = keras.layers.Embedding(rows, 2, embeddings_initializer=keras.initializers.Constant(matrix))
        words = [*map(str, range(300)), last]
        return flatten(describe_training(keras.Sequential([embedding]), None, {"words": words}))

    assert len(describe(0.0)) < 100
    assert describe(0.0) == describe(0.0)
    difference = describe_difference([describe(0.0), describe(1.0)], ["a:1", "b:1"])
    assert "argument.words is '301 values" in difference
    assert ("config.value" in difference) == (rows == 300)
