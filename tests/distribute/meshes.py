"""Models on one device of JAX and on meshes of four: `XLA_FLAGS=... python -m tests.distribute.meshes FILE`."""

from __future__ import annotations

import sys
from typing import Any

import keras
import numpy as np

import keras_slstm
from keras_slstm import distribute
from tests.distribute.programs import LABELS, WORDS, Arrays, collect, fix_weights, sentences

UNITS = 4
MODELS = ("SLSTM", "CASLSTM", "SuBiLSTM", "DepthAdaptiveGRN", "CRF")
WAYS = ("data", "model")


def build(name: str) -> keras.Model:
    """A classifier with an encoder, or a tagger with a CRF behind an S-LSTM."""
    encoder = "SLSTM" if name == "CRF" else name
    keras.utils.set_random_seed(0)  # a DepthAdaptiveGRN draws depths
    layers: list[Any] = [
        keras.Input((None,), dtype="int32"),
        keras.layers.Embedding(WORDS, 6, mask_zero=True),
        getattr(keras_slstm, encoder)(UNITS, return_sequences=True),
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
    """Two epochs; the last batch has two rows, for four devices."""
    x, y, weights = sentences(10)
    y = x % LABELS if name == "CRF" else y
    model = build(name)
    history = distribute.fit(model, x, y, sample_weight=weights, batch_size=8, epochs=2, shuffle=False, verbose=0)
    found = collect(name, model, history)
    found[f"{name}/evaluate"] = distribute.evaluate(model, x, y, batch_size=8, verbose=0)
    found[f"{name}/predict"] = distribute.predict(model, x, batch_size=8, verbose=0)
    return found, model


def distribution(way: str) -> Any:
    """Rows divided among four devices, or rows and weights among two by two."""
    devices = keras.distribution.list_devices()
    if way == "data":
        return keras.distribution.DataParallel(devices=devices, auto_shard_dataset=False)
    mesh = keras.distribution.DeviceMesh((2, 2), ("batch", "model"), devices)
    layouts = distribute.layout_map(mesh)
    return keras.distribution.ModelParallel(layout_map=layouts, batch_dim_name="batch", auto_shard_dataset=False)


def main(file: str) -> None:
    found: Arrays = {}
    for way in ("one", *WAYS):
        for name in MODELS:
            keras.backend.clear_session()  # the same names of layers, and no distribution
            keras.distribution.set_distribution(None if way == "one" else distribution(way))
            arrays, model = train(name)
            found |= {f"{way}/{key}": value for key, value in arrays.items()}
            split = [w.path for w in model.weights if w.value.addressable_shards[0].data.shape != w.shape]
            found[f"split/{way}/{name}"] = np.array(split, str)
    np.savez(file, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
