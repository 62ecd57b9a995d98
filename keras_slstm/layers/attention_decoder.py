"""Recurrent decoder with attention (Luong, Pham, Manning: Effective Approaches to Attention-based NMT, EMNLP 2015)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
from keras import ops

from keras_slstm.layers.masked_inputs import masked_inputs
from keras_slstm.layers.weight_arguments import WeightArguments
from keras_slstm.ops.attention import Memory, attend, remember
from keras_slstm.ops.masks import zero_padding
from keras_slstm.ops.precision import tanh
from keras_slstm.types import Tensor
from keras_slstm.validation import check_features, check_integer


@keras.saving.register_keras_serializable(package="keras_slstm")
class AttentionDecoder(WeightArguments, keras.layers.Layer):
    """Reads a sequence x and attends, in every step, to another one, m: Luong's decoder with input feeding.

    With a recurrent cell of any kind, the general score (eq. 8 of the paper) and h~_0 = 0:

        h_t = cell([x_t; h~_{t-1}], states)                              (input feeding, section 3.3)
        a_t(s) = softmax over the real s of h_t W_a m_s                  (eq. 7 and 8)
        c_t = sum_s a_t(s) m_s
        h~_t = tanh([c_t; h_t] W_c)                                      (eq. 5)

    The output is h~, from which the paper predicts the next word, softmax(h~_t W_s). Masked positions of x keep all
    states and put out 0; masked positions of m have weight 0. Neither has a gradient. Scores, softmax and sum run in
    at least float32.

    Args:
        cell: A cell as `keras.layers.RNN` takes it, whose output is h: `CASLSTMCell(256)`, `keras.layers.LSTMCell`,
            several in `keras.layers.StackedRNNCells`. Its policy should be that of this layer.
        units: Size of h~. Default: that of h.
        attention_initializer, combination_initializer: Initialisers of W_a and W_c.
        attention_regularizer, combination_regularizer: Their regularisers.
        attention_constraint, combination_constraint: Their constraints.

    Call arguments:
        sequences: x, `(batch, time, features)`.
        memory: m, `(batch, memory time, memory features)`.
        initial_state: The first states of the cell, flat, `(batch, ...)` each: for a `CASLSTMCell` what
            `CASLSTM(..., return_state=True)` returns behind its output. Default: those of the cell, mostly zeros.
        mask: `(batch, time)` bool, True at real words of x, on either side or in between; None if all are real.
        memory_mask: `(batch, memory time)` bool, the same for m. A sentence without any real position has c = 0.

    Returns:
        h~ of all words, `(batch, time, units)`, 0 at masked positions, in the compute dtype.

    Raises:
        ValueError: If `units` is not a positive integer or None, `cell` is no cell, the number of features of an input
            is unknown, a mask does not fit, or the number of initial states is another.

    Weights:
        cell/...: those of the cell, whose input is x_t followed by h~_{t-1}.
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
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not isinstance(cell, keras.layers.Layer) or not hasattr(cell, "state_size"):
            raise ValueError(f"`cell` must be a recurrent cell, a Keras layer with a `state_size`, but got {cell!r}.")
        self.cell = cell
        self.units = None if units is None else check_integer("units", units, least=1)
        self.set_weight_arguments(
            attention_initializer=attention_initializer,
            combination_initializer=combination_initializer,
            attention_regularizer=attention_regularizer,
            combination_regularizer=combination_regularizer,
            attention_constraint=attention_constraint,
            combination_constraint=combination_constraint,
        )
        self.supports_masking = True

    @property
    def output_size(self) -> int:
        """Size of h~."""
        return self.units or self._cell_output_size()

    def _cell_output_size(self) -> int:
        size = getattr(self.cell, "output_size", None)
        return keras.tree.flatten(self.cell.state_size)[0] if size is None else size

    def build(self, sequences_shape: tuple, memory_shape: tuple) -> None:
        e, m = check_features(sequences_shape, self.name), check_features(memory_shape, self.name)
        d = self._cell_output_size()
        if not self.cell.built:  # as one from a config may be
            self.cell.build((sequences_shape[0], e + self.output_size))
        self.attention_kernel = self.add_weight_like("attention", "attention_kernel", (d, m))
        self.combination_kernel = self.add_weight_like("combination", "combination_kernel", (m + d, self.output_size))
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
        # Keras passes the mask that the sequences carry by this other name, as there is a memory beside them.
        sequences, mask = masked_inputs(self, sequences, sequences_mask if mask is None else mask)
        if 0 in sequences.shape[:2]:  # `RNN` cannot run no step
            return ops.zeros((*ops.shape(sequences)[:2], self.output_size), dtype=self.compute_dtype)
        states = self.first_states(ops.shape(sequences)[0], initial_state)
        # A loop only: it is never called as a layer and owns no weights.
        loop = keras.layers.RNN(_Step(self, self.remember(memory, memory_mask)), return_sequences=True, name="loop")
        # As `RNN.call` does it: cells of Keras draw what they drop once for all words, before the loop.
        first = ops.concatenate([sequences[:, 0], states[0]], axis=-1)
        loop._maybe_config_dropout_masks(self.cell, first, _nested(self.cell.state_size, iter(states[1:])))
        _, outputs, _ = loop.inner_loop(sequences, states, mask)
        loop._maybe_reset_dropout_masks(self.cell)
        return zero_padding(outputs, mask)

    # For searches, which write one word after the other.

    def remember(self, memory: Tensor, mask: Tensor | None = None) -> Memory:
        """The encoded words that `step` attends to.

        Args:
            memory, mask: m and its mask, as the layer is called with.
        """
        memory, mask = masked_inputs(self, memory, mask)
        return remember(memory, mask, ops.cast(self.attention_kernel, self.compute_dtype))

    def first_states(self, batch: Any, initial_state: list[Tensor] | None = None) -> list[Tensor]:
        """The first state of `step`: h~_0 = 0 and the first states of the cell, flat; `(batch, ...)` each."""
        if initial_state is None:
            initial_state = self.cell.get_initial_state(batch)
        states = keras.tree.flatten(initial_state)
        expected = len(keras.tree.flatten(self.cell.state_size))
        if len(states) != expected:
            raise ValueError(f"{self.name} expects {expected} initial states, but got {len(states)}.")
        for state in states:
            if isinstance(batch, int) and isinstance(state.shape[0], int) and state.shape[0] != batch:
                raise ValueError(
                    f"{self.name} expects initial states of {batch} rows, but got one of shape {tuple(state.shape)}."
                )
        nothing = ops.zeros((batch, self.output_size), dtype=self.compute_dtype)
        return [nothing, *(ops.cast(state, self.compute_dtype) for state in states)]

    def step(self, x: Tensor, states: list[Tensor], memory: Memory) -> tuple[Tensor, list[Tensor]]:
        """One word.

        Args:
            x: x_t, `(rows, features)`: one row for each sentence of the memory, or n, side by side.
            states: Those after the word before: see `first_states`.
            memory: See `remember`.

        Returns:
            h~_t, `(rows, units)`, and the new states, of which it is the first.
        """
        fed, *of_cell = states
        h, nested = self.cell(ops.concatenate([x, fed], axis=-1), _nested(self.cell.state_size, iter(of_cell)))
        context, _ = attend(h, memory)
        output = tanh(ops.concatenate([context, h], axis=-1) @ ops.cast(self.combination_kernel, self.compute_dtype))
        return output, [output, *keras.tree.flatten(nested)]

    def compute_mask(self, sequences: Tensor, mask: Tensor | None = None) -> Tensor | None:
        return mask

    def compute_output_shape(self, sequences_shape: tuple, memory_shape: tuple | None = None) -> tuple:
        return (*sequences_shape[:2], self.output_size)

    def get_config(self) -> dict[str, Any]:
        config = {"cell": keras.saving.serialize_keras_object(self.cell), "units": self.units}
        return {**super().get_config(), **config, **self.weight_config()}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> AttentionDecoder:
        return cls(**{**config, "cell": keras.saving.deserialize_keras_object(config["cell"])})


def _nested(sizes: Any, states: Iterator[Tensor]) -> Any:
    """States as a cell has them, in plain lists: those that Keras makes of a layer's attributes, JAX does not know."""
    return [_nested(size, states) for size in sizes] if isinstance(sizes, (list, tuple)) else next(states)


class _Step:
    """The decoder as the loop over time runs it: a cell, of which h~ is output and first state."""

    def __init__(self, decoder: AttentionDecoder, memory: Memory) -> None:
        self.decoder = decoder
        self.memory = memory
        self.state_size = [decoder.output_size, *keras.tree.flatten(decoder.cell.state_size)]

    def call(self, x: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        return self.decoder.step(x, list(states), self.memory)

    __call__ = call
