"""Compares the CRF with tensorflow-addons and prints the largest relative differences. `test_addons` runs it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

import keras_slstm
from keras_slstm.ops.crf_potentials import pack
from keras_slstm.ops.kernels import addons

K, BATCH, TIME, FEATURES = 4, 12, 7, 5
rng = np.random.default_rng(0)
LENGTHS = np.array([7, 1, 5, 3, 2, 7, 6, 4, 1, 2, 3, 7])
UNARY, TRANSITIONS = rng.normal(size=(BATCH, TIME, K)), rng.normal(size=(K, K))
LABELS = rng.integers(0, K, (BATCH, TIME)).astype("int32")
H = rng.normal(size=(BATCH, TIME, FEATURES)).astype("float32")
RIGHT = np.arange(TIME) < LENGTHS[:, None]
# The same words in the same order, with masked positions before, between and after them, and a fully masked row.
ANYWHERE = np.array([rng.permutation(row) for row in RIGHT])
ANYWHERE[1] = False


def difference(found, expected) -> float:
    found, expected = (np.asarray(x, "float64") for x in (found, expected))
    return float(np.max(np.abs(found - expected) / np.maximum(1, np.abs(expected))))


def likelihood_and_gradients(function):
    """Return a function of unary scores and transitions that also returns its gradients."""
    unary, transitions = tf.constant(UNARY, "float32"), tf.constant(TRANSITIONS, "float32")
    with tf.GradientTape() as tape:
        tape.watch((unary, transitions))
        value = function(unary, transitions)
        total = tf.reduce_sum(value * tf.range(1.0, BATCH + 1))
    return value, *tape.gradient(total, (unary, transitions))


def of_engine(mask, labels=LABELS):
    return lambda unary, transitions: keras_slstm.crf_log_likelihood(
        pack(tf.where(mask[..., None], unary, 0), transitions, tf.constant(mask))[..., None], labels
    )


def of_ours(mask, labels=LABELS):
    return lambda unary, transitions: keras_slstm.crf_log_likelihood(
        pack(tf.where(mask[..., None], unary, 0), transitions, tf.constant(mask)), labels
    )


def compare_functions(text) -> dict[str, float]:
    found = {}
    real = likelihood_and_gradients(lambda u, t: text.crf_log_likelihood(u, LABELS, LENGTHS.astype("int32"), t)[0])
    decoded, _ = text.crf_decode(tf.constant(UNARY), tf.constant(TRANSITIONS), LENGTHS.astype("int32"))
    for kind, make in (("ours", of_ours), ("engine", of_engine)):
        names = ("likelihood", "gradient by scores", "gradient by transitions")
        for name, one, other in zip(names, likelihood_and_gradients(make(RIGHT)), real, strict=True):
            found[f"{name}: {kind}"] = difference(one, other)
        packed = pack(*map(tf.constant, (np.where(RIGHT[..., None], UNARY, 0), TRANSITIONS, RIGHT)))
        labels = keras_slstm.crf_decode(packed if kind == "ours" else packed[..., None])
        found[f"decoding: {kind}"] = difference(labels, np.where(RIGHT, decoded, 0))
    # Features that addons lacks: masks anywhere, partly known labels.
    for one, other in zip(*(likelihood_and_gradients(make(ANYWHERE)) for make in (of_engine, of_ours)), strict=True):
        found["likelihood: engine"] = max(found["likelihood: engine"], difference(one, other))
    known = np.where(rng.random(LABELS.shape) < 0.5, LABELS, -1).astype("int32")
    pairs = zip(*(likelihood_and_gradients(make(ANYWHERE, known)) for make in (of_engine, of_ours)), strict=True)
    found["likelihood of labels known in part: engine"] = max(difference(*pair) for pair in pairs)
    return found


def compare_training() -> float:
    """Compare the weights of both engines after a few steps of `fit`."""

    def train(engine: str) -> list[np.ndarray]:
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.Input((None, FEATURES)), keras_slstm.CRF(K, engine=engine)])
        model.compile(keras.optimizers.SGD(0.1), loss=keras_slstm.CRFLoss(), jit_compile=False)
        model.fit(H, LABELS, epochs=3, batch_size=4, shuffle=False, verbose=0)
        return model.get_weights()

    return max(map(difference, train("addons"), train("keras")))


def compare_layers(tfa, folder: Path) -> dict[str, float]:
    """Compare a layer of addons with ours after loading its weights, live or from a file of Keras 2."""
    import tf_keras

    def make(**options):
        inputs = tf_keras.Input((None, FEATURES))
        layer = tfa.layers.CRF(K, boundary_initializer="random_normal", **options)
        model = tf_keras.Model(inputs, layer(inputs))
        if options.get("use_boundary", True):  # an unseeded initialiser draws equal values for both
            layer.left_boundary.assign(np.arange(K) - 1.5)
            layer.right_boundary.assign(1.0 - np.arange(K) ** 2)
        return layer, model

    def differences(layer, model, source) -> float:
        decoded, potentials, _, chain = model(H)
        ours = keras_slstm.CRF.from_addons(source)
        found = ours(H)
        expected = tfa.text.crf_log_likelihood(potentials, LABELS, np.full(BATCH, TIME, "int32"), chain)[0]
        return max(
            difference(keras_slstm.crf_log_likelihood(found, LABELS), expected),
            difference(keras_slstm.crf_decode(found), decoded),
        )

    layer, model = make()
    model.save_weights(folder / "crf.h5")
    model.save_weights(folder / "crf.weights.h5")
    model.save_weights(folder / "checkpoint")
    plain_layer, plain = make(use_boundary=False)
    return {
        "from_addons: layer": differences(layer, model, layer),
        "from_addons: h5": differences(layer, model, folder / "crf.h5"),
        "from_addons: weights.h5": differences(layer, model, folder / "crf.weights.h5"),
        "from_addons: checkpoint": differences(layer, model, folder / "checkpoint"),
        "from_addons: without boundary": differences(plain_layer, plain, plain_layer),
    }


if __name__ == "__main__":
    tfa = addons.load()
    found = compare_functions(tfa.text)
    found["trained weights: engine"] = compare_training()
    found |= compare_layers(tfa, Path(sys.argv[1]))
    print(json.dumps(found))
