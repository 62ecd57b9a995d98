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
from keras_slstm.ops.masks import is_first, is_last
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
    """Log-sums over the words before each word, and up to it. To keep them small, each word subtracts an amount.

    Attributes:
        into: `(batch, time, labels)`: over all segmentations of the words before, plus the transition to a label.
        until: `(batch, time, labels)`: over all segmentations whose last segment ends at the word and has a label.
        subtracted: `(batch, time, 1)`: what each word subtracts from its `until` and all later sums; 0 if masked.
        all_words: `(batch,)`: over all segmentations, minus all amounts; 0 for a row without a word.
    """

    into: Tensor
    until: Tensor
    subtracted: Tensor
    all_words: Tensor

    @property
    def total(self) -> Tensor:
        """The log-sum over all segmentations, `(batch,)`."""
        return self.all_words + ops.sum(self.subtracted, axis=(1, 2))


class Probabilities(NamedTuple):
    """Probabilities of segments.

    Attributes:
        begin, end: `(batch, time, labels)`: that a segment with a label begins, and ends, at each word.
        within: `(batch, time, labels)`: that each word is in a segment with a label.
        segments: `(batch, time, L, labels)`: of each segment, by its last word; or None.
        lengths: `(batch, L, labels)`: the sum of `segments` over the words: the expected number of segments.
    """

    begin: Tensor
    end: Tensor
    within: Tensor
    segments: Tensor | None
    lengths: Tensor


def forward(potentials: SegmentPotentials) -> Sums:
    """The sums from the beginning of a sentence.

    into_1[y] = 0,   into_t[y] = log sum_y' exp(until_{t-1}[y'] + transitions[y', y])
    open_t[d, y] = (into_t[y] + begins_t[y]  if d = 1,  open_{t-1}[d - 1, y]  otherwise) + unary_t[y]
    until_t[y] = ends_t[y] + log sum_d exp(open_t[d, y] + durations_d[y])
    """
    _, _, _, durations, transitions, mask = potentials

    def step(state: Tensors, at_time: Tensors) -> Tensors:
        *_, into, open_scores = state
        u, b, e, mask_t = at_time
        longer = _extend_open_segments(open_scores, into + b, u)
        # Not the largest of `until`: perhaps no segment may end here.
        largest = amax(longer, axis=(1, 2), keepdims=True)
        longer = longer - largest
        until = e + ops.logsumexp(longer + durations, axis=1)
        onward = ops.logsumexp(until[:, :, None] + transitions, axis=1)
        return (
            into,
            until,
            _where(mask_t, largest[:, 0]),
            ops.where(mask_t, onward, into),
            ops.where(mask_t[:, None], longer, open_scores),
        )

    zeros, open_scores = _initial(potentials)
    initial = (zeros, zeros, zeros[:, :1], zeros, open_scores)
    into, until, subtracted, _, _ = scan(step, initial, _inputs(potentials), num_stacked=3)
    last = time_first(is_last(mask))
    all_words = ops.sum(_where(last, ops.logsumexp(until, axis=2)), axis=0)
    return Sums(time_first(into), time_first(until), time_first(subtracted), all_words)


def backward(potentials: SegmentPotentials) -> Sums:
    """The sums from the end: `into` over the words after a segment that ends, `until` over segments that begin."""
    found = forward(potentials.reversed())
    into, until, subtracted = (ops.flip(x, axis=1) for x in found[:3])
    return Sums(into, until, subtracted, found.all_words)


def log_partition(potentials: SegmentPotentials) -> Tensor:
    """Log Z, `(batch,)`."""
    return forward(potentials).total


def marginals(potentials: SegmentPotentials) -> Tensor:
    """The probability that each word is in a segment with each label, `(batch, time, labels)`; 0 if masked."""
    return probabilities(potentials, forward(potentials), backward(potentials)).within


def segment_marginals(potentials: SegmentPotentials) -> Tensor:
    """The probability of each segment, `(batch, time, L, labels)`, by its last word, length and label."""
    return probabilities(potentials, forward(potentials), backward(potentials), each_segment=True).segments


def probabilities(potentials: SegmentPotentials, sums: Sums, others: Sums, each_segment: bool = False) -> Probabilities:
    """The probabilities of segments, 0 at masked positions, given the sums from both ends.

    begin_t[y] = exp(into_t[y] + until'_t[y] + c_t)
    segments_t[d, y] = exp(open_t[d, y] + durations_d[y] + ends_t[y] + into'_t[y] + c_{t+1})
    place_t[d, y] = begin_t[y]  if d = 1,  place_{t-1}[d - 1, y] - segments_{t-1}[d - 1, y]  otherwise

    Primes mark the sums from the end, and place_t[d, y] is the probability that the word is the d-th of a segment. The
    constants make up for the subtracted amounts: c_1 makes begin_1 sum to 1, and each next one differs by what one word
    subtracts. Their errors would add up over the words: at each word, place_t, which sums to 1, corrects them.
    """

    def step(state: Tensors, at_time: Tensors) -> Tensors:
        *_, lengths, open_scores, not_ended, constant = state
        u, b, e, mask_t, into, onward, out, own, other = at_time
        begin = ops.exp(_where(mask_t, into + onward + constant))
        place = ops.concatenate([begin[:, None], not_ended[:, :-1]], axis=1)
        total = ops.sum(place, axis=(1, 2))[:, None]  # 1, but for rounding
        total = ops.stop_gradient(ops.where(total > 0, total, ops.ones_like(total)))
        place = place / total[:, None]
        # The difference first: both may be huge.
        following = constant - ops.log(total) + (own - other)
        longer = _extend_open_segments(open_scores, into + b, u) - own[:, None]
        found = ops.exp(_where(mask_t[:, None], longer + potentials.durations + (e + out + following)[:, None]))
        left = place - found
        found = _where(mask_t[:, None], found)
        return (
            _where(mask_t, place[:, 0]),
            ops.sum(found, axis=1),
            _where(mask_t, ops.sum(place, axis=1)),
            found,
            lengths + found,
            ops.where(mask_t[:, None], longer, open_scores),
            ops.where(mask_t[:, None], _where(left > 0, left), not_ended),
            ops.where(mask_t, following, constant),
        )

    zeros, open_scores = _initial(potentials)
    nothing = ops.zeros_like(open_scores)
    initial = (zeros, zeros, zeros, nothing, nothing, open_scores, nothing, -others.all_words[:, None])
    more = (sums.into, others.until, others.into, sums.subtracted, others.subtracted)
    inputs = (*_inputs(potentials), *map(time_first, more))
    found = scan(step, initial, inputs, num_stacked=4 if each_segment else 3)
    begin, end, within = map(time_first, found[:3])
    return Probabilities(begin, end, within, time_first(found[3]) if each_segment else None, found[4])


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
