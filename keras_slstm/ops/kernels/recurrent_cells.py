"""LSTM and GRU steps with their derivatives, for loops with a hand-written gradient.

`keras_slstm.ops.subilstm.RecurrentWeights` defines d, G and the order of the gates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import keras
from keras import ops

from keras_slstm.ops.backend import direct
from keras_slstm.ops.backend.precision import accumulation_dtype
from keras_slstm.ops.projection import project
from keras_slstm.types import Tensor, Tensors


class RecurrentCell(NamedTuple):
    """One step of a cell and its gradient.

    Attributes:
        states: The number of tensors `(..., d)` in a state; the first is h.
        saved: The number of tensors `(..., d)` that `backward` needs besides the state before the step.
        products: The number of gradients of pre-activations: 1 if x W and h U have the same, else 2.
        forward: `(x W + b, h U, state) -> (state, saved)`, the first two `(..., G d)`.
        backward: `(gradient of the state, state before, saved) -> (gradients of x W and of h U, gradient of the state
            before)`. The last one excludes the path through h U; None means zero.
    """

    states: int
    saved: int
    products: int
    forward: Callable[[Tensor, Tensor, Tensors], tuple[Tensors, Tensors]]
    backward: Callable[[Tensors, Tensors, Tensors], tuple[Tensors, tuple[Tensor | None, ...]]]


def _lstm_forward(a_x: Tensor, a_h: Tensor, state: Tensors) -> tuple[Tensors, Tensors]:
    i, f, c_tilde, o = direct.split(a_x + a_h, 4)
    i, f, o, c_tilde = direct.sigmoid(i), direct.sigmoid(f), direct.sigmoid(o), direct.tanh(c_tilde)
    c = i * c_tilde + f * state[1]
    tanh_c = direct.tanh(c)
    return (o * tanh_c, c), (i, f, c_tilde, o, tanh_c)


def _lstm_backward(d_state: Tensors, before: Tensors, saved: Tensors) -> tuple[Tensors, tuple[Tensor | None, ...]]:
    (d_h, d_c), (_, c), (i, f, c_tilde, o, tanh_c) = d_state, before, saved
    d_c = d_c + d_h * o * (1 - tanh_c * tanh_c)
    d_a = direct.concatenate(
        [
            d_c * c_tilde * i * (1 - i),
            d_c * c * f * (1 - f),
            d_c * i * (1 - c_tilde * c_tilde),
            d_h * tanh_c * o * (1 - o),
        ],
        axis=-1,
    )
    return (d_a,), (None, d_c * f)


def _gru_forward(a_x: Tensor, a_h: Tensor, state: Tensors) -> tuple[Tensors, Tensors]:
    x_z, x_r, x_h = direct.split(a_x, 3)
    h_z, h_r, h_h = direct.split(a_h, 3)
    z, r = direct.sigmoid(x_z + h_z), direct.sigmoid(x_r + h_r)
    h_tilde = direct.tanh(x_h + r * h_h)
    return (z * state[0] + (1 - z) * h_tilde,), (z, r, h_tilde, h_h)


def _gru_backward(d_state: Tensors, before: Tensors, saved: Tensors) -> tuple[Tensors, tuple[Tensor | None, ...]]:
    (d_h,), (h,), (z, r, h_tilde, h_h) = d_state, before, saved
    d_h_tilde = d_h * (1 - z) * (1 - h_tilde * h_tilde)
    d_z, d_r = d_h * (h - h_tilde) * z * (1 - z), d_h_tilde * h_h * r * (1 - r)
    d_a_x = direct.concatenate([d_z, d_r, d_h_tilde], axis=-1)
    d_a_h = direct.concatenate([d_z, d_r, d_h_tilde * r], axis=-1)
    return (d_a_x, d_a_h), (d_h * z,)


CELLS = {
    "lstm": RecurrentCell(2, 5, 1, _lstm_forward, _lstm_backward),
    "gru": RecurrentCell(1, 4, 2, _gru_forward, _gru_backward),
}


class Recurrence(NamedTuple):
    """A cell with its weights and the words it reads; the last three may be None.

    Attributes:
        cell: The cell.
        projected: x W + b of all words, `(time, batch, G d)`.
        recurrent_kernel: U, `(d, G d)`.
        recurrent_bias: Added to h U, `(G d,)`.
        mask_f: `(time, batch, 1)`, 1 at words and 0 at padding, which leaves the state unchanged.
        dropout_mask: `(batch, d)`, multiplies h before U does.
    """

    cell: RecurrentCell
    projected: Tensor
    recurrent_kernel: Tensor
    recurrent_bias: Tensor | None = None
    mask_f: Tensor | None = None
    dropout_mask: Tensor | None = None

    @property
    def units(self) -> int:
        """The number of units, d."""
        return self.recurrent_kernel.shape[0]

    def step(self, projected: Tensor, state: Tensors, mask: Tensor | None) -> tuple[Tensors, Tensors]:
        """Read one word in several rows.

        Args:
            projected: x W + b of the word, `(batch, G d)`.
            state: Tensors `(rows, batch, d)`.
            mask: Bool, broadcastable to the state: whether a row of a sentence reads the word; the others keep their
                state. None if all read it.

        Returns:
            The new state, and the tensors that `step_gradient` needs.
        """
        product = project(self._read(state[0]), self.recurrent_kernel)
        if self.recurrent_bias is not None:
            product = product + self.recurrent_bias
        new, saved = self.cell.forward(projected, product, state)
        if mask is not None:
            new = tuple(direct.where(mask, x, old) for x, old in zip(new, state, strict=True))
        return new, saved

    def step_gradient(
        self, transposed_kernel: Tensor, d_state: Tensors, before: Tensors, saved: Tensors, mask: Tensor | None
    ) -> tuple[Tensors, Tensors]:
        """Backpropagate through one step.

        Args:
            transposed_kernel: The transpose of U, which a loop computes only once.
            d_state: The gradient of the new state.
            before: The state before the step.
            saved: From `step`.
            mask: As for `step`.

        Returns:
            The gradients of x W and h U (one tensor if they are the same), `(rows, batch, G d)`, and the gradient of
            the state before the step.
        """
        passed_on: Tensors = ()
        if mask is not None:
            zero = ops.zeros_like(d_state[0])
            passed_on = tuple(direct.where(mask, zero, x) for x in d_state)
            d_state = tuple(direct.where(mask, x, zero) for x in d_state)
        products, other = self.cell.backward(d_state, before, saved)
        through_product = self._read(project(products[-1], transposed_kernel))
        d_before = [through_product if other[0] is None else other[0] + through_product, *other[1:]]
        if passed_on:
            d_before = [x + y for x, y in zip(d_before, passed_on, strict=True)]
        return products, tuple(d_before)

    def zero_weight_gradients(self) -> Tensors:
        """Zeros for U and, if there is one, the recurrent bias, in at least float32: see `add_gradients`."""
        weights = (self.recurrent_kernel, self.recurrent_bias)
        return tuple(ops.zeros(weight.shape, self._wide_dtype()) for weight in weights if weight is not None)

    def add_gradients(self, d_weights: Tensors, before: Tensors, products: Tensors) -> tuple[Tensor, Tensors]:
        """Accumulate the gradients of the tensors that rows and words share.

        Args:
            d_weights: The gradients of U and of the recurrent bias so far.
            before: The state before one step, or before several, stacked along an additional first axis.
            products: From `step_gradient`, likewise.

        Returns:
            The gradient of x W, `(batch, G d)`, and the sums of the gradients of the weights.
        """
        wide = self._wide_dtype()
        d_projected = ops.cast(ops.sum(ops.cast(products[0], wide), axis=-3), self.projected.dtype)
        h = ops.reshape(self._read(before[0]), (-1, self.units))
        d_product = ops.reshape(products[-1], (-1, products[-1].shape[-1]))
        added = (ops.cast(ops.transpose(h) @ d_product, wide), ops.sum(ops.cast(d_product, wide), axis=0))
        return d_projected, tuple(x + y for x, y in zip(d_weights, added))

    def name_gradients(self, d_projected: Tensor, d_weights: Tensors) -> dict[str, Tensor]:
        """Name the gradients after the attributes and cast them to their dtypes."""
        named = zip(("recurrent_kernel", "recurrent_bias"), d_weights)
        dtype = self.recurrent_kernel.dtype
        return {"projected": d_projected, **{name: ops.cast(x, dtype) for name, x in named}}

    def _read(self, h: Tensor) -> Tensor:
        """Apply the dropout mask to `h`."""
        return h if self.dropout_mask is None else h * self.dropout_mask

    def _wide_dtype(self) -> str:
        return accumulation_dtype(keras.backend.standardize_dtype(self.projected.dtype))
