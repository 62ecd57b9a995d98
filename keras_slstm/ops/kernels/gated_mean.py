"""The gated mean with a hand-written gradient."""

from __future__ import annotations

from collections.abc import Sequence

from keras import ops

from keras_slstm.ops import slstm as equation
from keras_slstm.ops.backend import direct
from keras_slstm.ops.backend.eager import keeps_no_graph, torch_compiles
from keras_slstm.ops.kernels.tensorflow_ops import add_all, sigmoid_gradient
from keras_slstm.ops.reference import kernel_of
from keras_slstm.types import Tensor


@kernel_of(equation.gated_mean)
def gated_mean(pre_activations: Sequence[Tensor], values: Sequence[Tensor]) -> Tensor:
    """Stores only its arguments, where autodiff would store every gate, and runs fewer operations.

    Not used by `torch.compile`, which itself chooses what to store, and does not trace hand-written gradients of a
    tensor that occurs twice.
    """
    if torch_compiles():
        return equation.gated_mean(pre_activations, values)
    if keeps_no_graph():
        return _weigh([direct.sigmoid(a) for a in pre_activations], values)[2]
    return _gated_mean(*pre_activations, *values)


@ops.custom_gradient
def _gated_mean(*pre_activations_and_values: Tensor) -> Tensor:
    count = len(pre_activations_and_values) // 2
    pre_activations, values = pre_activations_and_values[:count], pre_activations_and_values[count:]

    def gradient(*args: Tensor, upstream: Tensor | None = None) -> tuple[Tensor, ...]:
        d_mean = args[0] if upstream is None else upstream  # PyTorch passes it by name, the others by position
        gates = [direct.sigmoid(a) for a in pre_activations]
        # Recomputed, because PyTorch never frees a gradient that refers to the result of its function.
        weights, total, mean = _weigh(gates, values)
        scaled = d_mean / total
        d_values = [scaled * w for w in weights]
        # d mean / d weight = (value - mean) / total, d weight / d gate = weight
        d_pre_activations = [
            sigmoid_gradient(gate, dv * (v - mean)) for dv, v, gate in zip(d_values, values, gates, strict=True)
        ]
        return (*d_pre_activations, *d_values)

    return _weigh([direct.sigmoid(a) for a in pre_activations], values)[2], gradient


def _weigh(gates: Sequence[Tensor], values: Sequence[Tensor]) -> tuple[list[Tensor], Tensor, Tensor]:
    """Return the weights of the values, their sum, and the weighted mean."""
    weights = [direct.exp(gate) for gate in gates]
    total = add_all(weights)
    return weights, total, add_all([w * v for w, v in zip(weights, values, strict=True)]) / total
