"""The CRF engine `"addons"`: runs tensorflow-addons under Keras 3 on this package's potentials.

The last release of tensorflow-addons, 0.23, needs Python < 3.12 and TensorFlow < 2.16.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import keras
from keras import ops

from keras_slstm.extras import require
from keras_slstm.ops.crf import FORBIDDEN, PENALTY, Potentials
from keras_slstm.ops.positions import take_words
from keras_slstm.types import Tensor


def load() -> ModuleType:
    """Import tensorflow-addons alongside Keras 3.

    It needs `tensorflow.keras` to be Keras 2 (the package `tf-keras`): set TF_USE_LEGACY_KERAS=1.

    Returns:
        The module `tensorflow_addons`.

    Raises:
        ImportError: If it or `tf-keras` is not installed, or `tensorflow.keras` is Keras 3.
        ValueError: If Keras runs on another backend than TensorFlow.
    """
    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            f"tensorflow-addons runs on the TensorFlow backend, but Keras runs on {keras.backend.backend()!r}."
        )
    if "tensorflow_addons" in sys.modules:
        return sys.modules["tensorflow_addons"]
    if sys.version_info >= (3, 12):
        raise ImportError(f"tensorflow-addons needs Python 3.11, but this is {sys.version.split()[0]}.")
    require("tf_keras", "addons")
    import tensorflow  # noqa: F401  the import decides what `tensorflow.keras` is

    spec = importlib.util.find_spec("tensorflow.keras")
    if spec is None or "tf_keras" not in Path(spec.origin or "").parts:
        raise ImportError(
            "tensorflow-addons needs `tensorflow.keras` to be Keras 2, but it is Keras 3. Set the environment variable "
            "TF_USE_LEGACY_KERAS=1 before you import TensorFlow. (Keras itself stays Keras 3.)"
        )
    with _keras_of_addons(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns about its end of life and this TensorFlow version
        return require("tensorflow_addons", "addons")


@contextlib.contextmanager
def _keras_of_addons() -> Iterator[None]:
    """Redirect the Keras modules that tensorflow-addons imports to Keras 2."""
    names = ["keras.src.engine", "keras.src.engine.keras_tensor"]
    for name in names:
        sys.modules[name] = require("tf_" + name, "addons")
    try:
        yield
    finally:
        for name in names:
            del sys.modules[name]


def add_axis(potentials: Tensor) -> Tensor:
    """Append an axis of size 1, which makes the CRF functions use tensorflow-addons."""
    return potentials[..., None]


def shape_with_axis(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the shape with the appended axis."""
    return (*shape, 1)


def has_axis(potentials: Tensor) -> bool:
    """Whether these potentials have the axis that `add_axis` appends."""
    return tuple(potentials.shape) != shape_without_axis(potentials.shape)


def remove_axis(potentials: Tensor) -> Tensor:
    """Remove the appended axis, if there is one."""
    return ops.squeeze(potentials, axis=-1) if has_axis(potentials) else potentials


def shape_without_axis(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the shape without the appended axis, the only last axis of size 1."""
    return tuple(shape[:-1] if len(shape) == 4 and shape[-1] == 1 else shape)


def log_likelihood(potentials: Potentials, labels: Tensor) -> Tensor:
    """Compute `keras_slstm.crf_log_likelihood` with tensorflow-addons.

    Args:
        potentials: Potentials with a single transition matrix.
        labels: `(batch, time)` int32.
    """
    import tensorflow as tf

    text = load().text
    unary, transitions, lengths = _right_padded(potentials)
    labels = take_words(labels, _order(potentials.mask))
    k = unary.shape[2]
    mask = tf.sequence_mask(lengths, tf.shape(unary)[1])
    existing = (labels >= 0) & (labels < k)

    def of_known_labels() -> Tensor:
        bitmap = (labels[..., None] == tf.range(k)) | ~existing[..., None]
        score = text.crf_multitag_sequence_score(unary, bitmap, lengths, transitions)
        return score - text.crf_log_norm(unary, lengths, transitions)

    def of_labels() -> Tensor:
        return text.crf_log_likelihood(unary, tf.where(existing, labels, 0), lengths, transitions)[0]

    found = tf.cond(tf.reduce_any(mask & ~existing), of_known_labels, of_labels)
    found = tf.where(found < FORBIDDEN / 2, PENALTY * tf.round(found / FORBIDDEN), found)
    return tf.where(lengths > 0, found, tf.zeros_like(found))


def decode(potentials: Potentials) -> Tensor:
    """Compute `keras_slstm.crf_decode` with tensorflow-addons."""
    import tensorflow as tf

    text = load().text
    unary, transitions, lengths = _right_padded(potentials)
    labels, _ = text.crf_decode(unary, transitions, lengths)
    rank = tf.cumsum(tf.cast(potentials.mask, "int32"), axis=1) - 1  # of each word in its sentence
    labels = take_words(labels, tf.maximum(rank, 0))
    return tf.where(potentials.mask, labels, tf.zeros_like(labels))


def _right_padded(potentials: Potentials) -> tuple[Tensor, Tensor, Tensor]:
    """Return unary scores with real words first, as tensorflow-addons needs them, transitions and lengths."""
    unary, transitions, mask = potentials
    lengths = ops.sum(ops.cast(mask, "int32"), axis=1)
    return take_words(unary, _order(mask)), transitions, lengths


def _order(mask: Tensor) -> Tensor:
    """`(batch, time)`: the indices of each row's real words, then those of its padding."""
    import tensorflow as tf

    return tf.argsort(tf.cast(~mask, "int32"), axis=1, stable=True)
