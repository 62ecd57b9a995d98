"""Muon for the recurrent kernels of the S-LSTM and the depth-adaptive GRN, Adam for all other weights."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_slstm")
class RecurrentMuon(keras.optimizers.Muon):  # type: ignore[misc]
    """Muon for the recurrent kernels of `SLSTM` and `DepthAdaptiveGRN`, Adam for all other weights.

    The states of these layers are small and similar, because a softmax over many gates averages them. The gradient of
    a recurrent kernel then has a few large singular values, and Adam hardly moves the kernel in the other directions.
    Muon replaces the gradient, averaged over updates, with an orthogonal matrix, so that it moves the kernel equally
    far in all directions. A kernel holds several matrices of the equations side by side, one for each gate and
    neighbour; each of them has its own orthogonal matrix.

    Args:
        learning_rate: A number or a schedule. An update changes the elements of a recurrent kernel by about this value
            (root mean square), as Adam changes all other weights.
        rms_rate: That change, as a multiple of `learning_rate`.
        ns_steps: Newton-Schulz iterations. Three bring every singular value of at least a fiftieth of the matrix's
            Frobenius norm to between 0.67 and 1.21; Keras' five do so from a six-hundredth on, and take longer.
        weight_decay: The weight decay of all weights, or None.
        **options: Further arguments of `keras.optimizers.Muon`, for example `global_clipnorm`.

    Reference:
        Jordan et al., [Muon: An optimizer for hidden layers in neural networks](https://kellerjordan.github.io/posts/muon/),
        2024; the scale of the update: Liu et al., [Muon is scalable for LLM training](https://arxiv.org/abs/2502.16982),
        2025.

    Example:

    ```python
    model.compile(keras_slstm.training.RecurrentMuon(2e-3), loss="sparse_categorical_crossentropy")
    ```
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rms_rate: float = 1.0,
        ns_steps: int = 3,
        weight_decay: float | None = None,
        **options: Any,
    ):
        options = {"adam_weight_decay": weight_decay, **options}
        super().__init__(learning_rate, rms_rate=rms_rate, ns_steps=ns_steps, weight_decay=weight_decay, **options)
        self._units: list[int | None] = []
        self._size = 1  # of the matrices of the variable that is being updated

    def build(self, variables: Sequence[keras.Variable]) -> None:
        """Create the moments of the variables. Adam updates all that are not marked as recurrent kernels."""
        self._units = [getattr(variable, "state_units", None) for variable in variables]
        others = [variable.path for variable, units in zip(variables, self._units, strict=True) if units is None]
        self.exclude_layers = [f"^{re.escape(path)}$" for path in others]
        super().build(variables)

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Update one variable. `variable` is Keras' or, on TensorFlow, TensorFlow's."""
        self._size = self._units[self._get_variable_index(variable)]
        super().update_step(gradient, variable, learning_rate)

    def zeropower_via_newtonschulz5(self, x: Any, steps: int) -> Any:
        """Return the orthogonal matrices nearest to the square matrices of which `x` consists, side by side."""
        size, (rows, columns) = self._size, x.shape
        blocks = ops.transpose(ops.reshape(x, (rows // size, size, columns // size, size)), (0, 2, 1, 3))
        blocks = ops.transpose(super().zeropower_via_newtonschulz5(blocks, steps), (0, 2, 1, 3))
        # `lr_adjust` multiplies by the root of the larger side of the whole kernel.
        return ops.reshape(blocks, (rows, columns)) * (size / max(rows, columns)) ** 0.5
