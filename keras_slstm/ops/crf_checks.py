"""Checks labels and sample weights against the output of a CRF."""

from __future__ import annotations

from collections.abc import Mapping, Set
from numbers import Integral

import keras
from keras import ops

from keras_slstm.ops.backend.eager import runs_torch_eagerly
from keras_slstm.ops.backend.value_checks import check_values
from keras_slstm.ops.crf import UNKNOWN, Potentials
from keras_slstm.types import Tensor


def check_ignore_class(value: int | None) -> int | None:
    """Return `value`, or raise ValueError if it is neither an integer nor None."""
    if value is not None and (not isinstance(value, Integral) or isinstance(value, bool)):
        raise ValueError(f"`ignore_class` must be an integer or None, but got {value!r}.")
    return None if value is None else int(value)


def replace_class(labels: Tensor, ignore_class: int | None) -> Tensor:
    """Replace `ignore_class` by `UNKNOWN`."""
    labels = _as_signed(labels)
    if ignore_class is None:
        return labels
    return ops.where(labels == ignore_class, ops.full_like(labels, UNKNOWN), labels)


def check_labels(potentials: Potentials, labels: Tensor, unknown: bool = True) -> tuple[Tensor, Tensor | None]:
    """Convert labels to int32 and check them.

    Args:
        potentials: The potentials of the same words.
        labels: `(batch, time)`, numbers.
        unknown: Whether -1, an unknown label, is valid.

    Returns:
        The labels, and whether all labels of a sentence are valid, `(batch,)` bool; None if they are known to be.

    Raises:
        ValueError: If the shape is wrong, or a label does not exist and its value is known here.
    """
    return check_word_labels(labels, potentials.unary.shape[2], potentials.mask, unknown)


def check_word_labels(labels: Tensor, number: int, mask: Tensor, unknown: bool = True) -> tuple[Tensor, Tensor | None]:
    """Like `check_labels`, without potentials.

    Args:
        labels: `(batch, time)`, numbers.
        number: The number of labels.
        mask: `(batch, time)` bool, True where labels are checked.
        unknown: Whether -1, an unknown label, is valid.
    """
    labels = _as_signed(labels)
    _check_shape("labels", labels, mask, ranks=(2,))
    least = UNKNOWN if unknown else 0
    if runs_torch_eagerly(labels, mask) and not labels.is_meta:
        found = labels.int()
        # The fast check: few operations, and no message.
        if bool((((found >= least) & (found < number) & (found == labels)) | ~mask).all()):
            return found, None
    valid = (labels >= least) & (labels < number)
    if keras.backend.is_float_dtype(labels.dtype):
        valid = valid & (labels == ops.floor(labels))
    expected = f"labels from 0 to {number - 1}"
    if unknown:
        expected += f", or {UNKNOWN} for an unknown one"
    found = check_values(labels, valid | ~mask, expected)
    return ops.cast(labels, "int32"), None if found is None else ops.all(found, axis=1)


def check_weights(weights: Tensor, mask: Tensor) -> tuple[Tensor, Tensor | None]:
    """Convert sample weights to a tensor and check them.

    Args:
        weights: `(batch,)`, `(batch, 1)` or `(batch, time)`.
        mask: `(batch, time)`.

    Returns:
        The weights, `(batch,)` or `(batch, time)`, and whether all weights of a sentence are finite and not negative,
        `(batch,)` bool; None if they are known to be.

    Raises:
        ValueError: If the shape is wrong, or a weight is negative or not finite and its value is known here.
    """
    weights = _as_tensor("sample weights", weights)
    if len(weights.shape) == 2 and weights.shape[1] == 1:
        weights = weights[:, 0]
    _check_shape("sample weights", weights, mask, ranks=(1, 2))
    if not keras.backend.is_float_dtype(weights.dtype):
        weights = ops.cast(weights, "float32")
    if len(weights.shape) == 2:  # ignore the weights of masked positions
        weights = ops.where(mask, weights, ops.zeros_like(weights))
    found = check_values(weights, (weights >= 0) & ops.isfinite(weights), "sample weights that are finite and >= 0")
    return weights, ops.all(found, axis=1) if found is not None and len(weights.shape) == 2 else found


def _as_signed(labels: Tensor) -> Tensor:
    """Convert labels to a tensor whose dtype can represent -1."""
    labels = _as_tensor("labels", labels)
    dtype = keras.backend.standardize_dtype(labels.dtype)
    return ops.cast(labels, "int32") if dtype == "bool" or dtype.startswith("uint") else labels


def _as_tensor(name: str, x: Tensor) -> Tensor:
    """Convert an array to a tensor; raise ValueError for anything else, such as a dict."""
    if isinstance(x, (Mapping, Set, str)):
        raise ValueError(f"Expected {name} as one array, but got a {type(x).__name__}: {x!r}.")
    return ops.convert_to_tensor(x)


def _check_shape(name: str, x: Tensor, mask: Tensor, ranks: tuple[int, ...]) -> None:
    """Raise ValueError unless the shape of `x` equals the mask's shape, or its first axes."""
    shape, expected = tuple(x.shape), tuple(mask.shape)
    known = [pair for pair in zip(shape, expected) if all(isinstance(size, int) for size in pair)]
    if len(shape) not in ranks or any(size != wanted for size, wanted in known):
        shapes = {1: f"(batch,) = {expected[:1]}", 2: f"(batch, time) = {expected}"}
        allowed = " or ".join(shapes[rank] for rank in ranks)
        raise ValueError(f"Expected {name} of shape {allowed}, but got {name} of shape {shape}.")
