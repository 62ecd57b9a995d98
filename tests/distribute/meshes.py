"""Models on one device of JAX and on meshes of four: `XLA_FLAGS=... python -m tests.distribute.meshes FILE`."""

from __future__ import annotations

import contextlib
import functools
import re
import sys
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

import keras_slstm
from keras_slstm import distribute
from keras_slstm.distribute.jax_loops import loops_on_own_rows
from tests.distribute.programs import LABELS, LENGTH, WORDS, Arrays, collect, fix_weights, sentences

UNITS = 4
ENCODERS: dict[str, Callable[..., keras.Layer]] = {
    "SLSTM": functools.partial(keras_slstm.SLSTM, steps=2),
    "CASLSTM": keras_slstm.CASLSTM,
    "SuBiLSTM": keras_slstm.SuBiLSTM,
    "DepthAdaptiveGRN": functools.partial(keras_slstm.DepthAdaptiveGRN, max_depth=2),
    "CRF": functools.partial(keras_slstm.SLSTM, steps=2),
}
OF_KERAS: dict[str, Callable[..., keras.Layer]] = {
    "LSTM": lambda *args, **options: keras.layers.Bidirectional(keras.layers.LSTM(*args, **options)),
    "GRU": lambda *args, **options: keras.layers.GRU(*args, dropout=0.3, **options),
}
MODELS = {"one": (*ENCODERS, *OF_KERAS), "data": ("SLSTM", "SuBiLSTM", *OF_KERAS), "model": tuple(ENCODERS)}


def build(name: str) -> keras.Model:
    """Build a classifier with an encoder, or a tagger with an S-LSTM and a CRF."""
    keras.utils.set_random_seed(0)  # a DepthAdaptiveGRN draws depths
    layers: list[Any] = [
        keras.Input((None,), dtype="int32"),
        keras.layers.Embedding(WORDS, 6, mask_zero=True),
        {**ENCODERS, **OF_KERAS}[name](UNITS, return_sequences=True),
    ]
    if name == "CRF":
        layers.append(keras_slstm.CRF(LABELS))
    else:
        layers += [keras_slstm.MaskedGlobalAveragePooling1D(), keras.layers.Dense(LABELS, activation="softmax")]
    model = keras.Sequential(layers)
    fix_weights(model)
    loss = keras_slstm.CRFLoss() if name == "CRF" else "sparse_categorical_crossentropy"
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9, global_clipnorm=0.3), loss)
    return model


def train(name: str) -> tuple[Arrays, keras.Model]:
    """Train for two epochs. The last batch has two rows, fewer than devices."""
    x, y, weights = sentences(10)
    y = x % LABELS if name == "CRF" else y
    model = build(name)
    history = distribute.fit(model, x, y, sample_weight=weights, batch_size=8, epochs=2, shuffle=False, verbose=0)
    found = collect(name, model, history)
    found[f"{name}/predict"] = distribute.predict(model, x, batch_size=10, verbose=0)
    return found, model


def distribution(way: str) -> Any:
    """Divide rows among four devices, or rows and weights among two by two."""
    devices = keras.distribution.list_devices()
    if way == "data":
        return keras.distribution.DataParallel(devices=devices, auto_shard_dataset=False)
    mesh = keras.distribution.DeviceMesh((2, 2), ("batch", "model"), devices)
    layouts = distribute.layout_map(mesh)
    return keras.distribution.ModelParallel(layout_map=layouts, batch_dim_name="batch", auto_shard_dataset=False)


def exchanges_in_loops(divides: bool) -> int:
    """Count the exchanges between devices in the compiled loops over time of an LSTM's gradient."""
    import jax

    keras.backend.clear_session()
    parallel = distribution("data")
    keras.distribution.set_distribution(parallel)
    model = keras.Sequential([keras.Input((LENGTH, 3)), keras.layers.LSTM(UNITS)])

    def loss(weights: Any, x: Any) -> Any:
        with loops_on_own_rows(model) if divides else contextlib.nullcontext():
            return model.stateless_call(weights, [v.value for v in model.non_trainable_variables], x)[0].sum()

    rows = jax.sharding.NamedSharding(parallel.device_mesh.backend_mesh, jax.sharding.PartitionSpec("batch"))
    x = jax.device_put(np.ones((8, LENGTH, 3), "float32"), rows)
    weights = [variable.value for variable in model.trainable_variables]
    text = jax.jit(jax.grad(loss)).lower(weights, x).compile().as_text()
    bodies = set(re.findall(r"body=%([\w.-]+)", text))
    assert bodies
    functions = re.findall(r"^%([\w.-]+) .*\{\n((?:  .*\n)*)", text, re.MULTILINE)
    return sum(code.count(" all-reduce(") for name, code in functions if name in bodies)


def main(file: str) -> None:
    found: Arrays = {}
    for way, names in MODELS.items():
        for name in names:
            keras.backend.clear_session()  # so that layers get the same names
            keras.distribution.set_distribution(None if way == "one" else distribution(way))
            arrays, model = train(name)
            found |= {f"{way}/{key}": value for key, value in arrays.items()}
            split = [w.path for w in model.weights if w.value.addressable_shards[0].data.shape != w.shape]
            found[f"split/{way}/{name}"] = np.array(split, str)
    found |= {f"exchanges/{divides}": exchanges_in_loops(divides) for divides in (False, True)}
    np.savez(file, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
