"""The k best segmentations of a semi-Markov CRF."""

from __future__ import annotations

import numpy as np
from keras import ops

from keras_slstm.ops.backend.scan import scan
from keras_slstm.ops.backend.traceable import amax
from keras_slstm.ops.crf import FORBIDDEN, time_first
from keras_slstm.ops.masks import is_last
from keras_slstm.ops.semi_crf import INSIDE, SegmentPotentials
from keras_slstm.types import Tensor, Tensors


def k_best_segmentations(potentials: SegmentPotentials, k: int) -> tuple[Tensor, Tensor]:
    """The k highest-scoring segmentations, best first, by the Viterbi algorithm with k states per label.

    Returns:
        The segmentations, `(batch, k, time)` int32, and their scores, `(batch, k)`. If fewer than k exist, the rest are
        `INSIDE`, with the score -inf.
    """
    unary, begins, ends, durations, transitions, mask = potentials
    longest, size = durations.shape
    ranks = np.where(np.arange(k) == 0, 0, FORBIDDEN)
    zeros = ops.sum(ops.zeros_like(unary), axis=1)[..., None] + ops.zeros(k, unary.dtype)
    begun = zeros + ops.convert_to_tensor(ranks, unary.dtype)
    # A row without a word has a single, empty segmentation.
    empty = begun + ops.convert_to_tensor(np.where(np.arange(size) == 0, 0, FORBIDDEN)[:, None], unary.dtype)
    open_scores = ops.zeros_like(begun[:, None] + durations[..., None]) + FORBIDDEN
    nowhere = ops.cast(ops.zeros_like(zeros), "int32")

    def step(state: Tensors, at_time: Tensors) -> Tensors:
        _, _, until, into, open_scores, shift = state
        u, b, e, mask_t = at_time
        longer = ops.concatenate([(into + b)[:, None], open_scores[:, :-1]], axis=1) + u[:, None]
        scores = ops.transpose(longer + durations[..., None] + e[:, None], (0, 2, 1, 3))
        reached, lasting = ops.top_k(ops.reshape(scores, (-1, size, longest * k)), k)
        largest = amax(reached, axis=(1, 2), keepdims=True)
        reached = reached - largest
        scores = ops.transpose(reached[:, :, None] + transitions[..., None], (0, 2, 1, 3))
        onward, backpointer = ops.top_k(ops.reshape(scores, (-1, size, size * k)), k)
        return (
            ops.cast(lasting, "int32"),
            ops.cast(backpointer, "int32"),
            ops.where(mask_t, reached, until),
            ops.where(mask_t, onward, into),
            ops.where(mask_t[:, None], longer - largest[:, None], open_scores),
            ops.where(mask_t, shift + largest, shift),
        )

    inputs = tuple(time_first(x[..., None]) for x in (unary, begins, ends, mask[..., None]))
    initial = (nowhere, nowhere, empty, begun, open_scores, zeros[:, :1, :1])
    lasting, backpointers, until, _, _, shift = scan(step, initial, inputs, num_stacked=2)
    scores, best = ops.top_k(ops.reshape(until, (-1, size * k)), k)
    best = ops.cast(best, "int32")

    def back(state: Tensors, at_time: Tensors) -> Tensors:
        # The label and rank of the segment at the word, or after it, and the number of its words that are left.
        _, place, left = state
        lasting_t, backpointer_t, last_t, mask_t = at_time
        came = ops.where(last_t, best, ops.take_along_axis(backpointer_t, place, axis=1))
        length = ops.take_along_axis(lasting_t, came, axis=1)
        ended = left == 0
        label = ops.where(ended, came, place) // k
        rank = ops.where(ended, length, place) % k
        now = ops.where(ended, length // k + 1, left)
        found = ops.where(mask_t & (now == 1), label, ops.full_like(label, INSIDE))
        return found, ops.where(mask_t, label * k + rank, place), ops.where(mask_t, now - 1, left)

    nothing = ops.zeros_like(best)
    flat = tuple(ops.reshape(x, (*ops.shape(x)[:2], size * k)) for x in (lasting, backpointers))
    masks = tuple(time_first(x)[..., None] for x in (is_last(mask), mask))
    found, _, _ = scan(back, (nothing, nothing, nothing), (*flat, *masks), reverse=True, num_stacked=1)
    scores = scores + shift[:, :, 0]
    allowed = scores > FORBIDDEN / 2
    paths = ops.transpose(found, (1, 2, 0))
    return (
        ops.where(allowed[..., None], paths, ops.full_like(paths, INSIDE)),
        ops.where(allowed, scores, ops.full_like(scores, -float("inf"))),
    )
