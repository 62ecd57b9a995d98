"""Mixin that creates the weights of the S-LSTM transition."""

from __future__ import annotations

from keras_slstm.layers.weight_arguments import WeightArguments
from keras_slstm.ops.slstm import SLSTMWeights


class TransitionArguments(WeightArguments):
    """Mixin for layers that run the transition of `keras_slstm.ops.slstm`.

    The constructor of the layer takes the weight arguments `kernel_...`, `recurrent_...` and `bias_...`.
    """

    has_quantized_kernels = True

    def add_transition_weights(self, features: int, units: int, window: int = 1, sentence_nodes: int = 1) -> None:
        """Create the weights of eq. 2 and 3; the docstring of `SLSTM` lists their names, shapes and gate order."""
        d, k, m = units, window, sentence_nodes
        gates = 4 + 2 * k + m
        self.kernel = self.add_weight_like("kernel", "kernel", (features, gates * d))
        self.recurrent_kernel = self.add_weight_like("recurrent", "recurrent_kernel", ((2 * k + 1) * d, gates * d))
        self.bias = self.add_weight_like("bias", "bias", (gates * d,))
        if m:
            self.sentence_kernel = self.add_weight_like("recurrent", "sentence_kernel", (m * d, (gates - m) * d))
            self.sentence_gate_kernel = self.add_weight_like("recurrent", "sentence_gate_kernel", (d, m * d))
            self.node_kernel = self.add_weight_like("recurrent", "node_kernel", (d, 3 * m * d))
            self.node_recurrent_kernel = self.add_weight_like("recurrent", "node_recurrent_kernel", (d, 3 * m * d))
            self.node_bias = self.add_weight_like("bias", "node_bias", (3 * m * d,))

    def transition_weights(self) -> SLSTMWeights:
        """The weights as tensors; inside `call`, in the compute dtype."""
        weights = (getattr(self, name, None) for name in SLSTMWeights._fields)
        return SLSTMWeights(*(None if weight is None else self.kernel_value(weight) for weight in weights))
