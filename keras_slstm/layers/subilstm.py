"""Suffix bidirectional LSTM (Brahma: Improved Sentence Modeling using Suffix Bidirectional LSTM, 2018)."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_slstm.layers.weight_arguments import WeightArguments
from keras_slstm.ops.masks import check_mask, masked_max, zero_padding
from keras_slstm.ops.projection import project
from keras_slstm.ops.real_words_first import real_words_back, real_words_first
from keras_slstm.ops.recurrent_cells import RECURRENT_CELLS, Recurrence
from keras_slstm.ops.suffix_recurrence import from_every_word, from_every_word_within, from_first_word
from keras_slstm.types import Tensor
from keras_slstm.validation import check_bool, check_features, check_integer, check_rate

COMBINATIONS = ("max", "mean", "concat", "gate")
DIRECTIONS = ("forward", "backward")


class Context(NamedTuple):
    """How many words an encoding of limited reach reads beside its own: `words`, which are `widest` at most."""

    widest: int
    words: Tensor | int


@keras.saving.register_keras_serializable(package="keras_slstm")
class SuBiLSTM(WeightArguments, keras.layers.Layer):
    """An LSTM in both directions that encodes, for every word, what stands before it and what follows, both ways.

    With LSTM(s) the last state of an LSTM after the words s, and s[j:i] read from right to left where j > i:

        p>_i = LSTM>(s[1:i])    s>_i = LSTM>(s[i:n])          prefix and suffix, read forwards     (eq. 1, 2)
        p<_i = LSTM<(s[i:1])    s<_i = LSTM<(s[n:i])          the same, read backwards             (eq. 3, 4)
        H_i = [max(p>_i, s>_i); max(p<_i, s<_i)]                                                   (eq. 5)
        H = max over the words of H_i                         the sentence vector                  (eq. 8)

    A BiLSTM has p>_i and s<_i only, which the words next to i dominate; s>_i and p<_i end far from it. With tied
    weights, the parameters are those of a BiLSTM.

    All suffixes of a direction advance side by side, one matrix product a word (see `ops/suffix_recurrence.py`): a
    sentence of n words takes n steps, and time and memory grow with n^2. With `max_context` both grow with n.

    Args:
        units: Number d of units of each LSTM.
        tied: Whether the LSTM that encodes the prefixes of a direction encodes its suffixes, too; if not, each has its
            own weights.
        combine: What is made of p and s of a direction: `"max"` or `"mean"`, element by element; `"concat"`, [p; s];
            or `"gate"`, z * p + (1 - z) * s with z = sigmoid([p; s] K + b), K and b being those of the direction.
        cell: `"lstm"`, or `"gru"` (that of Keras with `reset_after=True`).
        max_context: How many words s>_i reads after word i, and p<_i before it: the others are cut off. Only real
            words count. p>_i and s<_i, which are no more work than a BiLSTM, keep their full reach. None for no limit;
            a pair (low, high) draws the number anew in every call in training, one for the batch, and takes `high`
            otherwise.
        dropout: Fraction of the inputs to drop, the same features for all words of a sentence.
        recurrent_dropout: Fraction of the units of h to drop where U multiplies it, the same for all words of a
            recurrence, and tied for prefixes and suffixes. No dropout, and no random context, works inside
            `keras.RematScope` on the JAX backend (dropout of Keras' own layers neither), where `training` becomes a
            tracer.
        rematerialize: Whether the gradient computes the gates again, for a few words at a time, instead of keeping
            those of all words and suffixes. A training step takes longer, and a fraction of the memory. With
            `max_context`, and where XLA compiles for any length, it is for all words of one recurrence at a time.
            On CPUs, XLA computes everything again at once, and saves a third only; most of it if the environment has
            `XLA_FLAGS=--xla_cpu_enable_concurrency_optimized_scheduler=false`.
        return_sequences: Whether to return the H_i instead of the sentence vector.
        unit_forget_bias: Whether the forget gates of LSTMs start open, with a bias of 1.
        kernel_initializer, kernel_regularizer, kernel_constraint: Of W and K.
        recurrent_initializer, recurrent_regularizer, recurrent_constraint: Of U.
        bias_initializer, bias_regularizer, bias_constraint: Of b.
        activity_regularizer: Of the output.
        seed: Seed of the dropout and of the random context.

    Call arguments:
        inputs: `(batch, time, features)`.
        mask: `(batch, time)` bool, True at real words, on either side or in between; None if all are real. The words
            on both sides of a masked one are read as if they stood side by side.
        training: Whether to apply dropout and random context. Where it is False (not merely left out), nothing is kept
            for a gradient, which would be computed as with `rematerialize`.

    Returns:
        In the compute dtype: the sentence vector, `(batch, 2 units)`, or with `return_sequences` the H_i, `(batch,
        time, 2 units)`, 0 at masked positions. With `combine="concat"` 4 units, in the order p>, s>, p<, s<. A row
        without a real word gives zeros.

    Raises:
        ValueError: If an argument is out of its range, the input or the mask has another shape than the above, or the
            number of features is unknown.

    Weights:
        With e input features and G gates, in Keras' order: i, f, c~, o (LSTM, G = 4) or z, r, h~ (GRU, G = 3).

        Tied, for each direction, `forward` first, then `backward`:

        - forward_kernel: W, `(e, G d)`.
        - forward_recurrent_kernel: U, `(d, G d)`.
        - forward_bias: b, `(G d,)`; of a GRU `(2, G d)`, what is added to x W, then what is added to h U.

        Untied, the same for `forward_prefix` (of p>), `forward_suffix` (s>), `backward_prefix` (p<) and
        `backward_suffix` (s<). With `combine="gate"`, behind them and for each direction:

        - forward_combine_kernel: K, `(2 d, d)`.
        - forward_combine_bias: b, `(d,)`.

        The weights of a `keras.layers.LSTM` or `GRU` fit as they are.

    Example:

    ```python
    words = keras.Input((None, 300))
    states = keras_slstm.SuBiLSTM(300, return_sequences=True)(words)  # (batch, time, 600), as of a BiLSTM
    sentence = keras_slstm.SuBiLSTM(300, max_context=8)(words)  # (batch, 600)
    ```

    Reference:
        [Brahma, 2018](https://arxiv.org/abs/1805.07340)
    """

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
        if combine not in COMBINATIONS:
            raise ValueError(f"`combine` must be one of {COMBINATIONS}, but got {combine!r}.")
        if cell not in RECURRENT_CELLS:
            raise ValueError(f"`cell` must be one of {tuple(RECURRENT_CELLS)}, but got {cell!r}.")
        self.units = check_integer("units", units, least=1)
        self.tied = check_bool("tied", tied)
        self.combine = combine
        self.cell = cell
        self.max_context = _check_context(max_context)
        self.dropout = check_rate("dropout", dropout)
        self.recurrent_dropout = check_rate("recurrent_dropout", recurrent_dropout)
        self.rematerialize = check_bool("rematerialize", rematerialize)
        self.return_sequences = check_bool("return_sequences", return_sequences)
        self.unit_forget_bias = check_bool("unit_forget_bias", unit_forget_bias)
        self.set_weight_arguments(
            kernel_initializer=kernel_initializer,
            recurrent_initializer=recurrent_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            recurrent_regularizer=recurrent_regularizer,
            bias_regularizer=bias_regularizer,
            kernel_constraint=kernel_constraint,
            recurrent_constraint=recurrent_constraint,
            bias_constraint=bias_constraint,
        )
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.input_spec = keras.layers.InputSpec(ndim=3)
        self.supports_masking = True

    def build(self, input_shape: tuple) -> None:
        e, d = check_features(input_shape, self.name), self.units
        gates = RECURRENT_CELLS[self.cell].gates * d
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

    def _first_lstm_bias(self, shape: tuple[int], dtype: Any = None) -> Tensor:
        gates = ops.split(self.bias_initializer(shape, dtype=dtype), 4)
        gates[1] = ops.ones_like(gates[1])
        return ops.concatenate(gates)

    def call(self, inputs: Tensor, mask: Tensor | None = None, training: bool | None = None) -> Tensor:
        mask = check_mask(inputs, mask, self.name)
        x = zero_padding(inputs, mask)
        if self.dropout and training:  # the rate first: rematerialised on JAX, `training` is a tracer
            x = x * self._noise(x[:, :1], self.dropout)
        context = self._context(training)
        words, real = x, mask
        if context is not None and mask is not None:
            words, real = real_words_first(x, mask)

        words = ops.transpose(words, (1, 0, 2))
        if real is not None:
            real = ops.cast(ops.transpose(real), x.dtype)[..., None]
        prefixes, suffixes = self._encode(0, words, real, context, training)
        forward = self._combine(0, prefixes, suffixes)
        words, real = ops.flip(words, axis=0), None if real is None else ops.flip(real, axis=0)
        # Read backwards, it is the prefixes that start anywhere.
        suffixes, prefixes = self._encode(1, words, real, context, training)
        backward = self._combine(1, ops.flip(prefixes, axis=0), ops.flip(suffixes, axis=0))

        output = ops.transpose(ops.concatenate([*forward, *backward], axis=-1), (1, 0, 2))
        if context is not None and mask is not None:
            output = real_words_back(output, mask)
        output = zero_padding(output, mask)
        return output if self.return_sequences else masked_max(output, mask)

    def _context(self, training: Any) -> Context | None:
        if self.max_context is None:
            return None
        if isinstance(self.max_context, int):
            return Context(self.max_context, self.max_context)
        low, high = self.max_context
        if training:
            return Context(high, keras.random.randint((), low, high + 1, seed=self.seed_generator))
        return Context(high, high)

    def _encode(
        self, direction: int, words: Tensor, real: Tensor | None, context: Context | None, training: Any
    ) -> tuple[Tensor, Tensor]:
        """What an LSTM that starts at the first word, and one that starts at any word, make of a direction.

        Args:
            direction: 0 or 1, an index of `DIRECTIONS`.
            words: The inputs in reading order, `(time, batch, features)`.
            real: 1 at real words, 0 elsewhere, `(time, batch, 1)`; None if all are real.
            context: How many words the second one reads after its first; None for all.
            training: That of the call.

        Returns:
            h after each word of the first, and h after the last word of the second for each word it can start at,
            `(time, batch, units)` each.
        """
        cell = RECURRENT_CELLS[self.cell]
        rematerialize = self.rematerialize or training is False
        if self.tied:
            one = other = self._recurrence(direction, words, real, training)
        else:
            prefix, suffix = (self._recurrence(2 * direction + part, words, real, training) for part in range(2))
            one, other = (suffix, prefix) if direction else (prefix, suffix)
        if context is not None:
            near = from_every_word_within(cell, other, context.widest, context.words, rematerialize)
            return from_first_word(cell, one, rematerialize), near
        from_first, from_every = from_every_word(cell, other, rematerialize)
        return from_first if self.tied else from_first_word(cell, one, rematerialize), from_every

    def _recurrence(self, index: int, words: Tensor, real: Tensor | None, training: Any) -> Recurrence:
        """The LSTM with the weights number `index`, for these words."""
        # Cast, as on TensorFlow a function with a gradient of its own would take a variable for more than its value.
        kernel = ops.cast(self.recurrent_kernels[index], self.compute_dtype)
        bias, recurrent_bias = ops.cast(self.biases[index], self.compute_dtype), None
        if self.cell == "gru":
            bias, recurrent_bias = bias[0], bias[1]
        projected = project(words, self.kernels[index]) + bias
        noise = None
        if self.recurrent_dropout and training:
            noise = self._noise(projected[0, :, : self.units], self.recurrent_dropout)
        return Recurrence(projected, kernel, recurrent_bias, real, noise)

    def _combine(self, direction: int, p: Tensor, s: Tensor) -> list[Tensor]:
        """Prefixes and suffixes of a direction, `(time, batch, units)` each, as what is to be joined."""
        if self.combine == "concat":
            return [p, s]
        if self.combine == "max":
            return [ops.where(p >= s, p, s)]  # `ops.maximum` rounds float64 on some backends
        if self.combine == "mean":
            return [(p + s) / 2]
        both = ops.concatenate([p, s], axis=-1)
        z = ops.sigmoid(project(both, self.combine_kernels[direction]) + self.combine_biases[direction])
        return [z * p + (1 - z) * s]

    def _noise(self, like: Tensor, rate: float) -> Tensor:
        """Factors of dropout, in the shape of `like`."""
        return keras.random.dropout(ops.ones_like(like), rate, seed=self.seed_generator)

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor | None:
        return mask if self.return_sequences else None

    def compute_output_shape(self, input_shape: tuple) -> tuple:
        features = (4 if self.combine == "concat" else 2) * self.units
        return (*input_shape[:2], features) if self.return_sequences else (input_shape[0], features)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "units": self.units,
            "tied": self.tied,
            "combine": self.combine,
            "cell": self.cell,
            "max_context": list(self.max_context) if isinstance(self.max_context, tuple) else self.max_context,
            "dropout": self.dropout,
            "recurrent_dropout": self.recurrent_dropout,
            "rematerialize": self.rematerialize,
            "return_sequences": self.return_sequences,
            "unit_forget_bias": self.unit_forget_bias,
            **self.weight_config(),
            "activity_regularizer": keras.regularizers.serialize(self.activity_regularizer),
            "seed": self.seed,
        }


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
