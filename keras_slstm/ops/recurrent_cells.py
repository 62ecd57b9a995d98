"""The LSTM and the GRU as pure functions, with their derivatives: what a loop with a gradient of its own is made of.

With d units and G gates a word, in Keras' order: i, f, c~, o of an LSTM (G = 4), z, r, h~ of a GRU (G = 3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import keras
from keras import ops

from keras_slstm.ops.precision import accumulation_dtype, tanh
from keras_slstm.ops.projection import project
from keras_slstm.types import Tensor, Tensors


class RecurrentCell(NamedTuple):
    """One step of a recurrence, and the way back.

    Attributes:
        gates: G.
        states: How many tensors `(..., d)` a state consists of, the first of which is h.
        kept: How many tensors `(..., d)` of a step the way back needs beside the state before it.
        products: How many gradients of pre-activations there are: 1 if that of x W is that of h U as well, else 2.
        advance: `(x W + b, h U, state) -> (state, kept)`, the former two `(..., G d)`.
        retreat: `(gradient of the state, state before, kept) -> (gradients of x W and of h U, gradient of the state
            before)`, the last one without what comes through h U; None stands for zero.
    """

    gates: int
    states: int
    kept: int
    products: int
    advance: Callable[[Tensor, Tensor, Tensors], tuple[Tensors, Tensors]]
    retreat: Callable[[Tensors, Tensors, Tensors], tuple[Tensors, tuple[Tensor | None, ...]]]


def _advance_lstm(projected: Tensor, product: Tensor, state: Tensors) -> tuple[Tensors, Tensors]:
    """i, f, o = sigmoid(x W + h U + b),  c~ = tanh(.),  c' = i * c~ + f * c,  h' = o * tanh(c')."""
    i, f, candidate, o = ops.split(projected + product, 4, axis=-1)
    i, f, o, candidate = ops.sigmoid(i), ops.sigmoid(f), ops.sigmoid(o), tanh(candidate)
    c = i * candidate + f * state[1]
    tanh_c = tanh(c)
    return (o * tanh_c, c), (i, f, candidate, o, tanh_c)


def _retreat_lstm(d_state: Tensors, before: Tensors, kept: Tensors) -> tuple[Tensors, tuple[Tensor | None, ...]]:
    (d_h, d_c), (_, c), (i, f, candidate, o, tanh_c) = d_state, before, kept
    d_c = d_c + d_h * o * (1 - tanh_c * tanh_c)
    d_a = ops.concatenate(
        [
            d_c * candidate * i * (1 - i),
            d_c * c * f * (1 - f),
            d_c * i * (1 - candidate * candidate),
            d_h * tanh_c * o * (1 - o),
        ],
        axis=-1,
    )
    return (d_a,), (None, d_c * f)


def _advance_gru(projected: Tensor, product: Tensor, state: Tensors) -> tuple[Tensors, Tensors]:
    """z, r = sigmoid(x W + h U + b),  h~ = tanh(x W + b + r * (h U + b)),  h' = z * h + (1 - z) * h~."""
    x_z, x_r, x_h = ops.split(projected, 3, axis=-1)
    h_z, h_r, h_h = ops.split(product, 3, axis=-1)
    z, r = ops.sigmoid(x_z + h_z), ops.sigmoid(x_r + h_r)
    candidate = tanh(x_h + r * h_h)
    return (z * state[0] + (1 - z) * candidate,), (z, r, candidate, h_h)


def _retreat_gru(d_state: Tensors, before: Tensors, kept: Tensors) -> tuple[Tensors, tuple[Tensor | None, ...]]:
    (d_h,), (h,), (z, r, candidate, h_h) = d_state, before, kept
    d_candidate = d_h * (1 - z) * (1 - candidate * candidate)
    d_z, d_r = d_h * (h - candidate) * z * (1 - z), d_candidate * h_h * r * (1 - r)
    d_projected = ops.concatenate([d_z, d_r, d_candidate], axis=-1)
    d_product = ops.concatenate([d_z, d_r, d_candidate * r], axis=-1)
    return (d_projected, d_product), (d_h * z,)


# By the names that layers take. The GRU is that of Keras with `reset_after=True`.
RECURRENT_CELLS = {
    "lstm": RecurrentCell(4, 2, 5, 1, _advance_lstm, _retreat_lstm),
    "gru": RecurrentCell(3, 1, 4, 2, _advance_gru, _retreat_gru),
}


class Recurrence(NamedTuple):
    """What a cell is run on; all but the first two may be None.

    Attributes:
        projected: x W + b of all words, `(time, batch, G d)`.
        recurrent_kernel: U, `(d, G d)`.
        recurrent_bias: Added to h U, `(G d,)`.
        mask: `(time, batch, 1)`, 1 at words and 0 at padding, which leaves the state as it is.
        noise: Factors of recurrent dropout for h where U multiplies it, `(batch, d)`.
    """

    projected: Tensor
    recurrent_kernel: Tensor
    recurrent_bias: Tensor | None = None
    mask: Tensor | None = None
    noise: Tensor | None = None

    @property
    def units(self) -> int:
        """The number of units, d."""
        return self.recurrent_kernel.shape[0]

    def read(self, h: Tensor) -> Tensor:
        """h, `(rows, batch, d)`, as it enters products."""
        return h if self.noise is None else h * self.noise

    def advance(
        self, cell: RecurrentCell, projected: Tensor, state: Tensors, active: Tensor | None
    ) -> tuple[Tensors, Tensors]:
        """One word, read by some rows.

        Args:
            cell: The cell.
            projected: x W + b of the word, `(batch, G d)`.
            state: Tensors `(rows, batch, d)`.
            active: Bool, which rows of which sentences read it, of a shape that goes with that of the state; None for
                all. The others stay as they are.

        Returns:
            The new state, and what `retreat` needs.
        """
        product = project(self.read(state[0]), self.recurrent_kernel)
        if self.recurrent_bias is not None:
            product = product + self.recurrent_bias
        new, kept = cell.advance(projected, product, state)
        if active is not None:
            new = tuple(ops.where(active, x, old) for x, old in zip(new, state, strict=True))
        return new, kept

    def retreat(
        self,
        cell: RecurrentCell,
        transposed_kernel: Tensor,
        d_state: Tensors,
        before: Tensors,
        kept: Tensors,
        active: Tensor | None,
    ) -> tuple[Tensors, Tensors]:
        """The way back.

        Args:
            cell: The cell.
            transposed_kernel: That of U, which a loop computes once.
            d_state: The gradient of the new state.
            before: The state before.
            kept: What `advance` returned.
            active: As of `advance`.

        Returns:
            The gradients of x W and h U (one tensor, if they are the same), `(rows, batch, G d)`, and that of the
            state before.
        """
        held: Tensors = ()
        if active is not None:
            zero = ops.zeros_like(d_state[0])
            held = tuple(ops.where(active, zero, x) for x in d_state)
            d_state = tuple(ops.where(active, x, zero) for x in d_state)
        products, direct = cell.retreat(d_state, before, kept)
        through_product = self.read(project(products[-1], transposed_kernel))
        d_before = [through_product if direct[0] is None else direct[0] + through_product, *direct[1:]]
        if held:
            d_before = [x + y for x, y in zip(d_before, held, strict=True)]
        return products, tuple(d_before)

    def no_gradients(self) -> Tensors:
        """Zero for U and, where there is one, for the recurrent bias, in at least float32: see `add_gradients`."""
        wide = accumulation_dtype(keras.backend.standardize_dtype(self.projected.dtype))
        weights = (self.recurrent_kernel, self.recurrent_bias)
        return tuple(ops.zeros(weight.shape, wide) for weight in weights if weight is not None)

    def add_gradients(self, sums: Tensors, before: Tensors, products: Tensors) -> tuple[Tensor, Tensors]:
        """The gradients of what rows and words share, from those of one word or, in front of all shapes, of several.

        Args:
            sums: The gradients of U and of the recurrent bias that other words gave.
            before: The state before.
            products: What `retreat` returned.

        Returns:
            The gradient of x W, `(batch, G d)`, and `sums` with what is added.
        """
        wide = accumulation_dtype(keras.backend.standardize_dtype(self.projected.dtype))
        d_projected = ops.cast(ops.sum(ops.cast(products[0], wide), axis=-3), self.projected.dtype)
        h = ops.reshape(self.read(before[0]), (-1, self.units))
        d_product = ops.reshape(products[-1], (-1, products[-1].shape[-1]))
        added = (ops.cast(ops.transpose(h) @ d_product, wide), ops.sum(ops.cast(d_product, wide), axis=0))
        return d_projected, tuple(x + y for x, y in zip(sums, added))

    def name_gradients(self, d_projected: Tensor, sums: Tensors) -> dict[str, Tensor]:
        """The gradients of all words by the names that the attributes have, with the dtypes of these."""
        d_weights = zip(("recurrent_kernel", "recurrent_bias"), sums)
        dtype = self.recurrent_kernel.dtype
        return {"projected": d_projected, **{name: ops.cast(x, dtype) for name, x in d_weights}}
