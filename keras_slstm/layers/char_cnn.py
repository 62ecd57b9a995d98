"""Word vectors from characters, by convolution and maximum (Santos and Zadrozny, ICML 2014)."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.layers.character_layer import CharacterLayer
from keras_slstm.layers.weight_arguments import WeightArguments
from keras_slstm.ops.backend.traceable import pad
from keras_slstm.ops.masks import masked_max
from keras_slstm.types import Shape, Tensor
from keras_slstm.validation import check_features, check_integer


@keras.saving.register_keras_serializable(package="keras_slstm")
class CharCNN(WeightArguments, CharacterLayer):
    """Encodes the characters of each word as one vector, by a convolution and the maximum.

        z_m = [r_{m-(w-1)/2}; ...; r_m; ...; r_{m+(w-1)/2}]       the window of width w around character m
        output = max over the characters m of the word of  z_m W + b

    as in Santos and Zadrozny (2014, section 2.1); with the default sizes this is the character vector of the
    depth-adaptive GRN (Liu et al. 2020, eq. 4). A window reads zeros beyond the ends of a word and at masked
    characters. Masked characters get a gradient of exactly zero.

    Args:
        filters: Size of the output.
        kernel_size: Width w of the window; if it is even, the larger half follows the character.
        kernel_initializer, bias_initializer: Initialisers of W and b.
        kernel_regularizer, bias_regularizer: Their regularisers.
        kernel_constraint, bias_constraint: Their constraints.

    Call arguments:
        inputs: Vectors r of characters, `(batch, time, characters, features)`.
        mask: `(batch, time, characters)` bool, True at real characters; None if all are real. A
            `keras.layers.Embedding` with `mask_zero=True` passes it on.

    Returns:
        `(batch, time, filters)` in the compute dtype. A word without a real character gives zeros, and is masked in
        the output.

    Raises:
        ValueError: If `filters` or `kernel_size` is not a positive integer, the input is not of rank 4 or its number of
            features is unknown, or the mask does not match it.

    Weights:
        kernel: W, `(kernel_size * features, filters)`, the window's characters from left to right.
        bias: b, `(filters,)`.

    Example:

    ```python
    characters = keras.Input((None, None), dtype="int32")  # of each word of each sentence, 0 is padding
    vectors = keras.layers.Embedding(100, 30, mask_zero=True)(characters)
    words = keras_slstm.layers.CharCNN(50)(vectors)  # (batch, time, 50)
    ```
    """

    former_names = {"width": "kernel_size"}

    def __init__(
        self,
        filters: int = 50,
        kernel_size: int = 3,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.filters = self.output_size = check_integer("filters", filters, least=1)
        self.kernel_size = check_integer("kernel_size", kernel_size, least=1)
        self.set_weight_arguments(locals())

    def build(self, input_shape: Shape) -> None:
        features = check_features(input_shape, self.name)
        self.kernel = self.add_weight_like("kernel", "kernel", (self.kernel_size * features, self.filters))
        self.bias = self.add_weight_like("bias", "bias", (self.filters,))
        self.input_spec = keras.layers.InputSpec(ndim=4, axes={-1: features})
        self.built = True

    def encode(self, x: Tensor, mask: Tensor | None) -> Tensor:
        count = ops.shape(x)[1]
        before = (self.kernel_size - 1) // 2
        x = pad(x, ((0, 0), (before, self.kernel_size - 1 - before), (0, 0)))
        windows = ops.concatenate([x[:, i : i + count] for i in range(self.kernel_size)], axis=-1)
        return masked_max(windows @ ops.convert_to_tensor(self.kernel) + self.bias, mask)
