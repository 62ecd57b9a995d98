"""Sums over all sequences of labels in log space: never out of range, but slow."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from keras import ops

from keras_slstm.ops.crf_potentials import Potentials
from keras_slstm.ops.masks import is_first, zero_padding
from keras_slstm.ops.scan import scan
from keras_slstm.types import Tensor


class Score(NamedTuple):
    """A score of sentences, and its gradient.

    Attributes:
        value: `(batch,)`; 0 where a row has no word.
        gradient: From the gradient by `value` to those by unary scores and transitions. For the log-partition they
            count how often labels and transitions are expected.
    """

    value: Tensor
    gradient: Callable[[Tensor], tuple[Tensor, Tensor]]


def log_partition(potentials: Potentials) -> Score:
    """The log of the sum over all sequences of labels of exp(score)."""
    _, before, last, shift = _forward(potentials)
    some = ops.any(potentials.mask, axis=1)
    found = ops.where(some, ops.logsumexp(last, axis=1) + shift[:, 0], ops.zeros_like(shift[:, 0]))

    def gradient(upstream: Tensor) -> tuple[Tensor, Tensor]:
        d_last = softmax(last, axis=1) * upstream[:, None]
        d_unary, d_transitions = _backward(potentials, before, ops.zeros_like(before), d_last)
        return zero_padding(d_unary, potentials.mask), d_transitions

    return Score(found, gradient)


def incoming(potentials: Potentials) -> Tensor:
    """The log of the sum over all that can stand before a word, given its label, up to a constant for each word.

        incoming_1[y] = 0
        incoming_i[y] = log sum_{y'} exp(incoming_{i-1}[y'] + unary_{i-1}[y'] + transitions[y', y]) - constant

    Its gradient is written by hand, since XLA on TensorFlow finds none of a loop.

    Returns:
        `(batch, time, labels)`; 0 at masked positions.
    """

    @ops.custom_gradient
    def compute(unary: Tensor, transitions: Tensor, real: Tensor) -> tuple:
        parts = Potentials(ops.stop_gradient(unary), ops.stop_gradient(transitions), real > 0.5)
        came, before, _, _ = _forward(parts)

        def gradient(*inputs: Tensor, upstream: Tensor | None = None) -> tuple:
            # PyTorch hands over the inputs, and the gradient by its name.
            d_came = inputs[0] if upstream is None else upstream
            d_unary, d_transitions = _backward(parts, before, time_first(d_came), ops.zeros_like(d_came[:, 0]))
            inputs = (unary, transitions) if upstream is None else inputs[:2]
            return (*differentiable_once((d_unary, d_transitions), inputs), ops.zeros_like(real))

        return time_first(came), gradient

    unary, transitions, mask = potentials
    return zero_padding(compute(unary, transitions, ops.cast(mask, unary.dtype)), mask)


def outgoing(potentials: Potentials) -> Tensor:
    """The log of the sum over all that can stand after a word, given its label, up to a constant for each word.

        outgoing_n[y] = 0
        outgoing_i[y] = log sum_{y'} exp(transitions[y, y'] + unary_{i+1}[y'] + outgoing_{i+1}[y']) - constant

    Returns:
        `(batch, time, labels)`; 0 at masked positions.
    """
    unary, transitions, mask = potentials
    if potentials.pairwise:
        # What leads to a word leads, read from the end, to the real word before it.
        transitions = ops.flip(ops.transpose(take_words(transitions, index_after(mask)), (0, 1, 3, 2)), axis=1)
    else:
        transitions = ops.transpose(transitions)
    turned = Potentials(ops.flip(unary, axis=1), transitions, ops.flip(mask, axis=1))
    return ops.flip(incoming(turned), axis=1)


def _forward(potentials: Potentials) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The recursion of `incoming`, with the largest score of each word subtracted.

    Returns:
        `incoming`, and with the unary scores added that of the real word before, each `(time, batch, labels)`; the
        latter for the last real word, `(batch, labels)`; and all that was subtracted, `(batch, 1)`.
    """
    unary, transitions, mask = potentials

    def step(state: tuple, at_time: tuple) -> tuple:
        came, before, shift = state
        u, real, start, *own = at_time
        scores = before[:, :, None] + (own[0] if own else transitions)
        into = ops.where(start, ops.zeros_like(came), ops.logsumexp(scores, axis=1))
        largest = ops.max(into + u, axis=1, keepdims=True)
        return (
            ops.where(real, into, came),
            ops.where(real, into + u - largest, before),
            ops.where(real, shift + largest, shift),
        )

    inputs = (unary, mask[..., None], is_first(mask)[..., None], *([transitions] if potentials.pairwise else []))
    zeros = ops.sum(ops.zeros_like(unary), axis=1)
    came, after, shift = scan(step, (zeros, zeros, zeros[:, :1]), tuple(map(time_first, inputs)), num_stacked=2)
    states = ops.concatenate([zeros[None], after], axis=0)
    return came, states[:-1], states[-1], shift


def _backward(potentials: Potentials, before: Tensor, d_came: Tensor, d_last: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient of what depends on the results of `_forward`.

    Args:
        potentials: Those of `_forward`.
        before: The second result of `_forward`.
        d_came: The gradient by the first result, `(time, batch, labels)`.
        d_last: The gradient by the third result and the fourth, `(batch, labels)`: the sum over the labels is the
            gradient by the fourth.

    Returns:
        The gradients by the unary scores, `(batch, time, labels)`, meaningless at masked positions, and by the
        transitions.
    """
    transitions, mask, pairwise = potentials.transitions, potentials.mask, potentials.pairwise

    def step(state: tuple, at_time: tuple) -> tuple:
        d_after, d_pairs = state
        alpha, d_into, real, counts, *own = at_time
        scores = alpha[:, :, None] + (own[0] if own else transitions)
        flow = softmax(scores, axis=1) * (d_into + d_after)[:, None, :]
        flow = ops.where(counts, flow, ops.zeros_like(flow))
        d_before = ops.where(real, ops.sum(flow, axis=2), d_after)
        return d_before, flow if pairwise else d_pairs + flow

    inputs = (mask[..., None], (mask & ~is_first(mask))[..., None, None], *([transitions] if pairwise else []))
    nothing = ops.zeros_like(d_last[:, :, None] + d_last[:, None, :])
    d_after, d_pairs = scan(
        step,
        (d_last, nothing),
        (before, d_came, *map(time_first, inputs)),
        reverse=True,
        num_stacked=2 if pairwise else 1,
    )
    d_unary = time_first(ops.concatenate([d_after, d_last[None]], axis=0)[1:])
    return d_unary, time_first(d_pairs) if pairwise else ops.sum(d_pairs, axis=0)


def index_before(mask: Tensor) -> Tensor:
    """`(batch, time)` int32: where the last real word before each position stands; 0 where there is none."""
    real = ops.cast(mask, "int32")
    position = ops.zeros_like(real) + ops.arange(ops.shape(real)[1], dtype="int32")
    begins = mask & (ops.concatenate([ops.zeros_like(real[:, :1]), real[:, :-1]], axis=1) == 0)

    def through_holes() -> Tensor:
        def step(state: tuple, at_time: tuple) -> tuple:
            _, latest = state
            here, is_real = at_time
            return latest, ops.where(is_real, here, latest)

        none = ops.cast(ops.sum(ops.zeros_like(real), axis=1), "int32")
        before, _ = scan(step, (none, none), (ops.transpose(position), ops.transpose(mask)), num_stacked=1)
        return ops.transpose(before)

    holes = ops.any(begins & ~is_first(mask))
    return ops.cond(holes, through_holes, lambda: position - ops.cast(position > 0, "int32"))


def index_after(mask: Tensor) -> Tensor:
    """`(batch, time)` int32: where the next real word after each position stands; the last where there is none."""
    return ops.shape(mask)[1] - 1 - ops.flip(index_before(ops.flip(mask, axis=1)), axis=1)


def take_words(x: Tensor, index: Tensor) -> Tensor:
    """Of each row of `x`, `(batch, time, ...)`, what stands at the positions `index`, `(batch, time)`."""
    batch, time = ops.shape(index)
    flat = ops.reshape(x, (-1, *x.shape[2:]))
    return ops.take(flat, ops.arange(batch, dtype="int32")[:, None] * time + index, axis=0)


def differentiable_once(gradients: tuple, inputs: tuple) -> tuple:
    """`gradients` that depend on `inputs` in a way that no backend sees: another derivative raises, and is not 0."""

    @ops.custom_gradient
    def tie(gradient: Tensor, *inputs: Tensor) -> tuple:
        def refuse(*_: Tensor, upstream: Tensor | None = None) -> None:
            raise NotImplementedError("The second derivative of a CRF's quantities is not available.")

        return ops.copy(gradient), refuse

    return tuple(tie(gradient, *inputs) for gradient in gradients)


def softmax(x: Tensor, axis: int) -> Tensor:
    """As `keras.ops.softmax`, which warns of axes of size 1: there may be one label."""
    weights = ops.exp(x - ops.max(x, axis=axis, keepdims=True))
    return weights / ops.sum(weights, axis=axis, keepdims=True)


def time_first(x: Tensor) -> Tensor:
    """Swap the first two axes."""
    return ops.transpose(x, (1, 0, *range(2, len(x.shape))))


def rows(x: Tensor) -> Tensor:
    """All axes but the last as one."""
    return ops.reshape(x, (-1, x.shape[-1]))
