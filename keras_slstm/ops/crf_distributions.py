"""Public functions of a CRF's distribution over the label sequences of a sentence."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.ops.backend.scan import scan
from keras_slstm.ops.crf import FORBIDDEN, Potentials, is_forbidden, one_hot, softmax, time_first
from keras_slstm.ops.crf_functions import crf_marginals, unpack_potentials
from keras_slstm.ops.kernels.crf_log_space import incoming, marginals, outgoing
from keras_slstm.ops.masks import is_first
from keras_slstm.ops.positions import index_before, take_words
from keras_slstm.types import Tensor, Tensors
from keras_slstm.validation import check_integer


def crf_pair_marginals(potentials: Tensor) -> Tensor:
    """The probability of each pair of labels at each word and its predecessor.

    Args:
        potentials: The output of a `CRF` layer.

    Returns:
        `(batch, time, K, K)`, [from, to]; 0 at first words and masked positions.

    Raises:
        ValueError: If `potentials` cannot be the output of a `CRF` layer.
    """
    parts = unpack_potentials(potentials)
    if 0 in parts.unary.shape:
        return parts.unary[..., None] + parts.unary[..., None, :]
    before = take_words(incoming(parts) + parts.unary, index_before(parts.mask))
    scores = before[..., None] + _transitions(parts) + (parts.unary + outgoing(parts))[:, :, None, :]
    size = scores.shape[-1]
    flat = ops.reshape(scores, (*ops.shape(scores)[:2], size * size))
    found = ops.reshape(softmax(flat, axis=2), ops.shape(scores))
    later = (parts.mask & ~is_first(parts.mask))[..., None, None]
    return ops.where(later, found, ops.zeros_like(found))


def crf_expected_counts(potentials: Tensor) -> tuple[Tensor, Tensor]:
    """The expected number of each label, and of each pair of adjacent labels, in each sentence.

    Args:
        potentials: The output of a `CRF` layer.

    Returns:
        The counts of labels, `(batch, K)`, and of transitions, `(batch, K, K)`, [from, to].

    Raises:
        ValueError: If `potentials` cannot be the output of a `CRF` layer.
    """
    return ops.sum(crf_marginals(potentials), axis=1), ops.sum(crf_pair_marginals(potentials), axis=1)


def crf_kl_divergence(potentials: Tensor, other: Tensor) -> Tensor:
    """The Kullback-Leibler divergence of one CRF from another over all label sequences: sum p log(p / q), in nats.

    It has gradients with respect to both, so that one CRF can learn from another.

    Args:
        potentials: The output of a `CRF` layer, p.
        other: The output of another `CRF` layer for the same words and labels, q. The mask of p is used for both.

    Returns:
        `(batch,)`; 0 for a sentence without a word, infinite if q forbids a sequence that p allows, however improbable.

    Raises:
        ValueError: If the arguments cannot be the outputs of `CRF` layers, or differ in words or labels.

    Example:

    ```python
    loss = keras_slstm.crf_kl_divergence(teacher.predict(words), student(words))
    ```
    """
    p, q = unpack_potentials(potentials), unpack_potentials(other)
    shapes = p.unary.shape, q.unary.shape
    if any(isinstance(n, int) and isinstance(m, int) and n != m for n, m in zip(*shapes)):
        raise ValueError(
            "Expected two CRFs with the same words and labels, but got potentials of (batch, time, labels) = "
            f"{tuple(shapes[0])} and {tuple(shapes[1])}."
        )
    if 0 in p.unary.shape:
        return ops.sum(p.unary, axis=(1, 2))
    q = q._replace(mask=p.mask)
    # The divergence of the first label, and of each label given the one before it.
    outgoing_score, other_outgoing = (parts.unary + outgoing(parts) for parts in (p, q))
    first = _divergence(outgoing_score, other_outgoing)
    given = _divergence(
        _transitions(p) + outgoing_score[:, :, None, :],
        _transitions(q) + other_outgoing[:, :, None, :],
    )
    seen = take_words(marginals(p), index_before(p.mask))
    # Skip labels of probability 0, which may have no successor, so that `given` is meaningless.
    later = ops.sum(ops.where(seen > 0, seen * given, ops.zeros_like(given)), axis=2)
    found = ops.where(is_first(p.mask), first, ops.where(p.mask, later, ops.zeros_like(later)))
    found = ops.sum(found, axis=1)
    return ops.where(_forbids_more(p, q), ops.full_like(found, float("inf")), found)


def crf_sample(potentials: Tensor, number: int = 1, seed: Any = None) -> Tensor:
    """Draw independent label sequences from the distribution of the CRF.

    Args:
        potentials: The output of a `CRF` layer.
        number: The number of sequences per sentence, at least 1.
        seed: An integer, a `keras.random.SeedGenerator`, or None for a new draw at each call.

    Returns:
        `(batch, number, time)` int32; 0 at masked positions.

    Raises:
        ValueError: If `potentials` cannot be the output of a `CRF` layer, or `number` is not a positive integer.

    Example:

    ```python
    sequences = keras_slstm.crf_sample(tagger.predict(words), number=100, seed=0)
    ```
    """
    parts = unpack_potentials(potentials)
    number = check_integer("number", number, least=1)
    batch, time, size = ops.shape(parts.unary)
    if 0 in parts.unary.shape:
        return ops.zeros((batch, number, time), "int32")
    outgoing_score = parts.unary + outgoing(parts)
    # The arg max of scores with Gumbel noise is a draw from their softmax.
    noise = -ops.log(-ops.log(_uniform((time, batch, number, size), parts.unary.dtype, seed)))

    def step(state: Tensors, at_time: Tensors) -> Tensors:
        _, before = state
        scores, noise_t, first_t, mask_t, *own = at_time
        rows = one_hot(before, size)[..., None]  # (batch, number, from, 1)
        T = (own[0] if own else parts.transitions[None])[:, None]
        incoming_score = ops.sum(ops.where(rows, T, ops.zeros_like(T)), axis=2)
        incoming_score = ops.where(first_t, ops.zeros_like(incoming_score), incoming_score)
        label = ops.cast(ops.argmax(incoming_score + scores[:, None] + noise_t, axis=2), "int32")
        return ops.where(mask_t, label, ops.zeros_like(label)), ops.where(mask_t, label, before)

    mask = parts.mask
    inputs = (outgoing_score, is_first(mask)[..., None, None], mask[..., None])
    outgoing_score, first, masks = map(time_first, inputs)
    own = [time_first(parts.transitions)] if parts.pairwise else []
    start = ops.cast(ops.sum(ops.zeros_like(noise), axis=(0, 3)), "int32")
    labels, _ = scan(step, (start, start), (outgoing_score, noise, first, masks, *own), num_stacked=1)
    return ops.transpose(labels, (1, 2, 0))


def _forbids_more(p: Potentials, q: Potentials) -> Tensor:
    """`(batch,)` bool, whether q forbids a sequence that p allows."""
    unary, transitions = (
        ops.where(is_forbidden(x), ops.full_like(x, FORBIDDEN), ops.zeros_like(x)) for x in (p.unary, p.transitions)
    )
    p = Potentials(unary, transitions, p.mask)
    incoming_score, outgoing_score = incoming(p) + p.unary, p.unary + outgoing(p)
    labels = ~is_forbidden(incoming_score + outgoing_score - p.unary) & is_forbidden(q.unary) & p.mask[..., None]
    before = take_words(incoming_score, index_before(p.mask))
    pairs = ~is_forbidden(before[..., None] + _transitions(p) + outgoing_score[:, :, None, :])
    pairs = pairs & is_forbidden(_transitions(q)) & (p.mask & ~is_first(p.mask))[..., None, None]
    return ops.any(labels, axis=(1, 2)) | ops.any(pairs, axis=(1, 2, 3))


def _uniform(shape: tuple[Any, ...], dtype: Any, seed: Any) -> Tensor:
    """Draw numbers from (0, 1), whose logarithms are finite."""
    smallest = 1e-30
    return keras.random.uniform(shape, minval=smallest, maxval=1 - 6e-8, dtype=dtype, seed=seed)


def _transitions(potentials: Potentials) -> Tensor:
    """`(batch or 1, time or 1, from, to)`."""
    return potentials.transitions if potentials.pairwise else potentials.transitions[None, None]


def _divergence(scores: Tensor, others: Tensor) -> Tensor:
    """The divergence between two softmaxes over the last axis."""
    logs, other_logs = (x - ops.logsumexp(x, axis=-1, keepdims=True) for x in (scores, others))
    return ops.sum(ops.exp(logs) * (logs - other_logs), axis=-1)
