"""Sums over all label sequences in log space, with hand-written gradients: numerically safe, but slow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops

from keras_slstm.ops import crf as equation
from keras_slstm.ops.backend.eager import keeps_no_graph
from keras_slstm.ops.backend.scan import scan
from keras_slstm.ops.backend.traceable import amax
from keras_slstm.ops.crf import Potentials, softmax, time_first
from keras_slstm.ops.masks import is_first, zero_padding
from keras_slstm.ops.positions import index_after, take_words
from keras_slstm.ops.reference import kernel_of
from keras_slstm.types import Tensor, Tensors


class Score(NamedTuple):
    """A score per sentence, and its gradient.

    Attributes:
        value: `(batch,)`; 0 for a row without a word.
        gradient: Maps the gradient of `value` to those of unary scores and transitions: for the log-partition, the
            expected counts of labels and transitions.
    """

    value: Tensor
    gradient: Callable[[Tensor], tuple[Tensor, Tensor]]


def log_partition(potentials: Potentials) -> Score:
    """Log Z, without underflow."""
    _, before, last, shift = _forward(potentials)
    words = ops.any(potentials.mask, axis=1)
    found = ops.where(words, ops.logsumexp(last, axis=1) + shift[:, 0], ops.zeros_like(shift[:, 0]))

    def gradient(upstream: Tensor) -> tuple[Tensor, Tensor]:
        d_last = softmax(last, axis=1) * upstream[:, None]
        d_unary, d_transitions = _backward(potentials, before, ops.zeros_like(before), d_last)
        return zero_padding(d_unary, potentials.mask), d_transitions

    return Score(found, gradient)


@kernel_of(equation.incoming)
def incoming(potentials: Potentials) -> Tensor:
    """Always used: provides a gradient, which XLA on TensorFlow cannot derive for a loop of unknown length."""

    @ops.custom_gradient
    def compute(unary: Tensor, transitions: Tensor, mask_f: Tensor) -> tuple[Any, ...]:
        parts = Potentials(ops.stop_gradient(unary), ops.stop_gradient(transitions), mask_f > 0.5)
        message, before, _, _ = _forward(parts)

        def gradient(*inputs: Tensor, upstream: Tensor | None = None) -> Tensors:
            # PyTorch passes the inputs by position and the gradient by name.
            d_message = inputs[0] if upstream is None else upstream
            d_unary, d_transitions = _backward(
                parts, before, time_first(d_message), ops.sum(ops.zeros_like(d_message), axis=1)
            )
            d_unary = zero_padding(d_unary, parts.mask)
            inputs = (unary, transitions) if upstream is None else inputs[:2]
            return (*once_differentiable((d_unary, d_transitions), inputs), ops.zeros_like(mask_f))

        return time_first(message), gradient

    unary, transitions, mask = potentials
    return zero_padding(compute(unary, transitions, ops.cast(mask, unary.dtype)), mask)


@kernel_of(equation.outgoing)
def outgoing(potentials: Potentials) -> Tensor:
    """Always used: runs `incoming` on the reversed sentence."""
    unary, transitions, mask = potentials
    if potentials.pairwise:
        # In reverse, the transitions into a word are the transposed ones into the word after it.
        transitions = ops.flip(ops.transpose(take_words(transitions, index_after(mask)), (0, 1, 3, 2)), axis=1)
    else:
        transitions = ops.transpose(transitions)
    turned = Potentials(ops.flip(unary, axis=1), transitions, ops.flip(mask, axis=1))
    return ops.flip(incoming(turned), axis=1)


@kernel_of(equation.marginals)
def marginals(potentials: Potentials) -> Tensor:
    """Always used: calls the kernels `incoming` and `outgoing`."""
    found = softmax(incoming(potentials) + potentials.unary + outgoing(potentials), axis=2)
    return ops.where(potentials.mask[..., None], found, ops.zeros_like(found))


def _forward(potentials: Potentials) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The recursion of `incoming`, with the largest score of each word subtracted.

    Returns:
        `incoming` of each word, and `incoming` plus unary scores of the word before it, both `(time, batch, labels)`;
        the latter sum for the last word, `(batch, labels)`; and the total that was subtracted, `(batch, 1)`.
    """
    unary, transitions, mask = potentials

    def step(state: Tensors, at_time: Tensors) -> Tensors:
        message, before, shift = state
        u, mask_t, first_t, *own = at_time
        scores = before[:, :, None] + (own[0] if own else transitions)
        into = ops.where(first_t, ops.zeros_like(message), ops.logsumexp(scores, axis=1))
        largest = amax(into + u, axis=1, keepdims=True)
        return (
            ops.where(mask_t, into, message),
            ops.where(mask_t, into + u - largest, before),
            ops.where(mask_t, shift + largest, shift),
        )

    inputs = (unary, mask[..., None], is_first(mask)[..., None], *([transitions] if potentials.pairwise else []))
    zeros = ops.sum(ops.zeros_like(unary), axis=1)
    message, after, shift = scan(step, (zeros, zeros, zeros[:, :1]), tuple(map(time_first, inputs)), num_stacked=2)
    states = ops.concatenate([zeros[None], after], axis=0)
    return message, states[:-1], states[-1], shift


def _backward(potentials: Potentials, before: Tensor, d_message: Tensor, d_last: Tensor) -> tuple[Tensor, Tensor]:
    """Backpropagate through `_forward`.

    Args:
        potentials: The argument of `_forward`.
        before: The second result of `_forward`.
        d_message: The gradient of the first result, `(time, batch, labels)`.
        d_last: The gradient of the third and the fourth result, `(batch, labels)`: its sum over the labels is the
            gradient of the fourth.

    Returns:
        The gradients of the unary scores, `(batch, time, labels)`, meaningless at masked positions, and of the
        transitions.
    """
    transitions, mask, pairwise = potentials.transitions, potentials.mask, potentials.pairwise

    def step(state: Tensors, at_time: Tensors) -> Tensors:
        d_after, d_pairs = state
        alpha, d_into, mask_t, counts, *own = at_time
        scores = alpha[:, :, None] + (own[0] if own else transitions)
        flow = softmax(scores, axis=1) * (d_into + d_after)[:, None, :]
        flow = ops.where(counts, flow, ops.zeros_like(flow))
        d_before = ops.where(mask_t, ops.sum(flow, axis=2), d_after)
        return d_before, flow if pairwise else d_pairs + flow

    inputs = (mask[..., None], (mask & ~is_first(mask))[..., None, None], *([transitions] if pairwise else []))
    nothing = ops.zeros_like(d_last[:, :, None] + d_last[:, None, :])
    d_after, d_pairs = scan(
        step,
        (d_last, nothing),
        (before, d_message, *map(time_first, inputs)),
        reverse=True,
        num_stacked=2 if pairwise else 1,
    )
    d_unary = time_first(ops.concatenate([d_after, d_last[None]], axis=0)[1:])
    return d_unary, time_first(d_pairs) if pairwise else ops.sum(d_pairs, axis=0)


def once_differentiable(gradients: Tensors, inputs: Tensors) -> Tensors:
    """Return `gradients`, tied to `inputs` so that a second derivative raises instead of being 0."""
    if keeps_no_graph():
        return gradients

    @ops.custom_gradient
    def tie(gradient: Tensor, *inputs: Tensor) -> tuple[Any, ...]:
        def second_derivative(*_: Tensor, upstream: Tensor | None = None) -> None:
            raise NotImplementedError(
                "CRF functions have no second derivatives. Call the layer and its loss inside "
                "`keras_slstm.ops.reference.reference_mode()`: it runs the equations, which have them."
            )

        return ops.copy(gradient), second_derivative

    return tuple(tie(gradient, *inputs) for gradient in gradients)


def rows(x: Tensor) -> Tensor:
    """Merge all axes but the last."""
    return ops.reshape(x, (-1, x.shape[-1]))
