"""Base class of the recurrent layers that project all words before Keras' loop over time."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.layers.masked_rnn import MaskedRNN
from keras_slstm.ops.backend.traceable import untraced
from keras_slstm.ops.dropout import dropout_mask
from keras_slstm.types import Tensor, Tensors


class ProjectedRNN(MaskedRNN):
    """A `MaskedRNN` whose cell computes `project` once for all words, and `step` in the loop.

    The cell has `weight_tensors()`, `project(weights, inputs)` and `step(weights, projected, states)`.
    """

    def loop_weights(self) -> Tensors:
        return self.cell.weight_tensors()  # type: ignore[no-any-return]

    @untraced  # it creates a layer, which `torch.compile` cannot trace
    def loop(
        self, weights: Any, sequences: Tensor, initial_state: Any, mask: Tensor | None, training: bool
    ) -> tuple[Tensor, Tensor, list[Tensor]]:
        h_mask = None
        if self.dropout and training:
            sequences = sequences * dropout_mask(sequences[:, :1], self.dropout, self.seed_generator)
        if self.recurrent_dropout and training:
            h_mask = dropout_mask(initial_state[0], self.recurrent_dropout, self.seed_generator)
        if self.go_backwards:  # Keras cannot do this in an unrolled loop on PyTorch
            sequences = ops.flip(sequences, axis=1)
            mask = None if mask is None else ops.flip(mask, axis=1)
        # This RNN only runs the loop: it is never called as a layer and owns no weights.
        loop = keras.layers.RNN(
            _Recurrence(self.cell, weights, h_mask),
            return_sequences=self.return_sequences,
            stateful=self.stateful,
            unroll=self.unroll,
            name="loop",
        )
        _, outputs, states = loop.inner_loop(self.cell.project(weights, sequences), initial_state, mask)
        # The last output of Keras may belong to a masked position; the state never does.
        return states[0], outputs, states


class _Recurrence:
    """The cell in the loop over time: inputs are already projected, and all steps share one dropout mask."""

    def __init__(self, cell: Any, weights: Tensors, dropout_mask: Tensor | None) -> None:
        self.cell = cell
        self.weights = weights
        self.dropout_mask = dropout_mask
        self.state_size = cell.state_size

    def call(self, projected: Tensor, states: Any) -> tuple[Tensor, list[Tensor]]:
        h, *rest = states
        h = h if self.dropout_mask is None else h * self.dropout_mask
        return self.cell.step(self.weights, projected, [h, *rest])  # type: ignore[no-any-return]

    __call__ = call
