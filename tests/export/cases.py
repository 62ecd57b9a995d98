"""The models of the export matrix, and batches of sentences for them."""

from __future__ import annotations

from collections.abc import Callable

import keras
import numpy as np
from keras import ops

import keras_slstm

FEATURES = 3
# Batch size, length, and the side of the padding. No model is traced at any of these shapes.
SHAPES = [(1, 1, "right"), (2, 5, "left"), (3, 12, "right"), (1, 17, "left"), (5, 3, "right")]


def _encoder(layer: Callable[[], keras.Layer]) -> Callable[[], keras.Model]:
    def build() -> keras.Model:
        x, mask = keras.Input((None, FEATURES), name="x"), keras.Input((None,), dtype="bool", name="mask")
        return keras.Model({"x": x, "mask": mask}, layer()(x, mask=mask))

    return build


def _decoder(**options: bool) -> Callable[[], keras.Model]:
    def build() -> keras.Model:
        x, mask = keras.Input((None, FEATURES), name="x"), keras.Input((None,), dtype="bool", name="mask")
        names = ("labels", "probabilities") if options else ("labels",)
        potentials = keras_slstm.CRF(4)(x, mask=mask)
        found = keras_slstm.CRFDecoder(**options)(potentials)
        return keras.Model({"x": x, "mask": mask}, dict(zip(names, keras.tree.flatten(found))))

    return build


def _bidirectional(layer: keras.Layer) -> keras.Layer:
    return keras.layers.Bidirectional(layer)


LAYERS: dict[str, Callable[[], keras.Model]] = {
    "SLSTM": _encoder(lambda: keras_slstm.SLSTM(4, steps=2, return_sequences=True)),
    "CASLSTM": _encoder(lambda: keras_slstm.CASLSTM(4, return_sequences=True)),
    "Bidirectional(CASLSTM)": _encoder(lambda: _bidirectional(keras_slstm.CASLSTM(4, return_sequences=True))),
    "SuBiLSTM": _encoder(lambda: keras_slstm.SuBiLSTM(4, return_sequences=True)),
    "SuBiLSTM(tied=False)": _encoder(lambda: keras_slstm.SuBiLSTM(4, tied=False)),
    "DepthAdaptiveGRN": _encoder(lambda: keras_slstm.DepthAdaptiveGRN(4, max_depth=3, return_sequences=True)),
    "CRFDecoder": _decoder(return_probabilities=True),
    "Keras' BiLSTM": _encoder(lambda: _bidirectional(keras.layers.LSTM(4, return_sequences=True, use_cudnn=False))),
}


def lengths(batch: int, time: int) -> np.ndarray:
    """Return the sentence lengths; the longest sentence fills the batch."""
    return np.maximum(time - 2 * np.arange(batch), 1)


def mask_of(batch: int, time: int, side: str) -> np.ndarray:
    mask = np.arange(time) < lengths(batch, time)[:, None]
    return mask if side == "right" else mask[:, ::-1].copy()


def vectors(model: keras.Model) -> list[dict[str, np.ndarray]]:
    """Return batches for a model of `LAYERS`."""
    random = np.random.default_rng(0)
    return [
        {
            "x": random.normal(size=(batch, time, FEATURES)).astype("float32"),
            "mask": mask_of(batch, time, side),
        }
        for batch, time, side in SHAPES
    ]


def randomize(model: keras.Model) -> None:
    """Give all weights random values, so that none is zero and no two labels are equally good."""
    random = np.random.default_rng(1)
    for weight in model.weights:
        if "float" in weight.dtype:
            weight.assign(random.normal(scale=0.5, size=weight.shape))


def expected(model: keras.Model, batches: list[dict[str, np.ndarray]]) -> list[dict[str, np.ndarray]]:
    """Return the outputs of a model for each batch, by name; a single unnamed output is called `0`."""
    found = [model(batch, training=False) for batch in batches]
    named = [each if isinstance(each, dict) else {"0": each} for each in found]
    return [{name: ops.convert_to_numpy(x) for name, x in each.items()} for each in named]
