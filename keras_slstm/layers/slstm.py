"""Sentence-state LSTM (Zhang, Liu, Song: Sentence-State LSTM for Text Representation, ACL 2018)."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.layers.masked_inputs import masked_inputs
from keras_slstm.layers.rematerialized import Rematerialized
from keras_slstm.layers.transition_weights import TransitionArguments
from keras_slstm.ops.backend.shard_map import shard_map
from keras_slstm.ops.boundary_words import add_boundary_words
from keras_slstm.ops.dropout import dropout
from keras_slstm.ops.kernels.slstm import slstm
from keras_slstm.ops.masks import masked_mean, not_empty, zero_padding
from keras_slstm.ops.projection import project
from keras_slstm.types import Shape, Tensor
from keras_slstm.validation import check_bool, check_choice, check_features, check_integer, check_rate


@keras.saving.register_keras_serializable(package="keras_slstm")
class SLSTM(Rematerialized, TransitionArguments, keras.layers.Layer):
    """Sentence-state LSTM: all words of a sentence, and the sentence itself, are updated in parallel.

    Every word has a hidden vector h_i and a cell c_i, the sentence has g and c_g. A step updates all of them together,
    each word from its neighbours, its input and the sentence (eq. 2 of the paper):

        xi_i = [h_{i-k}; ...; h_i; ...; h_{i+k}]
        i^, l^, r^, f^, s^, o = sigmoid(xi_i W + x_i U + g V + b),   u = tanh(.)
        i, l, r, f, s = softmax over (i^, l^, r^, f^, s^), for each unit
        c_i' = l * c_{i-1} + f * c_i + r * c_{i+1} + s * c_g + i * u,   h_i' = o * tanh(c_i')

    and the sentence from all words (eq. 3):

        f_g^ = sigmoid(g W_g + mean(h) U_g + b_g),   f_i^ = sigmoid(g W_f + h_i U_f + b_f) for each word i
        o = sigmoid(g W_o + mean(h) U_o + b_o)
        f_g, f_1, f_2, ... = softmax over (f_g^, f_1^, f_2^, ...), for each unit
        c_g' = f_g * c_g + sum_i f_i * c_i,   g' = o * tanh(c_g')

    After t steps a word has seen t * `window` neighbours on each side. Because cells start at zero, c_g and g are 0
    after the first step; g contains the cells of all words from the second step on, and words read it from the third
    step on. A wider window has gates l_q and r_q for each offset. Each sentence node has its own weights of eq. 3. The
    word gate s^j reads only node j, the other word gates read all nodes, and a node treats every other node as one more
    word in its sums (but not in the mean). Without a sentence node, s and V vanish.

    The equations are in `keras_slstm/ops/slstm.py`. The time of a call grows linearly with the length and with `steps`.
    `keras_slstm.training.RecurrentMuon` trains the layer in fewer updates than Adam, because its states are small.

    Args:
        units: Number d of units of every h, c, g and c_g.
        steps: Number of steps T. The paper uses 9 for classification and NER and 7 for part-of-speech tagging. The
            sentence vector needs at least 2: after one, g is 0 for every sentence (with sentence nodes).
        window: Number k of neighbours on each side that a word reads in a step.
        sentence_nodes: Number m of sentence nodes.
        boundary_words: Whether to add trained input vectors `<s>` and `</s>` before the first and after the last real
            word. They take part in every update, in mean(h) and in the softmax of eq. 3, and are removed from the
            returned sequence.
        initial: The first h of all words and g of all nodes: `"learned"` (one trained vector for all), `"zeros"`, or
            `"projection"` (a linear projection of the input for h, and its mean over the words for g). Cells start
            at zero.
        dropout: Fraction of the inputs to drop, between 0 and 1.
        recurrent_dropout: Fraction of h and g to drop before every matrix product, the same units in all steps of a
            call. Cells are never dropped.
        return_sequences: Whether to return the h_i of the words instead of the g of the sentence.
        return_state: Whether to return g and c_g of the first sentence node as well.
        rematerialize: For long texts: whether the gradient stores only the states after each step and recomputes one
            step at a time, which needs less memory but more time. Values and gradients do not change.
        kernel_initializer, kernel_regularizer, kernel_constraint: Of `kernel` and `initial_kernel`.
        recurrent_initializer, recurrent_regularizer, recurrent_constraint: Of `recurrent_kernel`, `sentence_kernel`,
            `sentence_gate_kernel`, `node_kernel` and `node_recurrent_kernel`. By default, they are orthogonal with a
            gain of twice the number of gates in the softmax, 2 (2 + 2k + m): each of these gates starts near one over
            their number, so that h is small, and with a gain of 1 the layer would hardly read the context at first.
        bias_initializer, bias_regularizer, bias_constraint: Of `bias`, `node_bias` and `initial_bias`.
        initial_state_initializer: Of `initial_state`.
        boundary_initializer: Of `boundary_embeddings`.
        activity_regularizer: Of the output.
        seed: Seed of the dropout.

    Call arguments:
        inputs: `(batch, time, features)`.
        mask: `(batch, time)` bool, True at real words; None if all are real. Padding may be on either side and changes
            nothing. A masked word inside a sentence separates its neighbours, which read h = c = 0 in its place.
        training: Whether to apply dropout.

    Returns:
        In the compute dtype: the sentence vector g of the first node, `(batch, units)` (without sentence nodes: the
        mean of h over the real words); with `return_sequences` the word vectors h, `(batch, time, units)`, 0 at
        masked positions. With `return_state`, a list of that output, g and c_g, the latter two `(batch, units)`
        (without sentence nodes: the mean, and zeros). A row without a real word gives zeros.

    Raises:
        ValueError: If an argument is out of range, the input or the mask has the wrong shape, or the number of features
            is unknown.

    Weights:
        With e input features and G = 4 + 2k + m gates per word, in the order i, l_1..l_k, r_1..r_k, f, o, u, s^1..s^m
        (l_q is the gate of the word at offset -q, r_q that of the word at offset q):

        - kernel: U of eq. 2, `(e, G d)`.
        - recurrent_kernel: W of eq. 2, `((2k+1) d, G d)`, its rows in the order of xi, from left to right.
        - bias: b of eq. 2, `(G d,)`.
        - sentence_kernel: V of all gates but s, `(m d, (G - m) d)`, its rows node by node.
        - sentence_gate_kernel: V of the gates s^1..s^m side by side, s^j for node j, `(d, m d)`.
        - node_kernel: U of eq. 3, `(d, 3 m d)`: node by node, the gates g, f, o of each.
        - node_recurrent_kernel: W of eq. 3, `(d, 3 m d)`, in the same order.
        - node_bias: b of eq. 3, `(3 m d,)`, in the same order.
        - boundary_embeddings: `<s>` and `</s>`, `(2, e)`, with `boundary_words`.
        - initial_state: `(d,)`, with `initial="learned"`.
        - initial_kernel, initial_bias: `(e, d)` and `(d,)`, with `initial="projection"`.

        `sentence_*` and `node_*` are absent if m = 0.

    Example:

    ```python
    model = keras.Sequential(
        [
            keras.layers.Embedding(20_000, 300, mask_zero=True),
            keras_slstm.SLSTM(300, steps=9),
            keras.layers.Dense(2, activation="softmax"),
        ]
    )
    ```

    Reference:
        [Zhang, Liu and Song, 2018](https://aclanthology.org/P18-1030/)
    """

    reads_both_ways = True

    def __init__(
        self,
        units: int,
        steps: int = 9,
        window: int = 1,
        sentence_nodes: int = 1,
        boundary_words: bool = True,
        initial: str = "learned",
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        return_sequences: bool = False,
        return_state: bool = False,
        rematerialize: bool = False,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = None,
        bias_initializer: Any = "zeros",
        initial_state_initializer: Any = "zeros",
        boundary_initializer: Any = "uniform",
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
        self.steps = check_integer("steps", steps, least=1)
        self.window = check_integer("window", window, least=0)
        self.sentence_nodes = check_integer("sentence_nodes", sentence_nodes, least=0)
        self.boundary_words = check_bool("boundary_words", boundary_words)
        self.initial = check_choice("initial", initial, ("learned", "zeros", "projection"))
        self.dropout = check_rate("dropout", dropout)
        self.recurrent_dropout = check_rate("recurrent_dropout", recurrent_dropout)
        self.return_sequences = check_bool("return_sequences", return_sequences)
        self.return_state = check_bool("return_state", return_state)
        self.rematerialize = check_bool("rematerialize", rematerialize)
        self.set_weight_arguments(locals())
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.input_spec = keras.layers.InputSpec(ndim=3)
        self.supports_masking = True

    def build(self, input_shape: Shape) -> None:
        e, d = check_features(input_shape, self.name), self.units
        self.add_transition_weights(e, d, self.window, self.sentence_nodes)
        if self.boundary_words:
            self.boundary_embeddings = self.add_weight_like("boundary", "boundary_embeddings", (2, e))
        if self.initial == "learned":
            self.initial_state = self.add_weight_like("initial_state", "initial_state", (d,))
        elif self.initial == "projection":
            self.initial_kernel = self.add_weight_like("kernel", "initial_kernel", (e, d))
            self.initial_bias = self.add_weight_like("bias", "initial_bias", (d,))
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: e})
        self.built = True

    def call(self, inputs: Tensor, mask: Tensor | None = None, training: bool = False) -> Any:
        x, mask = masked_inputs(self, inputs, mask)
        words_mask = mask
        if self.boundary_words:
            x, words_mask = add_boundary_words(x, mask, self.boundary_embeddings)
        if self.dropout and training:
            x = dropout(x, self.dropout, self.seed_generator)

        drop = self.recurrent_dropout and training
        h_dropout_mask = self._dropout_mask(x) if drop else None
        g_dropout_mask = self._dropout_mask(x, self.sentence_nodes) if drop and self.sentence_nodes else None

        # One vector for all words is a weight; vectors of single words are sharded with the rows of the batch.
        h0 = self._initial_vectors(x)
        shared_h0, words_h0 = (None, h0) if self.initial == "projection" else (h0, None)

        def run(weights: Any, x: Tensor, mask: Any, words_h0: Any, h_mask: Any, g_mask: Any) -> tuple[Tensor, ...]:
            transition_weights, shared_h0 = weights
            h0 = words_h0 if shared_h0 is None else shared_h0
            words = self.return_sequences or not self.sentence_nodes
            return slstm(transition_weights, x, mask, h0, self.steps, h_mask, g_mask, words, self.rematerialize)

        weights = (self.transition_weights(), shared_h0)
        h, g, c_g = shard_map(run, weights, x, words_mask, words_h0, h_dropout_mask, g_dropout_mask)
        return self._outputs(h, g, c_g, mask, not_empty(inputs, mask))

    def _initial_vectors(self, x: Tensor) -> Tensor:
        """The first h: `(d,)`, or `(batch, words, d)` of a projection."""
        if self.initial == "projection":
            return project(x, self.kernel_value(self.initial_kernel)) + self.initial_bias
        return ops.zeros((self.units,), x.dtype) if self.initial == "zeros" else ops.cast(self.initial_state, x.dtype)

    def _dropout_mask(self, x: Tensor, places: int | None = None) -> Tensor:
        """Draw a dropout mask, `(batch, places, d)`, by default for all words."""
        batch, words = ops.shape(x)[:2]
        ones = ops.ones((batch, words if places is None else places, self.units), dtype=x.dtype)
        return dropout(ones, self.recurrent_dropout, self.seed_generator)

    def _outputs(
        self, h: Tensor | None, g: Tensor | None, c_g: Tensor | None, mask: Tensor | None, rows: Tensor | None
    ) -> Any:
        if h is not None:
            # In rows with padding, the boundary words are not all at the ends; the mask removes the others.
            h = zero_padding(h[:, 1:-1] if self.boundary_words else h, mask)
        if g is not None and c_g is not None:
            g, c_g = (zero_padding(node[:, 0], rows) for node in (g, c_g))
        else:
            g = masked_mean(h, mask)
            c_g = ops.zeros_like(g)
        output = h if self.return_sequences else g
        return [output, g, c_g] if self.return_state else output

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Any:
        mask = mask if self.return_sequences else None
        return [mask, None, None] if self.return_state else mask

    def compute_output_shape(self, input_shape: Shape) -> Any:
        sentence = (input_shape[0], self.units)
        output = (*input_shape[:2], self.units) if self.return_sequences else sentence
        return [output, sentence, sentence] if self.return_state else output
