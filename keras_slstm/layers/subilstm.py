"""Suffix bidirectional LSTM (Brahma: Improved Sentence Modeling using Suffix Bidirectional LSTM, 2018)."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import keras
from keras import ops

from keras_slstm.layers.masked_inputs import masked_inputs
from keras_slstm.layers.rematerialized import Rematerialized
from keras_slstm.layers.weight_arguments import WeightArguments
from keras_slstm.ops.dropout import dropout_mask
from keras_slstm.ops.kernels.suffix_rnn import from_every_word, from_first_and_every_word, from_first_word
from keras_slstm.ops.masks import masked_max, not_empty, pad_empty, zero_padding
from keras_slstm.ops.seeds import current_seed
from keras_slstm.ops.subilstm import Context, RecurrentWeights, combine
from keras_slstm.types import Shape, Tensor
from keras_slstm.validation import check_bool, check_choice, check_features, check_integer, check_rate

COMBINATIONS = ("max", "mean", "concat", "gate")
# The number of gates.
CELLS = {"lstm": 4, "gru": 3}
DIRECTIONS = ("forward", "backward")


@keras.saving.register_keras_serializable(package="keras_slstm")
class SuBiLSTM(Rematerialized, WeightArguments, keras.layers.Layer):
    """A bidirectional LSTM that encodes both the words before and the words after each word in both directions.

    LSTM(s) is the last h of an LSTM after the words s; s[j:i] with j > i is read from right to left:

        p>_i = LSTM>(s[1:i])    s>_i = LSTM>(s[i:n])          prefix and suffix, read forwards     (eq. 1, 2)
        p<_i = LSTM<(s[i:1])    s<_i = LSTM<(s[n:i])          the same, read backwards             (eq. 3, 4)
        H_i = [max(p>_i, s>_i); max(p<_i, s<_i)]                                                   (eq. 5)
        H = max over the words of H_i                         the sentence vector                  (eq. 8)

    A BiLSTM has only p>_i and s<_i, which the words next to i dominate; s>_i and p<_i end far from it. With tied
    weights, it has the parameters of a BiLSTM.

    The equations are in `keras_slstm/ops/subilstm.py`. All suffixes of a direction advance together, with one matrix
    product per word: a sentence of n words takes n steps, and time and memory grow with n^2. With `max_context` both
    grow with n.

    Args:
        units: Number d of units of each LSTM.
        tied: Whether the prefixes and suffixes of a direction share one LSTM. If not, each has its own weights.
        combine: How p and s of a direction are combined: `"max"` or `"mean"`, elementwise; `"concat"`, [p; s]; or
            `"gate"`, z * p + (1 - z) * s with z = sigmoid([p; s] K + b), with K and b of the direction.
        cell: `"lstm"`, or `"gru"` (as in Keras with `reset_after=True`).
        max_context: How many words s>_i reads after word i, and p<_i before it. Only real words count. p>_i and s<_i,
            which cost no more than a BiLSTM, keep their full reach. None for no limit. A pair (low, high) draws one
            number for the batch in every training call, and uses `high` otherwise.
        dropout: Fraction of the inputs to drop, the same features for all words of a sentence.
        recurrent_dropout: Fraction of the units of h to drop before U multiplies it, the same for all words of a
            recurrence; with tied weights, prefixes and suffixes share it.
        rematerialize: Whether the gradient recomputes the gates, for a few words at a time, instead of storing those of
            all words and suffixes. A training step then takes longer, but needs a fraction of the memory. With
            `max_context`, it recomputes the contexts of 256 words at a time. Where XLA compiles for any length, it
            recomputes the gates of one whole recurrence at a time. On CPUs, XLA recomputes everything at the same time
            and saves only a third of the memory; it saves most of it if the environment has
            `XLA_FLAGS=--xla_cpu_enable_concurrency_optimized_scheduler=false`.
        return_sequences: Whether to return the H_i instead of the sentence vector.
        unit_forget_bias: Whether the forget gates of LSTMs start open, with a bias of 1.
        kernel_initializer, kernel_regularizer, kernel_constraint: For W and K.
        recurrent_initializer, recurrent_regularizer, recurrent_constraint: For U.
        bias_initializer, bias_regularizer, bias_constraint: For b.
        activity_regularizer: Regulariser of the output.
        seed: Seed of the dropout and of the random context.

    Call arguments:
        inputs: `(batch, time, features)`.
        mask: `(batch, time)` bool, True at real words; None if all are real. Padding may be anywhere and is skipped.
        training: Whether to apply dropout and random context. If it is explicitly False, gradients are computed as with
            `rematerialize`.

    Returns:
        In the compute dtype: the sentence vector, `(batch, 2 units)`, or with `return_sequences` the H_i, `(batch,
        time, 2 units)`, 0 at masked positions. With `combine="concat"` 4 units, in the order p>, s>, p<, s<. A row
        without a real word gives zeros.

    Raises:
        ValueError: If an argument is out of range, the input or the mask has the wrong shape, or the number of features
            is unknown.

    Weights:
        With e input features and G gates, in Keras' order: i, f, c~, o (LSTM, G = 4) or z, r, h~ (GRU, G = 3).

        Tied, for each direction, `forward` first, then `backward`:

        - forward_kernel: W, `(e, G d)`.
        - forward_recurrent_kernel: U, `(d, G d)`.
        - forward_bias: b, `(G d,)`; for a GRU `(2, G d)`, first the bias of x W, then that of h U.

        Untied, the same for `forward_prefix` (p>), `forward_suffix` (s>), `backward_prefix` (p<) and
        `backward_suffix` (s<). With `combine="gate"`, after them and for each direction:

        - forward_combine_kernel: K, `(2 d, d)`.
        - forward_combine_bias: b, `(d,)`.

        The weights of a `keras.layers.LSTM` or `GRU` fit as they are.

    Example:

    ```python
    words = keras.Input((None, 300))
    states = keras_slstm.SuBiLSTM(300, return_sequences=True)(words)  # (batch, time, 600), as a BiLSTM
    sentence = keras_slstm.SuBiLSTM(300, max_context=8)(words)  # (batch, 600)
    ```

    Reference:
        [Brahma, 2018](https://arxiv.org/abs/1805.07340)
    """

    reads_both_ways = True
    has_quantized_kernels = True

    def __init__(
        self,
        units: int,
        tied: bool = True,
        combine: str = "max",
        cell: str = "lstm",
        max_context: int | tuple[int, int] | None = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        rematerialize: bool = False,
        return_sequences: bool = False,
        unit_forget_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.units = check_integer("units", units, least=1)
        self.tied = check_bool("tied", tied)
        self.combine = check_choice("combine", combine, COMBINATIONS)
        self.cell = check_choice("cell", cell, CELLS)
        self.max_context = _check_context(max_context)
        self.dropout = check_rate("dropout", dropout)
        self.recurrent_dropout = check_rate("recurrent_dropout", recurrent_dropout)
        self.rematerialize = check_bool("rematerialize", rematerialize)
        self.return_sequences = check_bool("return_sequences", return_sequences)
        self.unit_forget_bias = check_bool("unit_forget_bias", unit_forget_bias)
        self.set_weight_arguments(locals())
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.input_spec = keras.layers.InputSpec(ndim=3)
        self.supports_masking = True

    def build(self, input_shape: Shape) -> None:
        e, d = check_features(input_shape, self.name), self.units
        gates = CELLS[self.cell] * d
        parts = ("",) if self.tied else ("prefix_", "suffix_")
        self.kernels, self.recurrent_kernels, self.biases = [], [], []
        for name in (f"{direction}_{part}" for direction in DIRECTIONS for part in parts):
            self.kernels.append(self.add_weight_like("kernel", f"{name}kernel", (e, gates)))
            self.recurrent_kernels.append(self.add_weight_like("recurrent", f"{name}recurrent_kernel", (d, gates)))
            shape = (gates,) if self.cell == "lstm" else (2, gates)
            first = self._first_lstm_bias if self.cell == "lstm" and self.unit_forget_bias else None
            self.biases.append(self.add_weight_like("bias", f"{name}bias", shape, first))
        self.combine_kernels, self.combine_biases = [], []
        for direction in DIRECTIONS if self.combine == "gate" else ():
            self.combine_kernels.append(self.add_weight_like("kernel", f"{direction}_combine_kernel", (2 * d, d)))
            self.combine_biases.append(self.add_weight_like("bias", f"{direction}_combine_bias", (d,)))
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: e})
        self.built = True

    def _first_lstm_bias(self, shape: Shape, dtype: Any = None) -> Tensor:
        gates = ops.split(self.bias_initializer(shape, dtype=dtype), 4)
        gates[1] = ops.ones_like(gates[1])
        return ops.concatenate(gates)

    def call(self, inputs: Tensor, mask: Tensor | None = None, training: bool | None = None) -> Tensor:
        x, mask = masked_inputs(self, inputs, mask)
        if x.shape[0] == 0:
            return ops.zeros(self.compute_output_shape(ops.shape(x)), dtype=x.dtype)
        rows, time = not_empty(x, mask), ops.shape(x)[1]
        x, mask = pad_empty(x, mask)
        if self.dropout and training:
            x = x * dropout_mask(x[:, :1], self.dropout, self.seed_generator)
        words = ops.transpose(x, (1, 0, 2))
        word_mask = None if mask is None else ops.expand_dims(ops.transpose(mask), -1)
        context = self._context(training)

        prefixes, suffixes = self._encode(0, words, word_mask, context, training)
        forward = self._combine(0, prefixes, suffixes)
        # Read from right to left, suffixes start at the first word read, and prefixes start at every word.
        words, word_mask = ops.flip(words, axis=0), None if word_mask is None else ops.flip(word_mask, axis=0)
        suffixes, prefixes = self._encode(1, words, word_mask, context, training)
        backward = ops.flip(self._combine(1, prefixes, suffixes), axis=0)

        output = ops.transpose(ops.concatenate([forward, backward], axis=-1), (1, 0, 2))
        if self.return_sequences:
            return output[:, :time]
        output = masked_max(output, mask)
        return output if rows is None else zero_padding(output, rows)

    def _context(self, training: Any) -> Context | None:
        if self.max_context is None:
            return None
        if isinstance(self.max_context, int):
            return Context(self.max_context, self.max_context)
        low, high = self.max_context
        if training:
            return Context(keras.random.randint((), low, high + 1, seed=current_seed(self.seed_generator)), high)
        return Context(high, high)

    def _encode(
        self, direction: int, words: Tensor, mask: Tensor | None, context: Context | None, training: Any
    ) -> tuple[Tensor, Tensor]:
        """Encode one direction with a cell that starts at the first word, and one that starts at every word.

        Args:
            direction: 0 or 1, an index of `DIRECTIONS`.
            words: The inputs in reading order, `(time, batch, features)`.
            mask: `(time, batch, 1)` bool or None.
            context: How many words the second one reads after its first; None for all.
            training: The argument of the call.

        Returns:
            For each word, h of the first cell after reading it, and the last h of a second cell that starts at it,
            `(time, batch, units)` each.
        """
        rematerialize = self.rematerialize or training is False
        if self.tied:
            tied = self._weights(direction), words, mask, self._dropout_mask(words, training)
            return from_first_and_every_word(self.cell, *tied, context, rematerialize)
        prefix, suffix = (
            (self._weights(2 * direction + part), words, mask, self._dropout_mask(words, training)) for part in (0, 1)
        )
        first, every = (suffix, prefix) if direction else (prefix, suffix)
        return (
            from_first_word(self.cell, *first, rematerialize),
            from_every_word(self.cell, *every, context, rematerialize),
        )

    def _weights(self, index: int) -> RecurrentWeights:
        # Values, because TensorFlow's custom gradients treat variables specially.
        kernels = (self.kernel_value(kernels[index]) for kernels in (self.kernels, self.recurrent_kernels))
        weights = (*kernels, self.biases[index])
        return RecurrentWeights(*(ops.cast(weight, self.compute_dtype) for weight in weights))

    def _dropout_mask(self, words: Tensor, training: Any) -> Tensor | None:
        if not self.recurrent_dropout or not training:
            return None
        like = ops.zeros((ops.shape(words)[1], self.units), dtype=words.dtype)
        return dropout_mask(like, self.recurrent_dropout, self.seed_generator)

    def _combine(self, direction: int, p: Tensor, s: Tensor) -> Tensor:
        if self.combine != "gate":
            return combine(self.combine, p, s)
        kernel, bias = self.combine_kernels[direction], self.combine_biases[direction]
        return combine("gate", p, s, self.kernel_value(kernel), ops.convert_to_tensor(bias))

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor | None:
        return mask if self.return_sequences else None

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        features = (4 if self.combine == "concat" else 2) * self.units
        return (*input_shape[:2], features) if self.return_sequences else (input_shape[0], features)


def _check_context(value: Any) -> int | tuple[int, int] | None:
    if value is None:
        return None
    is_pair = isinstance(value, (tuple, list))
    bounds: tuple[Any, ...] = tuple(value) if is_pair else (value,)
    if (
        len(bounds) != (2 if is_pair else 1)
        or not all(isinstance(bound, Integral) and not isinstance(bound, bool) and int(bound) >= 0 for bound in bounds)
        or bounds[0] > bounds[-1]
    ):
        raise ValueError(
            "`max_context` must be None, an integer of at least 0, or a pair (low, high) of such integers, but got "
            f"{value!r}."
        )
    return (int(bounds[0]), int(bounds[1])) if is_pair else int(value)
