"""Minimal gated recurrent unit (Feng, Tung, Ahmed, Bengio, Hajimirsadegh: Were RNNs All We Needed?, 2024)."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.layers.masked_rnn import make_cell
from keras_slstm.layers.projected_rnn import ProjectedRNN
from keras_slstm.layers.state_checks import check_states
from keras_slstm.layers.weight_arguments import WeightArguments
from keras_slstm.types import Shape, Tensor, Tensors
from keras_slstm.validation import check_features, check_integer


@keras.saving.register_keras_serializable(package="keras_slstm")
class MinGRUCell(WeightArguments, keras.layers.Layer):
    """One step of a GRU whose gate and candidate do not read the state.

        z_t = sigmoid(x_t W_z + b_z),   h~_t = x_t W_h + b_h
        h_t = (1 - z_t) * h_{t-1} + z_t * h~_t

    It runs in `keras.layers.RNN`; `MinGRU` projects all words at once and has dropout.

    Args:
        units: Number d of units.
        kernel_initializer, bias_initializer: Initialisers of W and b.
        kernel_regularizer, bias_regularizer: Regularisers of W and b.
        kernel_constraint, bias_constraint: Constraints of W and b.

    Call arguments:
        inputs: x_t, `(batch, features)`.
        states: h_{t-1}, `(batch, units)`, in a list.

    Returns:
        h_t, and the list of the new state h_t.

    Raises:
        ValueError: If `units` is not a positive integer, or the number of features is unknown.

    Weights:
        kernel: W, `(features, 2 units)`, z before h~.
        bias: b, `(2 units,)`, same order.

    Example:

    ```python
    words = keras.Input((None, 300))
    states = keras.layers.RNN(keras_slstm.layers.MinGRUCell(300), return_sequences=True)(words)
    ```
    """

    def __init__(
        self,
        units: int,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units = check_integer("units", units, least=1)
        self.state_size = [self.units]
        self.output_size = self.units
        self.set_weight_arguments(locals())

    def build(self, input_shape: Shape) -> None:
        features = check_features(input_shape, self.name)
        self.kernel = self.add_weight_like("kernel", "kernel", (features, 2 * self.units))
        self.bias = self.add_weight_like("bias", "bias", (2 * self.units,))
        self.input_spec = keras.layers.InputSpec(axes={-1: features})
        self.built = True

    def call(self, inputs: Tensor, states: Any) -> tuple[Tensor, list[Tensor]]:
        check_states(states, self.state_size, inputs.shape[0], self.name)
        weights = self.weight_tensors()
        return self.step(weights, self.project(weights, ops.cast(inputs, self.compute_dtype)), states)

    def weight_tensors(self) -> Tensors:
        """W and b in the compute dtype."""
        return tuple(ops.cast(x, self.compute_dtype) for x in (self.kernel, self.bias))

    def project(self, weights: Tensors, inputs: Tensor) -> Tensor:
        """Compute x W + b of one word or of all, `(..., 2 units)`."""
        kernel, bias = weights
        return inputs @ kernel + bias

    def step(self, weights: Tensors, projected: Tensor, states: Any) -> tuple[Tensor, list[Tensor]]:
        """Compute the rest of the step from `project(weights, inputs)` and the state; it does not read `weights`."""
        (h,) = states
        z, candidate = ops.split(projected, 2, axis=-1)
        z = ops.sigmoid(z)
        h = (1 - z) * h + z * candidate
        return h, [h]

    def get_initial_state(self, batch_size: Any = None) -> list[Tensor]:
        """Zeros for every row, `(batch, units)`."""
        return [ops.zeros((batch_size, self.units), dtype=self.compute_dtype)]


@keras.saving.register_keras_serializable(package="keras_slstm")
class MinGRU(ProjectedRNN):
    """GRU whose gate and candidate do not read the state: a small baseline (Feng et al. 2024, section 3.1).

    The equations and the weights are those of `MinGRUCell` (`layer.cell`). Unlike in `keras.layers.GRU`, outputs at
    masked positions are always 0, the last output is the state after the last *real* word wherever the padding is, and
    a row of padding gives zeros. A gate reads only its own word, so stack several layers, as `encoder="mingru"` of the
    text models does.

    Args:
        units: Number of units.
        dropout: Fraction of the inputs to drop, the same features for all words of a sentence.
        seed: Seed of the dropout.
        return_sequences, return_state, go_backwards, stateful, unroll: As in `keras.layers.GRU`.
        segment_length: For long texts: number of words per segment that the gradient recomputes, as in `CASLSTM`.
        **kwargs: The other arguments of `MinGRUCell` and `keras.layers.Layer`.

    Call arguments:
        sequences: `(batch, time, features)`.
        initial_state: State h to start from, `(batch, units)`, in a list. Default: zero.
        mask: `(batch, time)` bool, True at real words; None if all are real. Padding may be anywhere.
        training: Whether to apply dropout.

    Returns:
        `(batch, units)`, or `(batch, time, units)` with `return_sequences` (in reading order with
        `go_backwards`); with `return_state`, followed by the final h, `(batch, units)`.

    Raises:
        ValueError: If `units` is not a positive integer, the dropout rate is not in [0, 1), the number of features is
            unknown, or the input or the mask has the wrong shape.

    Weights:
        cell/kernel, cell/bias: see `MinGRUCell`.

    Example:

    ```python
    words = keras.Input((None, 300))
    layer = keras_slstm.layers.MinGRU(150, return_sequences=True)
    states = keras.layers.Bidirectional(layer)(words)  # (batch, time, 300)
    ```
    """

    def __init__(
        self,
        units: int,
        dropout: float = 0.0,
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
            make_cell(MinGRUCell, {"units": units}, kwargs),
            dropout,
            0.0,
            seed,
            segment_length,
            return_sequences=return_sequences,
            return_state=return_state,
            go_backwards=go_backwards,
            stateful=stateful,
            unroll=unroll,
            **kwargs,
        )

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["recurrent_dropout"]  # no product reads the state
        return config
