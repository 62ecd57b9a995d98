"""Mixin that creates the weights of the S-LSTM transition."""

from __future__ import annotations

from typing import Any

import keras

from keras_slstm.layers.weight_arguments import WeightArguments
from keras_slstm.ops.slstm import SLSTMWeights
from keras_slstm.types import Shape


def recurrent_gain(window: int, sentence_nodes: int) -> float:
    """The default gain of recurrent kernels: twice the number of gates in the softmax of a word.

    Each of these n gates starts at 1/n, and the output gate at 1/2, so that h starts 2 n times smaller than u. With a
    gain of 1, the layer would hardly read the context at first: h would add less than a tenth of what x adds.
    """
    return 2.0 * (2 + 2 * window + sentence_nodes)


class TransitionArguments(WeightArguments):
    """Mixin for layers that run the transition of `keras_slstm.ops.slstm`.

    The constructor of the layer takes the weight arguments `kernel_...`, `recurrent_...` and `bias_...`. None as
    `recurrent_initializer` stands for orthogonal matrices with the gain of `recurrent_gain`.
    """

    has_quantized_kernels = True

    def add_transition_weights(self, features: int, units: int, window: int = 1, sentence_nodes: int = 1) -> None:
        """Create the weights of eq. 2 and 3; the docstring of `SLSTM` lists their names, shapes and gate order."""
        d, k, m = units, window, sentence_nodes
        gates = 4 + 2 * k + m
        gain = recurrent_gain(k, m)
        self.kernel = self.add_weight_like("kernel", "kernel", (features, gates * d))
        self.recurrent_kernel = self._add_recurrent("recurrent_kernel", ((2 * k + 1) * d, gates * d), gain)
        self.bias = self.add_weight_like("bias", "bias", (gates * d,))
        if m:
            self.sentence_kernel = self._add_recurrent("sentence_kernel", (m * d, (gates - m) * d), gain)
            self.sentence_gate_kernel = self._add_recurrent("sentence_gate_kernel", (d, m * d), gain)
            self.node_kernel = self._add_recurrent("node_kernel", (d, 3 * m * d), gain)
            self.node_recurrent_kernel = self._add_recurrent("node_recurrent_kernel", (d, 3 * m * d), gain)
            self.node_bias = self.add_weight_like("bias", "node_bias", (3 * m * d,))

    def _add_recurrent(self, name: str, shape: Shape, gain: float) -> Any:
        default = keras.initializers.Orthogonal(gain) if self.recurrent_initializer is None else None  # type: ignore[attr-defined]
        weight = self.add_weight_like("recurrent", name, shape, default)
        weight.state_units = self.units  # type: ignore[attr-defined]  # for `RecurrentMuon` and `RecurrentAdam`
        return weight

    def transition_weights(self) -> SLSTMWeights:
        """The weights as tensors; inside `call`, in the compute dtype."""
        weights = (getattr(self, name, None) for name in SLSTMWeights._fields)
        return SLSTMWeights(*(None if weight is None else self.kernel_value(weight) for weight in weights))
