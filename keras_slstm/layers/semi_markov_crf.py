"""Semi-Markov conditional random field (Sarawagi and Cohen, NIPS 2004)."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.layers.loss_check import check_compiled_loss
from keras_slstm.layers.potentials_layer import PotentialsLayer
from keras_slstm.ops.masks import is_first, is_last, zero_padding
from keras_slstm.ops.projection import project
from keras_slstm.ops.semi_crf import SegmentPotentials
from keras_slstm.ops.semi_crf_functions import pack_segments
from keras_slstm.types import Tensor
from keras_slstm.validation import check_bool, check_features, check_integer


@keras.saving.register_keras_serializable(package="keras_slstm")
class SemiMarkovCRF(PotentialsLayer):
    """Semi-Markov conditional random field, which scores the ways to divide a sentence into labelled segments.

    With the word vectors h_i, a segment of the words s ... e with the label y scores

        h_s W_begin[y] + sum_{s <= i <= e} h_i W[y] + h_e W_end[y] + D[e - s + 1, y]

    and each segment but the first adds A[previous label, y]. The probability of a segmentation is exp(sum of its
    scores), divided by the sum of this over all segmentations with segments of at most `max_length` words. Words
    outside all spans are segments, too, usually of one word, with their own label.

    The equations are in `keras_slstm/ops/semi_crf.py`. Time grows with `time * K * (max_length + K)`. Memory grows with
    `time * K + max_length * K`, and in training with `time * K^2 + max_length * K`.

    Args:
        units: Number K of labels.
        max_length: The largest number of words in a segment.
        use_boundary: Whether to add a score for the label of the first, and of the last segment.
        chain_initializer: Initialiser of A.
        duration_initializer: Initialiser of D.
        boundary_initializer: Initialiser of left and right.
        kernel_initializer, bias_initializer: Initialisers of W, W_begin and W_end, and of their biases.
        kernel_regularizer, bias_regularizer, chain_regularizer, duration_regularizer, boundary_regularizer:
            Regularisers.
        kernel_constraint, bias_constraint, chain_constraint, duration_constraint, boundary_constraint: Constraints.

    Call arguments:
        inputs: `(batch, time, features)`.
        mask: `(batch, time)` bool, True at real words; None if all are real. Padding may be anywhere. Segments skip
            masked positions.

    Returns:
        Potentials, `(batch, time + K + max_length, 3 K + 1)`: the scores of each word with the mask in the last column,
        and below them A and D; the input of `SemiMarkovCRFLoss` and the functions `semi_crf_decode`, ... In at least
        float32. The output has no Keras mask, because it contains the mask itself.

    Raises:
        ValueError: If an argument is out of range, or the input or the mask has the wrong shape.

    Weights:
        kernel: W, W_begin and W_end, `(features, 3 K)`; bias: `(3 K,)`.
        chain_kernel: A, `(K, K)`, [from, to].
        duration_kernel: D, `(max_length, K)`.
        left_boundary, right_boundary: `(K,)`, with `use_boundary`.

    Example:

    ```python
    tagger = keras.Sequential(
        [
            keras.layers.Embedding(20_000, 300, mask_zero=True),
            keras_slstm.SLSTM(300, return_sequences=True),
            keras_slstm.SemiMarkovCRF(3, max_length=6),
        ]
    )
    tagger.compile("adam", loss=keras_slstm.SemiMarkovCRFLoss(max_length=6))
    tagger.fit(word_ids, segments)  # (sentences, time) each: a label where a segment begins, -1 elsewhere
    found = keras_slstm.semi_crf_decode(tagger.predict(word_ids), max_length=6)
    ```

    Reference:
        - [Sarawagi and Cohen, 2004](https://papers.nips.cc/paper/2648-semi-markov-conditional-random-fields-for-information-extraction)
    """

    def __init__(
        self,
        units: int,
        max_length: int,
        use_boundary: bool = True,
        chain_initializer: Any = "orthogonal",
        duration_initializer: Any = "zeros",
        boundary_initializer: Any = "zeros",
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        chain_regularizer: Any = None,
        duration_regularizer: Any = None,
        boundary_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        chain_constraint: Any = None,
        duration_constraint: Any = None,
        boundary_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units = check_integer("units", units, least=1)
        self.max_length = check_integer("max_length", max_length, least=1)
        self.use_boundary = check_bool("use_boundary", use_boundary)
        self.set_weight_arguments(locals())

    def build(self, input_shape: tuple[Any, ...]) -> None:
        features, K = check_features(input_shape, self.name), self.units
        self.kernel = self.add_weight_like("kernel", "kernel", (features, 3 * K))
        self.bias = self.add_weight_like("bias", "bias", (3 * K,))
        self.chain_kernel = self.add_weight_like("chain", "chain_kernel", (K, K))
        self.duration_kernel = self.add_weight_like("duration", "duration_kernel", (self.max_length, K))
        self.add_boundary_weights(K, left=self.use_boundary, right=self.use_boundary)
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: features})
        self.built = True

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        check_compiled_loss(self, "SemiMarkovCRFLoss")
        h, mask = self.masked_words(inputs, mask)
        scores, K = project(h, self.kernel) + self.bias, self.units
        unary, begins, ends = (scores[..., i * K : (i + 1) * K] for i in range(3))
        if self.use_boundary:
            begins = begins + zero_padding(self.left_boundary + ops.zeros_like(begins), is_first(mask))
            ends = ends + zero_padding(self.right_boundary + ops.zeros_like(ends), is_last(mask))
        unary, begins, ends = (zero_padding(x, mask) for x in (unary, begins, ends))
        durations, transitions = map(ops.convert_to_tensor, (self.duration_kernel, self.chain_kernel))
        return pack_segments(SegmentPotentials(unary, begins, ends, durations, transitions, mask))

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        batch, time, _ = input_shape
        rows = self.units + self.max_length
        return (batch, None if time is None else time + rows, 3 * self.units + 1)
