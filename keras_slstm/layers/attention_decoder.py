"""Recurrent decoder with attention (Luong, Pham and Manning, 2015)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_slstm.layers.masked_inputs import masked_inputs
from keras_slstm.layers.state_checks import check_states
from keras_slstm.layers.weight_arguments import WeightArguments
from keras_slstm.ops.attention import Memory, attend, remember
from keras_slstm.ops.backend.precision import tanh
from keras_slstm.ops.backend.traceable import untraced
from keras_slstm.ops.masks import pad_empty, zero_padding
from keras_slstm.types import Shape, Tensor
from keras_slstm.validation import check_features, check_integer, check_non_negative

CONTEXT_GAIN = 4.0  # docs/defaults.md


@keras.saving.register_keras_serializable(package="keras_slstm")
class AttentionDecoder(WeightArguments, keras.layers.Layer):
    """Luong's decoder with input feeding: reads a sequence x and attends to another one, m, at every step.

    It takes any recurrent cell, and scores m by the "general" form of eq. 8. It starts from h~_0 = 0:

        h_t = cell([x_t; h~_{t-1}], states)                              (input feeding, section 3.3)
        a_t(s) = softmax over the unmasked s of h_t W_a m_s              (eq. 7 and 8)
        c_t = sum_s a_t(s) m_s
        h~_t = tanh([c_t; h_t] W_c)                                      (eq. 5)

    The output is h~, from which the paper predicts the next word by softmax(h~_t W_s). Masked positions of x keep all
    states and output 0; masked positions of m have weight 0. Neither receives a gradient. Scores, softmax and sum are
    computed in at least float32.

    Args:
        cell: A cell for `keras.layers.RNN`, whose output is h: `CASLSTMCell(256)`, `keras.layers.LSTMCell(256)`, or
            several cells in `keras.layers.StackedRNNCells`. It should have the dtype policy of this layer.
        units: Size of h~. Default: the size of h.
        attention_initializer, combination_initializer: Initialisers of W_a and W_c.
        attention_regularizer, combination_regularizer: Their regularisers.
        attention_constraint, combination_constraint: Their constraints.
        context_gain: Factor on the initial rows of W_c that multiply c. As an average, c varies less than h: with a
            factor of 1, attention may be learned late or not at all.

    Call arguments:
        sequences: x, `(batch, time, features)`.
        memory: m, `(batch, memory time, memory features)`.
        initial_state: The initial states of the cell, as a flat list of `(batch, ...)` tensors. For a `CASLSTMCell`,
            these are the states that `CASLSTM(..., return_state=True)` returns. Default: the cell's own initial states.
        mask: `(batch, time)` bool, True at the words of x, or None. Padding may be anywhere.
        memory_mask: `(batch, memory time)` bool, the same for m. If all of m is masked, c = 0.

    Returns:
        h~ of all words, `(batch, time, units)`, 0 at masked positions, in the compute dtype.

    Raises:
        ValueError: If `units` is neither a positive integer nor None, `cell` is not a recurrent cell, the number of
            features of an input is unknown, a mask has the wrong shape, or the number of initial states is wrong.

    Weights:
        cell/...: the weights of the cell, whose input is x_t followed by h~_{t-1}.
        attention_kernel: W_a, `(d, memory features)`, for h of d features.
        combination_kernel: W_c, `(memory features + d, units)`, c first.

    Example:

    ```python
    words, source = keras.Input((None, 256)), keras.Input((None, 256))
    m, *states = keras_slstm.CASLSTM(256, return_sequences=True, return_state=True)(source)
    decoder = keras_slstm.layers.AttentionDecoder(keras_slstm.layers.CASLSTMCell(256))
    vectors = decoder(words, m, initial_state=states)  # (batch, time, 256)
    ```

    Reference:
        [Luong, Pham and Manning, 2015](https://aclanthology.org/D15-1166/)
    """

    def __init__(
        self,
        cell: keras.layers.Layer,
        units: int | None = None,
        attention_initializer: Any = "glorot_uniform",
        combination_initializer: Any = "glorot_uniform",
        attention_regularizer: Any = None,
        combination_regularizer: Any = None,
        attention_constraint: Any = None,
        combination_constraint: Any = None,
        context_gain: float = CONTEXT_GAIN,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not isinstance(cell, keras.layers.Layer) or not hasattr(cell, "state_size"):
            raise ValueError(f"`cell` must be a recurrent cell, a Keras layer with a `state_size`, but got {cell!r}.")
        self.cell = cell
        self.units = None if units is None else check_integer("units", units, least=1)
        self.context_gain = check_non_negative("context_gain", context_gain)
        self.set_weight_arguments(locals())
        self.supports_masking = True

    @property
    def output_size(self) -> int:
        """Size of h~."""
        return self.units or self._cell_output_size()

    def _cell_output_size(self) -> int:
        size = getattr(self.cell, "output_size", None)
        return keras.tree.flatten(self.cell.state_size)[0] if size is None else size

    def build(self, sequences_shape: Shape, memory_shape: Shape) -> None:
        e, m = check_features(sequences_shape, self.name), check_features(memory_shape, self.name)
        d = self._cell_output_size()
        if not self.cell.built:  # a cell from a config may be built already
            self.cell.build((sequences_shape[0], e + self.output_size))
        self.attention_kernel = self.add_weight_like("attention", "attention_kernel", (d, m))
        gains = np.repeat([self.context_gain, 1.0], [m, d])[:, None]
        self.combination_kernel = self.add_weight_like(
            "combination", "combination_kernel", (m + d, self.output_size), gains=gains
        )
        self.built = True

    def call(
        self,
        sequences: Tensor,
        memory: Tensor,
        initial_state: list[Tensor] | None = None,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        sequences_mask: Tensor | None = None,
    ) -> Tensor:
        # Because there is a second input, Keras passes the implicit mask of the sequences as `sequences_mask`.
        sequences, mask = masked_inputs(self, sequences, sequences_mask if mask is None else mask)
        if sequences.shape[0] == 0:
            return ops.zeros((*ops.shape(sequences)[:2], self.output_size), dtype=self.compute_dtype)
        time = ops.shape(sequences)[1]
        sequences, mask = pad_empty(sequences, mask)
        states = self.first_states(ops.shape(sequences)[0], initial_state)
        outputs = self._loop(sequences, states, mask, self.remember(memory, memory_mask))
        return zero_padding(outputs, mask)[:, :time]

    @untraced  # it creates a layer, which `torch.compile` cannot trace
    def _loop(self, sequences: Tensor, states: list[Tensor], mask: Tensor | None, memory: Memory) -> Tensor:
        # This RNN only runs the loop: it is never called as a layer and owns no weights.
        loop = keras.layers.RNN(_Step(self, memory), return_sequences=True, name="loop")
        # As in `RNN.call`: Keras' cells draw one dropout mask for all words, before the loop.
        first = ops.concatenate([sequences[:, 0], states[0]], axis=-1)
        loop._maybe_config_dropout_masks(self.cell, first, _nested(self.cell.state_size, iter(states[1:])))
        _, outputs, _ = loop.inner_loop(sequences, states, mask)
        loop._maybe_reset_dropout_masks(self.cell)
        return outputs

    # A beam search generates one word at a time and calls these parts of `call` itself.

    def remember(self, memory: Tensor, mask: Tensor | None = None) -> Memory:
        """Prepare the encoded words that `step` attends to.

        Args:
            memory, mask: m and its mask; see the call arguments.
        """
        memory, mask = masked_inputs(self, memory, mask)
        return remember(memory, mask, ops.cast(self.attention_kernel, self.compute_dtype))

    def first_states(self, batch: Any, initial_state: list[Tensor] | None = None) -> list[Tensor]:
        """Return the initial states of `step`: h~_0 = 0, then those of the cell; `(batch, ...)` each."""
        if initial_state is None:
            initial_state = self.cell.get_initial_state(batch)
        states = keras.tree.flatten(initial_state)
        check_states(states, keras.tree.flatten(self.cell.state_size), batch, self.name, "initial states")
        nothing = ops.zeros((batch, self.output_size), dtype=self.compute_dtype)
        return [nothing, *(ops.cast(state, self.compute_dtype) for state in states)]

    def step(self, x: Tensor, states: list[Tensor], memory: Memory) -> tuple[Tensor, list[Tensor]]:
        """Decode one word.

        Args:
            x: x_t, `(rows, features)`: one row, or n adjacent rows, for each sentence of the memory.
            states: The states after the previous word; see `first_states`.
            memory: The result of `remember`.

        Returns:
            h~_t, `(rows, units)`, and the new states, the first of which is h~_t.
        """
        fed, *cell_states = states
        h, nested = self.cell(ops.concatenate([x, fed], axis=-1), _nested(self.cell.state_size, iter(cell_states)))
        context, _ = attend(h, memory)
        output = tanh(ops.concatenate([context, h], axis=-1) @ ops.cast(self.combination_kernel, self.compute_dtype))
        return output, [output, *keras.tree.flatten(nested)]

    def compute_mask(self, sequences: Tensor, mask: Tensor | None = None) -> Tensor | None:
        return mask

    def compute_output_shape(self, sequences_shape: Shape, memory_shape: Shape | None = None) -> Shape:
        return (*sequences_shape[:2], self.output_size)


def _nested(sizes: Any, states: Iterator[Tensor]) -> Any:
    """Nest flat states as a cell expects them, in plain lists: JAX does not support Keras' tracked lists."""
    return [_nested(size, states) for size in sizes] if isinstance(sizes, (list, tuple)) else next(states)


class _Step:
    """The decoder as a cell for the loop over time. Its output h~ is also its first state."""

    def __init__(self, decoder: AttentionDecoder, memory: Memory) -> None:
        self.decoder = decoder
        self.memory = memory
        self.state_size = [decoder.output_size, *keras.tree.flatten(decoder.cell.state_size)]

    def call(self, x: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        return self.decoder.step(x, list(states), self.memory)

    __call__ = call
