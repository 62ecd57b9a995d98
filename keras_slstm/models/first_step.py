"""Shortens the wait for the first training step on TensorFlow."""

from __future__ import annotations

from typing import Any

import keras


def create_variables(model: keras.Model, batch: Any) -> None:
    """Create the variables of a model's optimizer and metrics before TensorFlow traces the training step.

    Otherwise the first trace creates them, and TensorFlow traces the step a second time. Other backends, and Keras
    under a distribution strategy, create them before.

    Args:
        model: A model. If it is not compiled, nothing happens, and Keras raises its own error.
        batch: `(x, y)` or `(x, y, sample_weight)`, one batch of its data. The first example is read.
    """
    if keras.backend.backend() != "tensorflow":
        return
    if not model.compiled or model.run_eagerly or model.train_function is not None:
        return
    import tensorflow as tf

    if tf.distribute.has_strategy() or model.distribute_strategy is not tf.distribute.get_strategy():
        return
    x, y, *weight = keras.tree.map_structure(lambda part: keras.ops.convert_to_tensor(part[:1]), batch)
    model.compute_metrics(x, y, model(x, training=False), *weight)
    if not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)
