"""Public functions of the output of a `CRF` layer (`potentials`); `keras_slstm/ops/crf.py` has the equations.

The chain skips masked positions. All results are in at least float32.
"""

from __future__ import annotations

from typing import Any

from keras import ops

from keras_slstm.ops.backend.value_checks import nan_unless
from keras_slstm.ops.crf import FORBIDDEN, PENALTY, Potentials, restricted
from keras_slstm.ops.crf_beam import beam_labels
from keras_slstm.ops.crf_checks import check_labels
from keras_slstm.ops.crf_k_best import k_best_labels
from keras_slstm.ops.crf_potentials import unpack, words_shape
from keras_slstm.ops.kernels import addons
from keras_slstm.ops.kernels.crf_forward_backward import log_likelihood, log_partition, sequence_score
from keras_slstm.ops.kernels.crf_log_space import incoming, marginals, outgoing
from keras_slstm.ops.kernels.viterbi import best_labels
from keras_slstm.ops.masks import is_first
from keras_slstm.ops.positions import index_before, take_words
from keras_slstm.types import Tensor
from keras_slstm.validation import check_integer


def crf_log_partition(potentials: Tensor) -> Tensor:
    """The log-partition function: log of the sum of exp(score) over all label sequences.

    Args:
        potentials: The output of a `CRF` layer.

    Returns:
        `(batch,)`; 0 for a sentence without a word.

    Raises:
        ValueError: If `potentials` cannot be the output of a `CRF` layer.
    """
    parts = unpack_potentials(potentials)
    return ops.sum(parts.unary, axis=(1, 2)) if _is_empty(parts) else log_partition(parts)


def crf_sequence_score(potentials: Tensor, labels: Tensor) -> Tensor:
    """The score of one label sequence per sentence.

    Args:
        potentials: The output of a `CRF` layer.
        labels: `(batch, time)`, from 0 to K - 1; values at masked positions are ignored.

    Returns:
        `(batch,)`. A forbidden label or transition scores -10,000.

    Raises:
        ValueError: If the shapes do not match, or a label does not exist. A `tf.function` raises
            `tf.errors.InvalidArgumentError`; under XLA and `torch.compile`, the result is NaN.
    """
    parts = unpack_potentials(potentials)
    labels, valid = check_labels(parts, labels, unknown=False)
    if _is_empty(parts):
        return ops.sum(parts.unary, axis=(1, 2))
    return nan_unless(valid, sequence_score(parts, labels))


def crf_log_likelihood(potentials: Tensor, labels: Tensor) -> Tensor:
    """The log-probability of the labels of each sentence.

    Args:
        potentials: The output of a `CRF` layer.
        labels: `(batch, time)`, from 0 to K - 1, or -1 for an unknown label, over which the probability is summed.
            Values at masked positions are ignored.

    Returns:
        `(batch,)`; about -10,000 for each forbidden label or transition.

    Raises:
        ValueError: As `crf_sequence_score`.
    """
    parts = unpack_potentials(potentials)
    labels, valid = check_labels(parts, labels)
    if _is_empty(parts):
        return ops.sum(parts.unary, axis=(1, 2))
    compute = addons.log_likelihood if addons.has_axis(potentials) else log_likelihood
    return nan_unless(valid, compute(parts, labels))


def crf_token_log_likelihood(potentials: Tensor, labels: Tensor) -> Tensor:
    """The log-probability of each label given the labels before it; the sum is `crf_log_likelihood`.

    Args:
        potentials, labels: As in `crf_log_likelihood`.

    Returns:
        `(batch, time)`; 0 at masked positions.

    Raises:
        ValueError: As `crf_sequence_score`.
    """
    parts = unpack_potentials(potentials)
    labels, valid = check_labels(parts, labels)
    if _is_empty(parts):
        return ops.sum(parts.unary, axis=2)
    known = restricted(parts, labels)
    before, after = incoming(known), outgoing(parts)
    found = ops.logsumexp(before + known.unary + after, axis=2) - ops.logsumexp(before + parts.unary + after, axis=2)
    found = ops.where(found < FORBIDDEN / 2, ops.full_like(found, PENALTY), found)
    return nan_unless(valid, ops.where(parts.mask, found, ops.zeros_like(found)))


def crf_decode(potentials: Tensor) -> Tensor:
    """The best label sequence of each sentence (Viterbi).

    Args:
        potentials: The output of a `CRF` layer, for instance from `model.predict`.

    Returns:
        `(batch, time)` int32; 0 at masked positions.

    Raises:
        ValueError: If `potentials` cannot be the output of a `CRF` layer.

    Example:

    ```python
    model = keras.Sequential([keras.Input((None, 50)), keras_slstm.CRF(9)])
    labels = keras_slstm.crf_decode(model.predict(np.zeros((2, 7, 50))))
    ```
    """
    parts = unpack_potentials(potentials)
    if _is_empty(parts):
        return ops.zeros_like(parts.mask, dtype="int32")
    return (addons.decode if addons.has_axis(potentials) else best_labels)(parts)


def crf_k_best(
    potentials: Tensor, k: int, margin: float | None = None, beam: int | None = None
) -> tuple[Tensor, Tensor]:
    """The k best label sequences of each sentence, best first.

    Args:
        potentials: The output of a `CRF` layer.
        k: The number of sequences, at least 1.
        margin: The largest difference from the best score; None for no limit.
        beam: The beam width, at least k, of an approximate search for many labels K. It takes memory for `beam * K`
            numbers per sentence, the exact search (None) for `k * K^2`.

    Returns:
        The sequences, `(batch, k, time)` int32, 0 at masked positions, and their scores, `(batch, k)`. If fewer than k
        sequences are allowed and within the margin, the rest are 0, with the score -inf.

    Raises:
        ValueError: If `potentials` cannot be the output of a `CRF` layer, or another argument is out of range.
    """
    parts = unpack_potentials(potentials)
    k = check_integer("k", k, least=1)
    if margin is not None and not margin >= 0:
        raise ValueError(f"`margin` must be a number >= 0 or None, but got {margin!r}.")
    if beam is not None:
        beam = check_integer("beam", beam, least=k)
    if _is_empty(parts):
        batch, time, _ = ops.shape(parts.unary)
        zeros = ops.zeros((batch, k), parts.unary.dtype)
        # A row without a word has a single, empty sequence.
        return ops.zeros((batch, k, time), "int32"), ops.where(ops.arange(k) > 0, -float("inf"), zeros)
    paths, scores = k_best_labels(parts, k) if beam is None else beam_labels(parts, k, beam)
    if margin is None:
        return paths, scores
    near = scores >= scores[:, :1] - margin
    paths = ops.where(near[..., None], paths, ops.zeros_like(paths))
    return paths, ops.where(near, scores, ops.full_like(scores, -float("inf")))


def crf_marginals(potentials: Tensor) -> Tensor:
    """The probability of each label at each word.

    Args:
        potentials: The output of a `CRF` layer.

    Returns:
        `(batch, time, K)`; 0 at masked positions.

    Raises:
        ValueError: If `potentials` cannot be the output of a `CRF` layer.
    """
    parts = unpack_potentials(potentials)
    return parts.unary if _is_empty(parts) else marginals(parts)


def crf_entropy(potentials: Tensor) -> Tensor:
    """The entropy of the distribution over all label sequences, in nats.

    Args:
        potentials: The output of a `CRF` layer.

    Returns:
        `(batch,)`; 0 for a sentence without a word.

    Raises:
        ValueError: If `potentials` cannot be the output of a `CRF` layer.
    """
    parts = unpack_potentials(potentials)
    unary, transitions, mask = parts
    if _is_empty(parts):
        return ops.sum(unary, axis=(1, 2))
    # The entropy of the first label, and of each label given the one before it.
    onward = unary + outgoing(parts)
    first = _entropy(onward)
    given = _entropy((transitions if parts.pairwise else transitions[None, None]) + onward[:, :, None, :])
    later = ops.sum(take_words(marginals(parts), index_before(mask)) * given, axis=2)
    return ops.sum(ops.where(is_first(mask), first, ops.where(mask, later, ops.zeros_like(later))), axis=1)


def unpack_potentials(potentials: Tensor) -> Potentials:
    """Unpack the scores and the mask from the output of a `CRF` layer, in at least float32.

    Raises:
        ValueError: If `potentials` cannot be the output of a `CRF` layer.
    """
    return unpack(addons.remove_axis(ops.convert_to_tensor(potentials)))


def labels_shape(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the shape of the labels, `(batch, time)`, given the output shape of a `CRF` layer.

    Raises:
        ValueError: If it cannot be the output shape of a `CRF` layer.
    """
    return words_shape(addons.shape_without_axis(shape))


def _is_empty(potentials: Potentials) -> bool:
    """Whether the batch is known to have no rows or no words: Keras' maximum rejects empty tensors."""
    return 0 in potentials.unary.shape


def _entropy(scores: Tensor) -> Tensor:
    """The entropy of the softmax over the last axis."""
    logs = scores - ops.logsumexp(scores, axis=-1, keepdims=True)
    return -ops.sum(ops.exp(logs) * logs, axis=-1)
