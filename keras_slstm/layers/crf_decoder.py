"""A layer that decodes the output of a CRF."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.configs import ConfigFromArguments
from keras_slstm.layers.potentials_layer import at_least_float32
from keras_slstm.ops.crf_functions import crf_decode, crf_marginals, labels_shape
from keras_slstm.types import Shape, Tensor
from keras_slstm.validation import check_bool


@keras.saving.register_keras_serializable(package="keras_slstm")
class CRFDecoder(ConfigFromArguments, keras.layers.Layer):
    """Decodes the output of a `CRF` layer into the best label sequence, for models that are exported.

    Train a model with the `CRF` as its last layer. Then `keras.Sequential([model, CRFDecoder()])`, or a functional
    model around both, returns labels wherever it is served.

    Args:
        return_probabilities: Whether to return the marginal probability of each label, too (`crf_marginals`).

    Call arguments:
        inputs: The output of a `CRF` layer.

    Returns:
        The labels, `(batch, time)` int32, 0 at masked positions. With `return_probabilities`, a pair of the labels and
        their probabilities, `(batch, time)`, 0 at masked positions.

    Raises:
        ValueError: If the input cannot be the output of a `CRF` layer.

    Example:

    ```python
    tagger = keras.Sequential([keras.Input((None, 50)), keras_slstm.CRF(9)])
    served = keras.Sequential([tagger, keras_slstm.CRFDecoder()])
    served.export("served", input_signature=[keras.InputSpec(shape=(None, None, 50), dtype="float32")])
    ```
    """

    def __init__(self, return_probabilities: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dtype_policy: Any = at_least_float32(self.dtype_policy)
        self.return_probabilities = check_bool("return_probabilities", return_probabilities)
        self.supports_masking = True

    def build(self, input_shape: Shape) -> None:
        labels_shape(input_shape)
        self.built = True

    def call(self, inputs: Tensor) -> Any:
        labels = crf_decode(inputs)
        if not self.return_probabilities:
            return labels
        probabilities = ops.take_along_axis(crf_marginals(inputs), ops.expand_dims(labels, -1), axis=2)[..., 0]
        return labels, probabilities

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Any:
        return (None, None) if self.return_probabilities else None

    def compute_output_shape(self, input_shape: Shape) -> Any:
        shape = labels_shape(input_shape)
        return (shape, shape) if self.return_probabilities else shape

    def compute_output_spec(self, inputs: Tensor) -> Any:
        shape = self.compute_output_shape(inputs.shape)
        if not self.return_probabilities:
            return keras.KerasTensor(shape, dtype="int32")
        return keras.KerasTensor(shape[0], dtype="int32"), keras.KerasTensor(shape[1], dtype=self.compute_dtype)
