"""Max and mean pooling over the real words of a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

from keras_slstm.configs import ConfigFromArguments
from keras_slstm.layers.masked_inputs import masked_inputs
from keras_slstm.layers.padded_inputs import PaddedInputs
from keras_slstm.ops.masks import masked_max, masked_mean
from keras_slstm.types import Shape, Tensor


class _MaskedGlobalPooling1D(PaddedInputs, ConfigFromArguments, keras.layers.Layer):
    """Base class of the pooling layers: `_pool` maps `(batch, time, features)` to `(batch, features)`."""

    _pool: Callable[[Tensor, Tensor | None], Tensor]

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.input_spec = keras.layers.InputSpec(ndim=3)
        self.supports_masking = True

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        return type(self)._pool(*masked_inputs(self, inputs, mask))

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> None:
        return None

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return (input_shape[0], input_shape[2])


@keras.saving.register_keras_serializable(package="keras_slstm")
class MaskedGlobalMaxPooling1D(_MaskedGlobalPooling1D):
    """Maximum over the real positions of a sequence.

    `keras.layers.GlobalMaxPooling1D` ignores masks: padding wins if all real values are negative. Here masked positions
    change nothing, whatever their values, and get a gradient of exactly zero.

    Call arguments:
        inputs: `(batch, time, features)`.
        mask: `(batch, time)` bool, True at real positions; None if all are real.

    Returns:
        `(batch, features)`, in the compute dtype. A row without a real position gives zeros.

    Example:

    ```python
    x = np.array([[[-1.0], [-2.0], [0.0]]], "float32")
    keras_slstm.layers.MaskedGlobalMaxPooling1D()(x, mask=np.array([[True, True, False]]))  # [[-1.]]
    ```
    """

    _pool = staticmethod(masked_max)


@keras.saving.register_keras_serializable(package="keras_slstm")
class MaskedGlobalAveragePooling1D(_MaskedGlobalPooling1D):
    """Mean over the real positions of a sequence, summed in at least float32.

    `keras.layers.GlobalAveragePooling1D` gives NaN for a row of padding and propagates NaN from the padding. Here
    masked positions change nothing, whatever their values, and get a gradient of exactly zero.

    Call arguments:
        inputs: `(batch, time, features)`.
        mask: `(batch, time)` bool, True at real positions; None if all are real.

    Returns:
        `(batch, features)`, in the compute dtype. A row without a real position gives zeros.

    Example:

    ```python
    x = np.array([[[1.0], [3.0], [9.0]]], "float32")
    keras_slstm.layers.MaskedGlobalAveragePooling1D()(x, mask=np.array([[True, True, False]]))  # [[2.]]
    ```
    """

    _pool = staticmethod(masked_mean)
