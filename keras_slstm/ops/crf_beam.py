"""Beam search for the best label sequences of a linear-chain CRF with many labels."""

from __future__ import annotations

from keras import ops

from keras_slstm.ops.backend.scan import scan
from keras_slstm.ops.backend.traceable import amax
from keras_slstm.ops.crf import FORBIDDEN, Potentials, time_first
from keras_slstm.ops.masks import is_first
from keras_slstm.types import Tensor, Tensors


def beam_labels(potentials: Potentials, k: int, width: int) -> tuple[Tensor, Tensor]:
    """Return the k best label sequences of a beam of the given width.

    It compares `width * labels` sequences per word; `k_best_labels` compares `k * labels^2`.

    Returns:
        Like `k_best_labels`: the sequences, `(batch, k, time)` int32, and their scores, `(batch, k)`.
    """
    unary, transitions, mask = potentials
    labels = unary.shape[2]
    rank = ops.arange(width, dtype="int32")
    zeros = ops.sum(ops.zeros_like(unary), axis=(1, 2))[:, None] + ops.zeros((width,), unary.dtype)
    stay = ops.cast(zeros, "int32") + rank
    # Only the empty sequence.
    alone = ops.where(rank == 0, zeros, ops.full_like(zeros, FORBIDDEN))

    def step(state: Tensors, at_time: Tensors) -> Tensors:
        _, last, best, shift = state
        u, first_t, mask_t, *own = at_time
        if own:
            after = ops.take_along_axis(own[0], last[..., None], axis=1)
        else:
            after = ops.take(transitions, last, axis=0)
        after = ops.where(first_t[..., None], ops.zeros_like(after), after)
        scores = best[..., None] + after + u[:, None]  # (batch, width, labels)
        scores, place = ops.top_k(ops.reshape(scores, (-1, width * labels)), width)
        place = ops.cast(place, "int32")
        largest = amax(scores, axis=1, keepdims=True)
        return (
            ops.where(mask_t, place // labels, stay),
            ops.where(mask_t, place % labels, last),
            ops.where(mask_t, scores - largest, best),
            ops.where(mask_t, shift + largest, shift),
        )

    inputs = (unary, is_first(mask)[..., None], mask[..., None], *([transitions] if potentials.pairwise else []))
    initial = (stay, ops.zeros_like(stay), alone, zeros[:, :1])
    before, last, scores, shift = scan(step, initial, tuple(map(time_first, inputs)), num_stacked=2)
    scores, end = ops.top_k(scores, k)
    end = ops.cast(end, "int32")

    def back(state: Tensors, at_time: Tensors) -> Tensors:
        _, place = state
        before_t, last_t = at_time
        return tuple(ops.take_along_axis(x, place, axis=1) for x in (last_t, before_t))

    paths, _ = scan(back, (end, end), (before, last), reverse=True, num_stacked=1)
    paths, scores = ops.transpose(paths, (1, 2, 0)), scores + shift
    allowed = scores > FORBIDDEN / 2
    paths = ops.where(mask[:, None] & allowed[..., None], paths, ops.zeros_like(paths))
    return paths, ops.where(allowed, scores, ops.full_like(scores, -float("inf")))
