"""SavedModels that accept strings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import keras


def check_tensorflow(method: str) -> None:
    """Raise RuntimeError unless the backend is TensorFlow, the only one with string tensors."""
    if keras.backend.backend() != "tensorflow":
        raise RuntimeError(
            f"`{method}` needs the TensorFlow backend, but Keras runs on {keras.backend.backend()}. "
            "Save the model as a `.keras` file and load it with KERAS_BACKEND=tensorflow."
        )


def write_saved_model(
    filepath: str,
    model: keras.Model,
    tables: Sequence[Any],
    serve: Callable[..., dict[str, Any]],
    inputs: dict[str, Any],
    labels: Sequence[str],
) -> None:
    """Write a TensorFlow SavedModel that accepts strings.

    Its signature `serving_default` is `serve`. Its signature `labels` has no inputs and returns the label names in the
    order of the probabilities; the file `assets.extra/labels.txt` also contains them, one per line.

    Args:
        filepath: The folder to write.
        model: The model that `serve` calls.
        tables: The lookup tables that `serve` uses.
        serve: A function of string tensors.
        inputs: The shape of each of its arguments.
        labels: The label names; empty for a model that predicts scores.
    """
    import tensorflow as tf

    archive = keras.export.ExportArchive()
    archive.track(model)
    for table in tables:
        archive.track(table)
    signature = [tf.TensorSpec(shape, tf.string, name=name) for name, shape in inputs.items()]
    archive.add_endpoint("serve", serve, input_signature=signature)
    if labels:
        names = tf.constant(list(labels))
        archive.add_endpoint("labels", lambda: {"labels": names}, input_signature=[])
    archive.write_out(filepath, verbose=False)
    if labels:
        path = Path(filepath, "assets.extra", "labels.txt")  # the place for assets that no graph function reads
        path.parent.mkdir()
        path.write_text("".join(f"{label}\n" for label in labels), encoding="utf-8")
