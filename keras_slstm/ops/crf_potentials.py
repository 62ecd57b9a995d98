"""The output of a CRF layer, one tensor, and what it holds: scores of labels and transitions, and the mask."""

from __future__ import annotations

from typing import NamedTuple

import keras
from keras import ops

from keras_slstm.ops.masks import zero_padding
from keras_slstm.ops.precision import accumulation_dtype
from keras_slstm.types import Tensor

# The score of what is forbidden: finite, but no sum of other scores comes near it. exp(FORBIDDEN - x) is exactly 0.
FORBIDDEN = -1e30
# What a forbidden step counts in the score of given labels, and a label that does not exist: a loss that is far beyond
# all others, and still leaves their sum readable.
PENALTY = -1e4


class Potentials(NamedTuple):
    """What a linear-chain CRF is made of.

    The score of a sequence of labels y_1 ... y_n of the n real words is

        sum_i unary_i[y_i] + sum_{i > 1} transitions[y_{i-1}, y_i]

    Attributes:
        unary: `(batch, time, labels)`: scores of labels at words; zero at masked positions. What the ends of a
            sentence add is part of them.
        transitions: `(labels, labels)`, [from, to]: the same at all words; or, in the pairwise form, `(batch, time,
            labels, labels)`: at each word, from the label of the real word before it. What stands there at the first
            real word has no meaning.
        mask: `(batch, time)` bool, True at real words.
    """

    unary: Tensor
    transitions: Tensor
    mask: Tensor

    @property
    def pairwise(self) -> bool:
        """Whether every word has transitions of its own."""
        return len(self.transitions.shape) == 4


def pack(unary: Tensor, transitions: Tensor, mask: Tensor) -> Tensor:
    """Potentials as one tensor, which passes through models, losses and files.

    Args:
        unary, transitions, mask: See `Potentials`; unary and transitions of one dtype.

    Returns:
        With unary scores and K labels `(batch, time + K, K + 1)`: a row for each word, with the mask in its last
        column, and below them the K rows of the transitions. In the pairwise form `(batch, time, K + 1, K + 1)`: for
        each word its transitions, below them its unary scores, and the mask in the last corner.
    """
    words = ops.concatenate([unary, ops.cast(mask, unary.dtype)[..., None]], axis=2)
    # Not `ops.pad`: in a RematScope on TensorFlow, it doubles the gradient of a variable.
    transitions = ops.concatenate([transitions, ops.zeros_like(transitions[..., :1])], axis=-1)
    if len(transitions.shape) == 4:
        return ops.concatenate([transitions, words[:, :, None]], axis=2)
    below = ops.broadcast_to(transitions, (ops.shape(unary)[0], *transitions.shape))
    return ops.concatenate([words, below], axis=1)


def unpack(potentials: Tensor) -> Potentials:
    """What `pack` has put together, in at least float32.

    Raises:
        ValueError: If the shape is not that of the output of a CRF layer.
    """
    potentials = ops.convert_to_tensor(potentials)
    check_potentials(potentials)
    if made_for_addons(potentials):
        potentials = ops.squeeze(potentials, axis=-1)
    dtype = accumulation_dtype(keras.backend.standardize_dtype(potentials.dtype))
    potentials = ops.cast(potentials, dtype)
    labels = potentials.shape[-1] - 1
    if len(potentials.shape) == 3:
        words = potentials[:, :-labels]
        # Those of the first sentence, as all have the same; a sum, since a batch may have none.
        transitions = ops.sum(potentials[:1, -labels:, :labels], axis=0)
    else:
        words = potentials[:, :, labels]
        transitions = potentials[:, :, :labels, :labels]
    mask = words[..., labels] > 0.5
    return Potentials(zero_padding(words[..., :labels], mask), transitions, mask)


def made_for_addons(potentials: Tensor) -> bool:
    """Whether a layer with `engine="addons"` has made them: these have one more axis, of size 1."""
    return len(potentials.shape) == 4 and potentials.shape[-1] == 1


def check_potentials(potentials: Tensor) -> None:
    """Raise ValueError where a tensor cannot be the output of a CRF layer."""
    given = tuple(potentials.shape)
    shape = given[:-1] if len(given) == 4 and given[-1] == 1 else given
    fits = len(shape) in (3, 4) and isinstance(shape[-1], int) and shape[-1] > 1
    if fits and len(shape) == 3:
        fits = not isinstance(shape[1], int) or shape[1] >= shape[2] - 1
    elif fits:
        fits = shape[2] == shape[3]
    if not fits:
        raise ValueError(
            "Expected the output of a `CRF` layer, (batch, time + labels, labels + 1), or in the pairwise form "
            f"(batch, time, labels + 1, labels + 1), but got a tensor of shape {given}."
        )
