"""Creates the variables of a model, its loss, metrics and optimizer before the first step."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import keras
import numpy as np

from keras_slstm.distribute.collectives import check_equal
from keras_slstm.distribute.fingerprint import describe_variable


def build(model: keras.Model, batch: tuple[Any, ...], learns: bool = True) -> None:
    """Create all variables of a model.

    Args:
        model: A model, compiled if `batch` holds labels.
        batch: Inputs, labels and weights, or specs with their shapes and dtypes. The number of rows is ignored.
        learns: Whether to create the variables of the optimizer as well.
    """

    def symbol(tensor: Any) -> keras.KerasTensor:
        tensor = tensor if hasattr(tensor, "dtype") else np.asarray(tensor)
        return keras.KerasTensor((None, *tensor.shape[1:]), keras.backend.standardize_dtype(tensor.dtype))

    _Build(model)(*keras.tree.map_structure(symbol, tuple(batch)))
    optimizer = getattr(model, "optimizer", None)
    if learns and optimizer is not None and not optimizer.built:
        optimizer.build(model.trainable_variables)


def seed_generators(model: keras.Model) -> list[Any]:
    """Return the states of the random generators of a model's layers: a seed and a counter."""
    return [v for v in model.variables if v.name == "seed_generator_state"]


def check_variable(path: str | None, shape: Any, dtype: Any, value: Any = None) -> None:
    """Check that all processes are about to create the same variable and, if `value` is given, with the same value.

    Raises:
        ProcessesDiffer: In all processes, if the variables or values differ. Without this check, a collective operation
            would fail or hang.
    """
    described = describe_variable(path or "", None if shape is None else tuple(shape), dtype)
    check_equal({"variable": described, f"initial {path}": value}, "variable")


class _Build(keras.Operation):
    """Calls a model, its loss and its metrics on symbolic tensors to create their variables."""

    def __init__(self, model: keras.Model):
        super().__init__()
        self.model = model

    def call(self, *batch: Any) -> Any:
        outputs = self.model(batch[0])
        if len(batch) > 1:
            labels_and_weights = dict(zip_longest(("y", "sample_weight"), batch[1:]))
            self.model.compute_loss(batch[0], y_pred=outputs, **labels_and_weights)
            self.model.compute_metrics(batch[0], y_pred=outputs, **labels_and_weights)
        return outputs
