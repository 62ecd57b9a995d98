"""LSTM with normalised input and forget gates (Zhang, Liu, Song: Sentence-State LSTM, ACL 2018, eq. 1)."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.layers.masked_rnn import make_cell
from keras_slstm.layers.projected_rnn import ProjectedRNN
from keras_slstm.layers.state_checks import check_states
from keras_slstm.layers.weight_arguments import WeightArguments
from keras_slstm.ops.backend.precision import tanh
from keras_slstm.types import Shape, Tensor, Tensors
from keras_slstm.validation import check_features, check_integer


def normalized_lstm_step(pre_activation: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """One step of eq. 1, from x W + h U + b, `(batch, 4 d)`, and the previous cell c, `(batch, d)`, to (h, c)."""
    i_hat, f_hat, u, o = ops.split(pre_activation, 4, axis=-1)
    i_hat, f_hat, u, o = ops.sigmoid(i_hat), ops.sigmoid(f_hat), tanh(u), ops.sigmoid(o)
    i = ops.sigmoid(i_hat - f_hat)  # a softmax over two
    c = (1 - i) * c + i * u
    return o * tanh(c), c


@keras.saving.register_keras_serializable(package="keras_slstm")
class NormalizedLSTMCell(WeightArguments, keras.layers.Layer):
    """One step of an LSTM whose input and forget gates are normalised against each other.

        i^, f^, o = sigmoid(x_t W + h_{t-1} U + b),   u = tanh(.)
        i, f = softmax over (i^, f^), for each unit
        c_t = f * c_{t-1} + i * u,   h_t = o * tanh(c_t)

    The first h is a trained vector, the first c is zero. It runs in `keras.layers.RNN`, and so in
    `keras.layers.Bidirectional`; `NormalizedLSTM` is faster and has dropout.

    Args:
        units: Number d of units.
        kernel_initializer, recurrent_initializer, bias_initializer, initial_state_initializer: Initialisers
            of W, U, b and the first h.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularisers of W, U and b.
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints of W, U and b.

    Call arguments:
        inputs: x_t, `(batch, features)`.
        states: h_{t-1} and c_{t-1}, each `(batch, units)`.

    Returns:
        h_t, and the list of the new states h_t and c_t.

    Raises:
        ValueError: If `units` is not a positive integer, or the number of features is unknown.

    Weights:
        kernel: W, `(features, 4 units)`, gate order i, f, u, o (that of `keras.layers.LSTM`).
        recurrent_kernel: U, `(units, 4 units)`, same order.
        bias: b, `(4 units,)`, same order.
        initial_state: the first h, `(units,)`.

    Example:

    ```python
    words = keras.Input((None, 300))
    states = keras.layers.RNN(keras_slstm.layers.NormalizedLSTMCell(300), return_sequences=True)(words)
    ```
    """

    def __init__(
        self,
        units: int,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        initial_state_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units = check_integer("units", units, least=1)
        self.state_size = [self.units, self.units]
        self.output_size = self.units
        self.set_weight_arguments(locals())

    def build(self, input_shape: Shape) -> None:
        e, d = check_features(input_shape, self.name), self.units
        self.kernel = self.add_weight_like("kernel", "kernel", (e, 4 * d))
        self.recurrent_kernel = self.add_weight_like("recurrent", "recurrent_kernel", (d, 4 * d))
        self.bias = self.add_weight_like("bias", "bias", (4 * d,))
        self.initial_state = self.add_weight_like("initial_state", "initial_state", (d,))
        self.input_spec = keras.layers.InputSpec(axes={-1: e})
        self.built = True

    def call(self, inputs: Tensor, states: Any) -> tuple[Tensor, list[Tensor]]:
        check_states(states, self.state_size, inputs.shape[0], self.name)
        weights = self.weight_tensors()
        return self.step(weights, self.project(weights, ops.cast(inputs, self.compute_dtype)), states)

    def weight_tensors(self) -> Tensors:
        """W, U and b in the compute dtype."""
        return tuple(ops.cast(x, self.compute_dtype) for x in (self.kernel, self.recurrent_kernel, self.bias))

    def project(self, weights: Tensors, inputs: Tensor) -> Tensor:
        """Compute what does not depend on the states, x W + b, of one word or of all: `(..., 4 units)`."""
        kernel, _, bias = weights
        return inputs @ kernel + bias

    def step(self, weights: Tensors, projected: Tensor, states: Any) -> tuple[Tensor, list[Tensor]]:
        """Compute the rest of the step, from `project(weights, inputs)` and the states."""
        h, c = states
        h, c = normalized_lstm_step(projected + h @ weights[1], c)
        return h, [h, c]

    def get_initial_state(self, batch_size: Any = None) -> list[Tensor]:
        """The trained h and the zero c of every row, each `(batch, units)`."""
        if not self.built:
            raise ValueError(f"Build {self.name} first: its trained initial state is one of its weights.")
        zeros = ops.zeros((batch_size, self.units), dtype=self.compute_dtype)
        return [zeros + ops.cast(self.initial_state, self.compute_dtype), zeros]


@keras.saving.register_keras_serializable(package="keras_slstm")
class NormalizedLSTM(ProjectedRNN):
    """LSTM whose input and forget gates are normalised against each other: the baseline of the S-LSTM paper.

    The equations and the weights are those of `NormalizedLSTMCell` (`layer.cell`). x W + b is computed once
    for all words. Unlike in `keras.layers.LSTM`, outputs at masked positions are always 0, the last output is
    the state after the last *real* word wherever the padding is, and a row of padding gives zeros.

    Args:
        units: Number of units.
        dropout: Fraction of the inputs to drop, the same features for all words of a sentence.
        recurrent_dropout: Fraction of the units of h to drop before U multiplies it, the same for all words.
        seed: Seed of the dropout.
        return_sequences, return_state, go_backwards, stateful, unroll: As in `keras.layers.LSTM`.
        segment_length: For long texts: number of words per segment that the gradient recomputes, as in `CASLSTM`.
        **kwargs: The other arguments of `NormalizedLSTMCell` and `keras.layers.Layer`.

    Call arguments:
        sequences: `(batch, time, features)`.
        initial_state: States h and c to start from, each `(batch, units)`. Default: the trained h, and zero.
        mask: `(batch, time)` bool, True at real words; None if all are real. Padding may be anywhere.
        training: Whether to apply dropout.

    Returns:
        `(batch, units)`, or `(batch, time, units)` with `return_sequences` (in reading order with
        `go_backwards`); with `return_state`, followed by the final h and c, each `(batch, units)`.

    Raises:
        ValueError: If `units` is not a positive integer, a dropout rate is not in [0, 1), the number of features is
            unknown, or the input or the mask has the wrong shape.

    Weights:
        cell/kernel, cell/recurrent_kernel, cell/bias, cell/initial_state: see `NormalizedLSTMCell`.

    Example:

    ```python
    words = keras.Input((None, 300))
    layer = keras_slstm.layers.NormalizedLSTM(150, return_sequences=True)
    states = keras.layers.Bidirectional(layer)(words)  # (batch, time, 300)
    ```
    """

    # Marks the rows of a stateful layer that have read a word, `(batch, 1)`; the others start from the trained state.
    _started: Any = None

    def __init__(
        self,
        units: int,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        segment_length: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            make_cell(NormalizedLSTMCell, {"units": units}, kwargs),
            dropout,
            recurrent_dropout,
            seed,
            segment_length,
            return_sequences=return_sequences,
            return_state=return_state,
            go_backwards=go_backwards,
            stateful=stateful,
            unroll=unroll,
            **kwargs,
        )

    def build(self, sequences_shape: Shape, initial_state_shape: Any = None) -> None:
        super().build(sequences_shape, initial_state_shape)
        if self.stateful and self._started is None:
            started = keras.Variable("zeros", (sequences_shape[0], 1), trainable=False, name="started")
            object.__setattr__(self, "_started", started)  # untracked and not saved, as Keras' own states

    def call(
        self,
        sequences: Tensor,
        initial_state: Any = None,
        mask: Tensor | None = None,
        training: bool = False,
        sequences_mask: Tensor | None = None,
    ) -> Any:
        mask = sequences_mask if mask is None else mask
        if not self.stateful:
            return super().call(sequences, initial_state, mask, training)
        if initial_state is None:
            started = ops.cast(self._started.value, "bool")
            first = self.get_initial_state(self.states[0].shape[0])
            carried = (ops.cast(state, self.compute_dtype) for state in self.states)
            initial_state = [ops.where(started, x, y) for x, y in zip(carried, first, strict=True)]
        result = super().call(sequences, initial_state, mask, training)
        if mask is None:
            read = ops.ones_like(self._started.value)
        else:
            read = ops.any(ops.cast(mask, "bool"), axis=1, keepdims=True)
        self._started.assign(ops.maximum(self._started.value, ops.cast(read, self._started.dtype)))
        return result

    def reset_state(self) -> None:
        """Return to the trained first h and the zero c (with `stateful`)."""
        if self.states is not None:
            for state, value in zip(self.states, self.get_initial_state(self.states[0].shape[0])):
                state.assign(value)
            self._started.assign(ops.zeros_like(self._started.value))
