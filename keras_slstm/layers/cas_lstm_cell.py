"""One step of a CAS-LSTM (Choi, Kim, Lee: Cell-aware Stacked LSTMs for Modeling Sentences, ACML 2019)."""

from __future__ import annotations

from numbers import Real
from typing import Any

import keras
from keras import ops

from keras_slstm.layers.state_checks import check_states
from keras_slstm.layers.weight_arguments import WeightArguments
from keras_slstm.ops import cas_lstm
from keras_slstm.types import Shape, Tensor
from keras_slstm.validation import check_bool, check_features, check_integer


@keras.saving.register_keras_serializable(package="keras_slstm")
class CASLSTMCell(WeightArguments, keras.layers.Layer):
    """One step of a stack of LSTMs whose layers also read the cells of the layer below.

    Layer 1 is a plain LSTM (eq. 1-6 of the paper). A layer l > 1, with h_t^0 = x_t (eq. 7-13):

        i, f, o, g = sigmoid(h_t^{l-1} W + h_{t-1}^l U + b),   c~ = tanh(.)
        c_t^l = i * c~ + (1 - lam) * f * c_{t-1}^l + lam * g * c_t^{l-1},   h_t^l = o * tanh(c_t^l)

    With `peephole` (eq. 17-18) there is no lam, and h_{t-1}^l has no part in the vertical gate:

        g = sigmoid(h_t^{l-1} W_g + p1 * c_{t-1}^l + p2 * c_t^{l-1} + b_g)
        c_t^l = i * c~ + f * c_{t-1}^l + g * c_t^{l-1}

    The equations are in `keras_slstm/ops/cas_lstm.py`. The first states are zero. The cell runs in `keras.layers.RNN`
    and in decoders; `CASLSTM` runs it over whole sentences, several times faster, and has dropout.

    Args:
        units: Number d of units of every layer.
        num_layers: Number of layers.
        lam: A constant in [0, 1] (the paper uses 0.5, and tries 0.25 and 0.75), `"trainable"` for a trained vector
            in (0, 1) in every layer, or None to add both cells with weight 1. With 0, this is a plain stacked LSTM.
        peephole: Whether to compute g by eq. 17. Do not set `lam` then.
        unit_forget_bias: Whether the forget gates f and g start open, with a bias of 1.
        kernel_initializer, recurrent_initializer, bias_initializer, peephole_initializer: Initialisers of W, U, b,
            and of p1 and p2.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularisers of W, U and b.
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints of W, U and b.

    Call arguments:
        inputs: x_t, `(batch, features)`.
        states: [[h1, c1], [h2, c2], ...], from the lowest layer up, each `(batch, units)`; or the same as a flat list,
            as in `CASLSTM`.

    Returns:
        h_t of the highest layer, `(batch, units)`, and the new states, nested or flat like the given ones. (In
        `keras.layers.RNN` they are nested: on JAX, it would return the first of flat states as the last output if a
        sentence ends in padding. Because Keras cannot nest them once more, an RNN of a list of cells takes no symbolic
        input with `return_state=True`.)

    Raises:
        ValueError: If an argument is out of range, the number of features is unknown, or the number of states is wrong.

    Weights:
        For each layer l = 1, 2, ..., with e features in layer 1 and e = d above it; gate order i, f, c~, o, then g,
        which layer 1 does not have:

        - kernel_l: W, `(e, 4 d)` in layer 1, `(d, 5 d)` above it.
        - recurrent_kernel_l: U, `(d, 4 d)` in layer 1, `(d, 5 d)` above it; with `peephole` `(d, 4 d)` everywhere.
        - bias_l: b, `(4 d,)` in layer 1, `(5 d,)` above it.
        - lam_l: lam before the sigmoid, `(d,)`, starting at 0, for l > 1 with `lam="trainable"`.
        - peephole_l: p1 and p2, `(2, d)`, for l > 1 with `peephole`.

        They are in the lists `kernels`, `recurrent_kernels`, `biases`, `lams` and `peepholes`, with one entry per layer
        (None if a layer has none). The weights of a `keras.layers.LSTM` fit layer 1, and the first four gates of the
        layers above it.

    Example:

    ```python
    words = keras.Input((None, 300))
    states = keras.layers.RNN(keras_slstm.layers.CASLSTMCell(300), return_sequences=True)(words)
    ```

    Reference:
        [Choi, Kim and Lee, 2019](https://proceedings.mlr.press/v101/choi19a.html)
    """

    has_quantized_kernels = True

    def __init__(
        self,
        units: int,
        num_layers: int = 2,
        lam: float | str | None = 0.5,
        peephole: bool = False,
        unit_forget_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        peephole_initializer: Any = "zeros",
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
        self.num_layers = check_integer("num_layers", num_layers, least=1)
        self.peephole = check_bool("peephole", peephole)
        self.lam = _check_lam(lam, self.peephole)
        self.unit_forget_bias = check_bool("unit_forget_bias", unit_forget_bias)
        self.state_size = [[self.units] * 2 for _ in range(self.num_layers)]
        self.output_size = self.units
        self.set_weight_arguments(locals())

    def build(self, input_shape: Shape) -> None:
        e, d = check_features(input_shape, self.name), self.units
        kernels, recurrent_kernels, biases, lams, peepholes = [], [], [], [], []
        for layer in range(1, self.num_layers + 1):
            gates = 4 if layer == 1 else 5
            recurrent = 4 if self.peephole else gates
            lam = peephole = None
            kernels.append(self.add_weight_like("kernel", f"kernel_{layer}", (e, gates * d)))
            recurrent_kernels.append(self.add_weight_like("recurrent", f"recurrent_kernel_{layer}", (d, recurrent * d)))
            biases.append(self.add_weight_like("bias", f"bias_{layer}", (gates * d,), self._first_bias))
            if layer > 1 and self.lam == "trainable":
                lam = self.add_weight(name=f"lam_{layer}", shape=(d,), initializer="zeros")
            if layer > 1 and self.peephole:
                peephole = self.add_weight_like("peephole", f"peephole_{layer}", (2, d))
            lams.append(lam)
            peepholes.append(peephole)
            e = d
        self.kernels, self.recurrent_kernels, self.biases = kernels, recurrent_kernels, biases
        self.lams, self.peepholes = lams, peepholes
        self.input_spec = keras.layers.InputSpec(axes={-1: kernels[0].shape[0]})
        self.built = True

    def _first_bias(self, shape: Shape, dtype: Any = None) -> Tensor:
        bias = self.bias_initializer(shape, dtype=dtype)
        if not self.unit_forget_bias:
            return bias
        gates = ops.split(bias, shape[0] // self.units)
        for forget in (1, 4)[: len(gates) - 3]:  # f and, above layer 1, g
            gates[forget] = ops.ones_like(gates[forget])
        return ops.concatenate(gates)

    def layer_weights(self) -> list[cas_lstm.LayerWeights]:
        """The weights of each layer, from the lowest, in the compute dtype."""

        def cast(weight: Any) -> Tensor:
            return None if weight is None else ops.cast(weight, self.compute_dtype)

        layers = []
        for index in range(self.num_layers):
            lam = ops.sigmoid(cast(self.lams[index])) if self.lams[index] is not None else self.lam
            layers.append(
                cas_lstm.LayerWeights(
                    kernel=cast(self.kernel_value(self.kernels[index])),
                    recurrent_kernel=cast(self.kernel_value(self.recurrent_kernels[index])),
                    bias=cast(self.biases[index]),
                    lam=lam if index else None,  # layer 1 has none
                    peephole=cast(self.peepholes[index]),
                )
            )
        return layers

    def call(self, inputs: Tensor, states: Any) -> tuple[Tensor, Any]:
        flat = keras.tree.flatten(states)
        check_states(flat, [self.units] * 2 * self.num_layers, inputs.shape[0], self.name)
        x, lower_cell, new_states = ops.cast(inputs, self.compute_dtype), None, []
        for weights, h, c in zip(self.layer_weights(), flat[::2], flat[1::2], strict=True):
            x, lower_cell = cas_lstm.step(weights, x, h, c, lower_cell)
            new_states += [x, lower_cell]
        return x, keras.tree.pack_sequence_as(states, new_states)

    def get_initial_state(self, batch_size: Any = None) -> list[list[Tensor]]:
        """Zeros, `(batch, units)` each."""
        return [[ops.zeros((batch_size, d), dtype=self.compute_dtype) for d in sizes] for sizes in self.state_size]


def _check_lam(lam: Any, peephole: bool) -> float | str | None:
    if peephole:
        if lam not in (0.5, None):
            raise ValueError(f"`lam` must be None with `peephole`, whose equation (18) has none, but got {lam!r}.")
        return None
    if lam is None or (isinstance(lam, str) and lam == "trainable"):
        return lam
    if not isinstance(lam, Real) or isinstance(lam, bool) or not 0 <= float(lam) <= 1:
        raise ValueError(f'`lam` must be a number in [0, 1], "trainable" or None, but got {lam!r}.')
    return float(lam)
