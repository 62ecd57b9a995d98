"""A second-order CRF as a linear chain over label pairs, which the first-order kernels compute.

With K labels, the state of a word is the pair of the previous label and its own: `before * K + label`, where `before`
is K at the first word. Among the `K (K + 1)` states, only (b, c) may follow (a, b).
"""

from __future__ import annotations

import math

from keras import ops

from keras_slstm.ops.backend.value_checks import nan_unless
from keras_slstm.ops.crf import FORBIDDEN, Potentials, one_hot
from keras_slstm.ops.crf_checks import check_word_labels
from keras_slstm.ops.crf_functions import crf_decode, crf_log_partition, crf_marginals, unpack_potentials
from keras_slstm.ops.crf_potentials import pack
from keras_slstm.ops.masks import is_first
from keras_slstm.types import Tensor


def pair_potentials(unary: Tensor, first_order: Tensor, second_order: Tensor, mask: Tensor) -> Potentials:
    """The potentials of a linear chain over pairs of labels.

    Args:
        unary: `(batch, time, K)`, the label scores of each word.
        first_order: `(K, K)`, scores of a label after another one.
        second_order: `(K, K, K)`, scores of a label after two others.
        mask: `(batch, time)` bool.
    """
    K = unary.shape[2]
    begins = one_hot(ops.arange(K * (K + 1), dtype="int32") // K, K + 1)[:, K]
    impossible = ops.expand_dims(is_first(mask), -1) != begins
    states = ops.tile(unary, (1, 1, K + 1))
    states = ops.where(impossible, ops.full_like(states, FORBIDDEN), states)
    # [before, label, its label as `before`, next label]
    steps = ops.concatenate([second_order, ops.zeros_like(second_order[:1])], axis=0) + first_order
    steps = ops.expand_dims(steps, 2) + ops.zeros((1, 1, K + 1, 1), steps.dtype)
    follows = ops.reshape(one_hot(ops.arange(K, dtype="int32"), K + 1), (1, K, K + 1, 1))
    steps = ops.where(follows, steps, ops.full_like(steps, FORBIDDEN))
    return Potentials(states, ops.reshape(steps, (K * (K + 1), K * (K + 1))), mask)


def second_order_crf_log_likelihood(potentials: Tensor, labels: Tensor) -> Tensor:
    """The log-probability of the labels of each sentence.

    Args:
        potentials: The output of a `SecondOrderCRF` layer.
        labels: `(batch, time)`, from 0 to K - 1, or -1 for an unknown label, over which the probability is summed.
            Values at masked positions are ignored.

    Returns:
        `(batch,)`; 0 for a sentence without a word.

    Raises:
        ValueError: If the shapes do not match, or a label does not exist. A `tf.function` raises
            `tf.errors.InvalidArgumentError`; under XLA and `torch.compile`, the result is NaN.
    """
    parts = unpack_potentials(potentials)
    K = number_of_labels(potentials)
    labels, valid = check_word_labels(labels, K, parts.mask)
    agree = ops.tile(one_hot(labels, K), (1, 1, K + 1)) | ops.expand_dims((labels < 0) | ~parts.mask, -1)
    unary = ops.where(agree, parts.unary, ops.full_like(parts.unary, FORBIDDEN))
    known = crf_log_partition(pack(unary, parts.transitions, parts.mask))
    return nan_unless(valid, known - crf_log_partition(potentials))


def second_order_crf_decode(potentials: Tensor) -> Tensor:
    """The best label sequence of each sentence (Viterbi).

    Args:
        potentials: The output of a `SecondOrderCRF` layer, for instance from `model.predict`.

    Returns:
        `(batch, time)` int32; 0 at masked positions.

    Raises:
        ValueError: If `potentials` cannot be the output of a `SecondOrderCRF` layer.

    Example:

    ```python
    model = keras.Sequential([keras.Input((None, 50)), keras_slstm.SecondOrderCRF(9)])
    labels = keras_slstm.second_order_crf_decode(model.predict(np.zeros((2, 7, 50))))
    ```
    """
    return crf_decode(potentials) % number_of_labels(potentials)


def second_order_crf_marginals(potentials: Tensor) -> Tensor:
    """The probability of each label at each word.

    Args:
        potentials: The output of a `SecondOrderCRF` layer.

    Returns:
        `(batch, time, K)`; 0 at masked positions.

    Raises:
        ValueError: If `potentials` cannot be the output of a `SecondOrderCRF` layer.
    """
    K = number_of_labels(potentials)
    found = crf_marginals(potentials)
    return ops.sum(ops.reshape(found, (*ops.shape(found)[:2], K + 1, K)), axis=2)


def number_of_labels(potentials: Tensor) -> int:
    """Return K, given the output of a `SecondOrderCRF` layer, which has K (K + 1) states.

    Raises:
        ValueError: If it cannot be the output of a `SecondOrderCRF` layer.
    """
    shape = tuple(potentials.shape)
    states = shape[-1] - 1 if len(shape) == 3 and isinstance(shape[-1], int) else 0
    K = (math.isqrt(4 * states + 1) - 1) // 2
    if K < 1 or states != K * (K + 1):
        raise ValueError(
            "Expected the output of a `SecondOrderCRF` layer, (batch, time + K (K + 1), K (K + 1) + 1) for K labels, "
            f"but got a tensor of shape {shape}."
        )
    return K
