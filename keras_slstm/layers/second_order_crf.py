"""Conditional random field with scores for three consecutive labels."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.layers.loss_check import check_compiled_loss
from keras_slstm.layers.potentials_layer import PotentialsLayer
from keras_slstm.ops.crf_potentials import pack
from keras_slstm.ops.masks import is_first, is_last, zero_padding
from keras_slstm.ops.projection import project
from keras_slstm.ops.second_order_crf import pair_potentials
from keras_slstm.types import Shape, Tensor
from keras_slstm.validation import check_bool, check_features, check_integer


@keras.saving.register_keras_serializable(package="keras_slstm")
class SecondOrderCRF(PotentialsLayer):
    """Second-order conditional random field: a label depends on the two labels before it.

    With the word vectors h_i, the score of the labels y_1 ... y_n is that of a `CRF` plus a score for every three
    consecutive labels:

        score = sum_i (h_i W + b)[y_i] + sum_{i > 1} A[y_{i-1}, y_i] + sum_{i > 2} B[y_{i-2}, y_{i-1}, y_i]
                + left[y_1] + right[y_n]

    It is computed as a chain over K (K + 1) label pairs. Time and memory per word grow with K^4, those of a `CRF` with
    K^2: use it only for few labels.

    Args:
        units: Number K of labels.
        use_boundary: Whether to add left and right.
        chain_initializer: Initialiser of A.
        second_chain_initializer: Initialiser of B. With zeros, the layer starts as a `CRF`.
        boundary_initializer: Initialiser of left and right.
        kernel_initializer, bias_initializer: Initialisers of W and b.
        kernel_regularizer, bias_regularizer, chain_regularizer, second_chain_regularizer, boundary_regularizer:
            Regularisers.
        kernel_constraint, bias_constraint, chain_constraint, second_chain_constraint, boundary_constraint: Constraints.

    Call arguments:
        inputs: `(batch, time, features)`.
        mask: `(batch, time)` bool, True at real words; None if all are real. Padding may be anywhere. The chain skips
            masked positions.

    Returns:
        Potentials, `(batch, time + K (K + 1), K (K + 1) + 1)`: the input of `SecondOrderCRFLoss`,
        `second_order_crf_decode`, `second_order_crf_marginals` and `second_order_crf_log_likelihood`. The functions of
        a `CRF` treat them as potentials of label pairs: `crf_log_partition` and `crf_entropy` are correct as they are;
        `crf_k_best` and `crf_sample` return pairs, where `pair % K` is the label. In at least float32. The output has
        no Keras mask, because it contains the mask itself.

    Raises:
        ValueError: If an argument is out of range, or the input or the mask has the wrong shape.

    Weights:
        kernel: W, `(features, K)`; bias: b, `(K,)`.
        chain_kernel: A, `(K, K)`, [from, to].
        second_chain_kernel: B, `(K, K, K)`, [before, from, to].
        left_boundary, right_boundary: `(K,)`, with `use_boundary`.

    Example:

    ```python
    tagger = keras.Sequential(
        [
            keras.layers.Embedding(20_000, 300, mask_zero=True),
            keras_slstm.SLSTM(300, return_sequences=True),
            keras_slstm.SecondOrderCRF(5),
        ]
    )
    tagger.compile("adam", loss=keras_slstm.SecondOrderCRFLoss())
    tagger.fit(word_ids, label_ids)  # (sentences, time) each
    labels = keras_slstm.second_order_crf_decode(tagger.predict(word_ids))
    ```

    Reference:
        - [Lafferty, McCallum and Pereira, 2001](https://repository.upenn.edu/handle/20.500.14332/6188)
    """

    def __init__(
        self,
        units: int,
        use_boundary: bool = True,
        chain_initializer: Any = "orthogonal",
        second_chain_initializer: Any = "zeros",
        boundary_initializer: Any = "zeros",
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        chain_regularizer: Any = None,
        second_chain_regularizer: Any = None,
        boundary_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        chain_constraint: Any = None,
        second_chain_constraint: Any = None,
        boundary_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units = check_integer("units", units, least=1)
        self.use_boundary = check_bool("use_boundary", use_boundary)
        self.set_weight_arguments(locals())

    def build(self, input_shape: Shape) -> None:
        features, K = check_features(input_shape, self.name), self.units
        self.kernel = self.add_weight_like("kernel", "kernel", (features, K))
        self.bias = self.add_weight_like("bias", "bias", (K,))
        self.chain_kernel = self.add_weight_like("chain", "chain_kernel", (K, K))
        self.second_chain_kernel = self.add_weight_like("second_chain", "second_chain_kernel", (K, K, K))
        self.add_boundary_weights(K, left=self.use_boundary, right=self.use_boundary)
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: features})
        self.built = True

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        check_compiled_loss(self, "SecondOrderCRFLoss")
        h, mask = self.masked_words(inputs, mask)
        unary = project(h, self.kernel) + self.bias
        if self.use_boundary:
            unary = unary + zero_padding(self.left_boundary + ops.zeros_like(unary), is_first(mask))
            unary = unary + zero_padding(self.right_boundary + ops.zeros_like(unary), is_last(mask))
        first_order, second_order = map(ops.convert_to_tensor, (self.chain_kernel, self.second_chain_kernel))
        unary, transitions, mask = pair_potentials(unary, first_order, second_order, mask)
        return pack(zero_padding(unary, mask), transitions, mask)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        batch, time, _ = input_shape
        states = self.units * (self.units + 1)
        return (batch, None if time is None else time + states, states + 1)
