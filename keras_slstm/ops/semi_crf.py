"""The semi-Markov conditional random field (Sarawagi and Cohen, 2004): it divides a sentence into labelled segments.

A segment of the words s ... e with the label y and the length d = e - s + 1 <= L scores

    begins_s[y] + sum_{s <= i <= e} unary_i[y] + durations_d[y] + ends_e[y]

and each segment but the first adds transitions[previous label, y]. Sums over segments that end at a word need only the
scores of the L segments that are open there: memory grows with time * labels + L * labels.

Segments skip masked positions.
"""

from __future__ import annotations

from typing import NamedTuple

from keras import ops

from keras_slstm.ops.backend.scan import scan
from keras_slstm.ops.backend.traceable import amax
from keras_slstm.ops.crf import FORBIDDEN, PENALTY, one_hot, time_first
from keras_slstm.ops.masks import is_first, is_last, zero_padding
from keras_slstm.ops.positions import index_after, index_before, take_words
from keras_slstm.types import Tensor, Tensors

# In segmentations, the label of a word that does not begin a segment.
INSIDE = -1


class SegmentPotentials(NamedTuple):
    """The scores of a semi-Markov CRF.

    Attributes:
        unary, begins, ends: `(batch, time, labels)`: label scores of words, and of first and last words of segments.
        durations: `(L, labels)`, for the lengths 1 to L.
        transitions: `(labels, labels)`, [from, to].
        mask: `(batch, time)` bool.
    """

    unary: Tensor
    begins: Tensor
    ends: Tensor
    durations: Tensor
    transitions: Tensor
    mask: Tensor

    def reversed(self) -> SegmentPotentials:
        """The scores of the reversed sentence."""
        unary, ends, begins, mask = (ops.flip(x, axis=1) for x in (self.unary, self.ends, self.begins, self.mask))
        return SegmentPotentials(unary, ends, begins, self.durations, ops.transpose(self.transitions), mask)


class Sums(NamedTuple):
    """Log-sums over the words before each word and up to it, minus `before` and `after`.

    Attributes:
        into: `(batch, time, labels)`: over all segmentations of the words before, plus the transition to a label.
        until: `(batch, time, labels)`: over all segmentations whose last segment ends at the word and has a label.
        before, after: `(batch, time, 1)`: the amounts subtracted from `into`, and from `until`.
        total: `(batch,)`: over all segmentations; 0 for a row without a word.
    """

    into: Tensor
    until: Tensor
    before: Tensor
    after: Tensor
    total: Tensor


def forward(potentials: SegmentPotentials) -> Sums:
    """The sums from the beginning of a sentence.

    into_1[y] = 0,   into_t[y] = log sum_y' exp(until_{t-1}[y'] + transitions[y', y])
    open_t[d, y] = (into_t[y] + begins_t[y]  if d = 1,  open_{t-1}[d - 1, y]  otherwise) + unary_t[y]
    until_t[y] = ends_t[y] + log sum_d exp(open_t[d, y] + durations_d[y])
    """
    _, _, _, durations, transitions, mask = potentials

    def step(state: Tensors, at_time: Tensors) -> Tensors:
        _, _, _, after, into, open_scores = state
        u, b, e, mask_t = at_time
        longer = _extend_open_segments(open_scores, into + b, u)
        until = e + ops.logsumexp(longer + durations, axis=1)
        largest = amax(until, axis=1, keepdims=True)
        until = until - largest
        onward = ops.logsumexp(until[:, :, None] + transitions, axis=1)
        return (
            into,
            until,
            after,
            ops.where(mask_t, after + largest, after),
            ops.where(mask_t, onward, into),
            ops.where(mask_t[:, None], longer - largest[:, None], open_scores),
        )

    zeros, open_scores = _initial(potentials)
    initial = (zeros, zeros, zeros[:, :1], zeros[:, :1], zeros, open_scores)
    into, until, before, after, _, _ = scan(step, initial, _inputs(potentials), num_stacked=4)
    last = time_first(is_last(mask))[..., None]
    total = ops.logsumexp(until, axis=2) + after[..., 0]
    total = ops.sum(ops.where(last[..., 0], total, ops.zeros_like(total)), axis=0)
    return Sums(time_first(into), time_first(until), time_first(before), time_first(after), total)


def backward(potentials: SegmentPotentials) -> Sums:
    """The sums from the end: `into` over the words after a segment that ends, `until` over segments that begin."""
    found = forward(potentials.reversed())
    into, until, before, after = (ops.flip(x, axis=1) for x in found[:4])
    return Sums(into, until, before, after, found.total)


def log_partition(potentials: SegmentPotentials) -> Tensor:
    """Log Z, `(batch,)`."""
    return forward(potentials).total


def beginnings_and_ends(potentials: SegmentPotentials, sums: Sums, others: Sums) -> tuple[Tensor, Tensor]:
    """The probabilities that a segment with a label begins, and ends, at each word, `(batch, time, labels)` each."""
    total = sums.total[:, None, None]
    begin = ops.exp(sums.into + others.until + (sums.before + others.after - total))
    end = ops.exp(sums.until + others.into + (sums.after + others.before - total))
    return zero_padding(begin, potentials.mask), zero_padding(end, potentials.mask)


def marginals(potentials: SegmentPotentials) -> Tensor:
    """The probability that each word is in a segment with each label, `(batch, time, labels)`; 0 if masked."""
    sums, others = forward(potentials), backward(potentials)
    return within_segments(potentials.mask, *beginnings_and_ends(potentials, sums, others))


def segment_marginals(potentials: SegmentPotentials) -> Tensor:
    """The probability of each segment, `(batch, time, L, labels)`, by its last word, length and label."""
    found, _ = segment_probabilities(potentials, forward(potentials), backward(potentials), all_words=True)
    return time_first(found)


def segment_labels(mask: Tensor, segments: Tensor) -> tuple[Tensor, Tensor]:
    """The label of each word's segment, and the word's position in it, counted from 1, `(batch, time)` int32."""

    def step(state: Tensors, at_time: Tensors) -> Tensors:
        label, place = state
        y, mask_t = at_time
        return (
            ops.where(mask_t & (y != INSIDE), y, label),
            ops.where(mask_t, ops.where(y != INSIDE, ops.ones_like(place), place + 1), place),
        )

    nothing = ops.cast(ops.sum(ops.zeros_like(segments), axis=1), "int32")
    found = scan(step, (nothing, nothing), (ops.transpose(segments), ops.transpose(mask)))
    return ops.transpose(found[0]), ops.transpose(found[1])


def segmentation_score(potentials: SegmentPotentials, segments: Tensor) -> Tensor:
    """The score of one segmentation, `(batch,)`; a segment that is too long adds `PENALTY`."""
    unary, begins, ends, durations, transitions, mask = potentials
    longest, size = durations.shape
    label, place = segment_labels(mask, segments)
    starts = mask & (segments != INSIDE)
    stops = mask & (is_last(mask) | (take_words(ops.cast(starts, "int32"), index_after(mask)) > 0))
    here = one_hot(label, size)
    words = _where(here & mask[..., None], unary) + _where(here & starts[..., None], begins)
    total = ops.sum(words + _where(here & stops[..., None], ends), axis=(1, 2))
    pair = take_words(label, index_before(mask)) * size + label
    follows = _where(starts & ~is_first(mask), ops.take(ops.reshape(transitions, (-1,)), pair))
    length = ops.clip(place, 1, longest) - 1
    lasting = ops.take(ops.reshape(durations, (-1,)), length * size + label)
    lasting = _where(stops, ops.where(place > longest, ops.full_like(lasting, PENALTY), lasting))
    return total + ops.sum(follows + lasting, axis=1)


def segment_probabilities(
    potentials: SegmentPotentials, sums: Sums, others: Sums, all_words: bool
) -> tuple[Tensor, Tensor]:
    """Probabilities of the segments that end at each word, `(time, batch, L, labels)`, and their sum over the words.

    Without `all_words`, the first result holds only those of the last position, `(batch, L, labels)`.
    """

    def step(state: Tensors, at_time: Tensors) -> Tensors:
        _, expected, open_scores = state
        u, b, e, mask_t, into, out, shift, largest = at_time
        longer = _extend_open_segments(open_scores, into + b, u)
        found = ops.exp(longer + potentials.durations + (e + out)[:, None] + shift[:, None])
        found = ops.where(mask_t[:, None], found, ops.zeros_like(found))
        return found, expected + found, ops.where(mask_t[:, None], longer - largest[:, None], open_scores)

    shift = sums.before + others.before - sums.total[:, None, None]
    more = (sums.into, others.into, shift, sums.after - sums.before)
    _, open_scores = _initial(potentials)
    nothing = ops.zeros_like(open_scores)
    inputs = (*_inputs(potentials), *map(time_first, more))
    found, expected, _ = scan(step, (nothing, nothing, open_scores), inputs, num_stacked=1 if all_words else 0)
    return found, expected


def within_segments(mask: Tensor, begin: Tensor, end: Tensor) -> Tensor:
    """The probability that a segment has begun, and not ended before: `(batch, time, labels)`."""

    def step(state: Tensors, at_time: Tensors) -> Tensors:
        within = state[1] + at_time[0]
        return within, within - at_time[1]

    # Not `ops.cumsum`, which rounds float64 on PyTorch, as `ops.maximum` with a number does.
    nothing = ops.sum(ops.zeros_like(begin), axis=1)
    found = time_first(scan(step, (nothing, nothing), (time_first(begin), time_first(end)), num_stacked=1)[0])
    return zero_padding(ops.where(found > 0, found, ops.zeros_like(found)), mask)


def _extend_open_segments(open_scores: Tensor, new: Tensor, unary: Tensor) -> Tensor:
    """The scores of the open segments of each length, `(batch, L, labels)`, one word later."""
    return ops.concatenate([new[:, None], open_scores[:, :-1]], axis=1) + unary[:, None]


def _initial(potentials: SegmentPotentials) -> tuple[Tensor, Tensor]:
    """Zeros `(batch, labels)`, and the scores of no open segments."""
    zeros = ops.sum(ops.zeros_like(potentials.unary), axis=1)
    return zeros, ops.zeros_like(zeros[:, None] + potentials.durations) + FORBIDDEN


def _inputs(potentials: SegmentPotentials) -> Tensors:
    parts = (potentials.unary, potentials.begins, potentials.ends, potentials.mask[..., None])
    return tuple(map(time_first, parts))


def _where(condition: Tensor, x: Tensor) -> Tensor:
    return ops.where(condition, x, ops.zeros_like(x))
