"""Writes weights and decoded labels with the code of other CRFs on Keras 2. `test_foreign_weights` runs it.

Usage: `python -m tests.conformance.foreign_weights ORIGIN FILE FOLDER`.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf
import tf_keras

K, FEATURES, TIME = 4, 3, 6


def load(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("foreign", path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    assert spec.loader is not None
    spec.loader.exec_module(module)
    return module


def chain(path: str) -> tuple[Any, int]:
    inputs = tf_keras.Input((TIME, K))
    model = tf_keras.Model(inputs, load(path).ChainCRF()(inputs))
    return model, K


def contrib(path: str) -> tuple[Any, int]:
    # The layer imports Keras 2 as `keras`, and helpers that only its losses need.
    sys.modules["keras"] = tf_keras
    tf_keras.backend.slice = tf.slice  # later versions of Keras 2 lack it
    for name in ("activations", "backend", "constraints", "initializers", "layers", "regularizers"):
        sys.modules[f"keras.{name}"] = getattr(tf_keras, name)
    names = {
        "losses": ["crf_loss"],
        "metrics": ["crf_marginal_accuracy", "crf_viterbi_accuracy"],
        "utils.test_utils": [],
    }
    for part in ("", ".utils", *(f".{name}" for name in names)):
        module = sys.modules[f"keras_contrib{part}"] = ModuleType(f"keras_contrib{part}")
        for name in names.get(part[1:], []):
            setattr(module, name, None)
    sys.modules["keras_contrib.utils.test_utils"].to_tuple = tuple  # type: ignore[attr-defined]
    inputs = tf_keras.Input((TIME, FEATURES))
    # Without a mask, it counts a transition from the last word to label 0.
    return tf_keras.Model(inputs, load(path).CRF(K)(tf_keras.layers.Masking()(inputs))), FEATURES


def of_addons(path: str) -> tuple[Any, int]:
    from keras_slstm.ops.kernels import addons

    addons.load()
    module, inputs = load(path), tf_keras.Input((TIME, FEATURES))
    if hasattr(module, "CRFModel"):
        base = tf_keras.Model(inputs, tf_keras.layers.Activation("linear")(inputs))
        return module.CRFModel(base, K), FEATURES
    return tf_keras.Model(inputs, module.CRF(K)(inputs)), FEATURES


def main() -> None:
    origin, path, folder = sys.argv[1:]
    model, features = {"DeLFT": chain, "keras-contrib": contrib}.get(origin, of_addons)(path)
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=weight.shape) for weight in model.get_weights()]
    if origin == "keras-contrib":
        weights[-1] *= 0  # under a mask, the end scores have no effect and keep their initial values
    model.set_weights(weights)
    inputs = rng.normal(size=(8, TIME, features)).astype("float32")
    found = model.predict(inputs, verbose=0)
    labels = found[0] if isinstance(found, (list, tuple)) else np.argmax(found, axis=-1)
    model.save_weights(str(Path(folder) / "weights.h5"))
    np.savez(Path(folder) / "decoded.npz", inputs=inputs, labels=labels)


if __name__ == "__main__":
    main()
