"""Depth-adaptive graph recurrent network (Liu et al.: Depth-Adaptive GRN for Text Classification, 2020)."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.layers.cas_lstm import CASLSTM
from keras_slstm.layers.masked_inputs import masked_inputs
from keras_slstm.layers.rematerialized import Rematerialized
from keras_slstm.layers.transition_weights import TransitionArguments
from keras_slstm.ops.backend.precision import accumulation_dtype
from keras_slstm.ops.depth_adaptive_grn import (
    SELECTIONS,
    choose_depths,
    clip_depths,
    depth_embedding,
    expected_depth,
    gumbel_noise,
)
from keras_slstm.ops.dropout import dropout, dropout_mask
from keras_slstm.ops.kernels.depth_skipping import depth_adaptive_grn, skips_under_xla
from keras_slstm.ops.masks import indices, zero_padding
from keras_slstm.ops.projection import project
from keras_slstm.ops.sinusoids import sinusoidal_code
from keras_slstm.types import Shape, Tensor
from keras_slstm.validation import (
    check_bool,
    check_choice,
    check_features,
    check_integer,
    check_non_negative,
    check_rate,
)

SEQUENTIAL = ("bilstm", "sinusoidal", "learned", None)


@keras.saving.register_keras_serializable(package="keras_slstm")
class DepthAdaptiveGRN(Rematerialized, TransitionArguments, keras.layers.Layer):
    """Depth-adaptive graph recurrent network: an S-LSTM in which each word takes as many steps as it needs.

    A sequential module reads the words x_i and gives features r_i, from which a classifier chooses the depth d_i of
    each word (eq. 5 to 11 of the paper), a number from 1 to L:

        inner_i = relu(r_i W_1 + b_1),   logits l_i = inner_i W_2 + b_2,   p_i = softmax(l_i)
        d_i = 1 + arg max (l_i + Gumbel noise), or 1 + arg max l_i, or floor(sum_j j p_ij)

    The word reads an embedding of its depth, the column of W_2 that belongs to it plus a sinusoidal code (eq. 12 and
    13), and starts from the inner vector:

        x_i' = [x_i; W_2[:, d_i] + code(d_i)],   h_i^0 = inner_i W_3 + b_3,   c_i^0 = 0
        g^0 = mean of h_i^0 over the words,   c_g^0 = 0

    Then, in step l, the transition of the S-LSTM (see `SLSTM`; one neighbour on each side, no boundary words) updates
    all words with d_i >= l from the current states of their neighbours. The others keep h_i and c_i, which their
    neighbours and g still read (eq. 14). g takes as many steps as the deepest word of its sentence. Stopped words are
    no longer computed, in training and inference: see `Speed`.

    The equations are in `keras_slstm/ops/depth_adaptive_grn.py`. Because cells start at zero, g is 0 if all words of a
    sentence have depth 1.

    No gradient passes through the choice of the depth. W_1, b_1, W_3, b_3 and the sequential module learn through h^0,
    W_2 as an embedding. With `depth_penalty`, all of them but W_3 and b_3 also learn through the penalty, and b_2 only
    through it. The paper divides the perturbed logits by a temperature,
    which cannot change their arg max, so this layer has no such argument.

    Args:
        units: Number d of units of every h, c, g and c_g.
        max_depth: The largest depth L.
        selection: How depths are chosen: `"gumbel"` (as in the paper; noise only in training), `"hard"`, `"soft"`, or
            `"full"`: L for every word, the full-depth model that the paper compares with.
        sequential: The sequential module: `"bilstm"` (one bidirectional LSTM of `units // 2` per direction),
            `"sinusoidal"` or `"learned"` (x_i plus a code or a trained vector of its position, counted in real words
            from 0), or None (r_i = x_i).
        max_length: Number of position vectors with `sequential="learned"`, which requires it. All later words share the
            last vector.
        depth_units: Size of the inner vectors and of the depth embedding.
        depth_penalty: Weight of a penalty that is added to the loss: the mean of `sum_j j p_ij / L`, between 0 and 1,
            over the real words of a batch. 0 disables it. Given `depths` are not penalised. Because the task does not
            train the choice of the depths, nothing opposes the penalty: with Adam, even 0.0001 can end with a depth of
            1 for nearly all words.
        dropout: Fraction of the inputs x to drop, between 0 and 1.
        recurrent_dropout: Fraction of h and g to drop before the matrix products of the transition, the same units in
            all steps of a call. Cells are never dropped.
        return_sequences: Whether to return the h_i of the words instead of the g of the sentence.
        return_state: Whether to return g and c_g as well.
        return_depths: Whether to return the depths as well.
        rematerialize: For long texts: whether the gradient stores only the states after each layer and recomputes one
            layer at a time. Values and gradients do not change, nor does what the BiLSTM of `sequential="bilstm"`
            stores.
        kernel_initializer, kernel_regularizer, kernel_constraint: Of `kernel`, `inner_kernel`, `depth_kernel`,
            `initial_kernel` and the kernels of the BiLSTM.
        recurrent_initializer, recurrent_regularizer, recurrent_constraint: Of `recurrent_kernel`, `sentence_kernel`,
            `sentence_gate_kernel`, `node_kernel`, `node_recurrent_kernel` and the recurrent kernels of the BiLSTM. By
            default, all are orthogonal, those of the transition with a gain of 10 (see `SLSTM`).
        bias_initializer, bias_regularizer, bias_constraint: Of all biases. The forget gates of the BiLSTM start at 1
            regardless of the initialiser.
        position_initializer: Of `position_embeddings`.
        activity_regularizer: Of the output.
        seed: Seed of dropout and noise.

    Call arguments:
        inputs: `(batch, time, features)`.
        depths: `(batch, time)` integers, used instead of the layer's own choice and clipped to 1..L; or None.
        mask: `(batch, time)` bool, True at real words; None if all are real. Padding may be on either side and changes
            nothing. A masked word inside a sentence separates its neighbours in the transition (they read h = c = 0),
            while the sequential module skips it.
        training: Whether to apply dropout and noise.

    Returns:
        In the compute dtype: the sentence vector g, `(batch, units)`; with `return_sequences` the word vectors h,
        `(batch, time, units)`, 0 at masked positions. With `return_state` followed by g and c_g, `(batch, units)` each;
        with `return_depths` followed by the depths, `(batch, time)` int32, 0 at masked positions. A list if there is
        more than one. A row without a real word gives zeros.

    Raises:
        ValueError: If an argument is out of range or contradicts another, the input, the mask or the depths have the
            wrong shape, or the number of features is unknown.

    Weights:
        With e input features, s = `depth_units`, and r features of the sequential module (2 (d // 2) of the BiLSTM,
        else e); the seven gates of a word in the order i, l, r, f, o, u, s:

        - kernel: U of eq. 2, `(e + s, 7 d)`; the rows of x_i, then those of its depth embedding.
        - recurrent_kernel, bias, sentence_kernel, sentence_gate_kernel, node_kernel, node_recurrent_kernel, node_bias:
          as in `SLSTM` with one neighbour and one sentence node, `(3 d, 7 d)`, `(7 d,)`, `(d, 6 d)`, `(d, d)`,
          `(d, 3 d)`, `(d, 3 d)` and `(3 d,)`.
        - inner_kernel, inner_bias: W_1 and b_1, `(r, s)` and `(s,)`.
        - initial_kernel, initial_bias: W_3 and b_3, `(s, d)` and `(d,)`.
        - position_embeddings: `(max_length, e)`, with `sequential="learned"`.
        - depth_kernel: W_2, `(s, L)`; column d - 1 belongs to depth d.
        - depth_bias: b_2, `(L,)`; trained only with `depth_penalty`.
        - bilstm/...: for each direction, the forward one first, kernel `(e, 4 (d // 2))`, recurrent kernel
          `(d // 2, 4 (d // 2))` and bias `(4 (d // 2),)`, gate order i, f, c, o: those of `keras.layers.LSTM`.

    Speed:
        On TensorFlow, stopped words are skipped eagerly, in graphs, and under XLA (`jit_compile=True`) in inference;
        training under XLA computes all words in every step, so `compile` chooses a graph by default. On JAX, where
        shapes are static, the number of words per step is rounded up, and a model exported for any size computes all
        words. On PyTorch, stopped words are skipped eagerly, and all words are computed under `torch.compile`. The
        input products and the sums of the sentence node always include all words.

    Quantisation:
        `keras.Model.quantize` skips layers that contain others: it quantises the BiLSTM, but not the rest of this
        layer. Call `layer.quantize(mode)` after it. (The text models of this package do both.)

    Example:

    ```python
    words = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(20_000, 300, mask_zero=True)(words)
    g, depths = keras_slstm.DepthAdaptiveGRN(400, max_depth=9, return_depths=True)(x)
    model = keras.Model(words, keras.layers.Dense(2, activation="softmax")(g))
    ```

    Reference:
        [Liu, Meng, Chen, Xu and Zhou, 2020](https://arxiv.org/abs/2003.00166)
    """

    reads_both_ways = True
    former_names = {"depth_regularizer": "depth_penalty"}

    def __init__(
        self,
        units: int,
        max_depth: int = 9,
        selection: str = "gumbel",
        sequential: str | None = "bilstm",
        max_length: int | None = None,
        depth_units: int = 50,
        depth_penalty: float = 0.0,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        return_sequences: bool = False,
        return_state: bool = False,
        return_depths: bool = False,
        rematerialize: bool = False,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = None,
        bias_initializer: Any = "zeros",
        position_initializer: Any = "uniform",
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
        self.units = check_integer("units", units, least=2 if sequential == "bilstm" else 1)
        self.max_depth = check_integer("max_depth", max_depth, least=1)
        self.selection = check_choice("selection", selection, SELECTIONS)
        self.sequential = check_choice("sequential", sequential, SEQUENTIAL)
        if (max_length is None) != (sequential != "learned"):
            raise ValueError(
                f'Pass `max_length` if and only if sequential="learned"; got max_length={max_length!r} and '
                f"sequential={sequential!r}."
            )
        self.max_length = None if max_length is None else check_integer("max_length", max_length, least=1)
        self.depth_units = check_integer("depth_units", depth_units, least=1)
        self.depth_penalty = check_non_negative("depth_penalty", depth_penalty)
        if self.depth_penalty and selection == "full":
            raise ValueError('`depth_penalty` must be 0 with selection="full", which chooses no depths.')
        self.dropout = check_rate("dropout", dropout)
        self.recurrent_dropout = check_rate("recurrent_dropout", recurrent_dropout)
        self.return_sequences = check_bool("return_sequences", return_sequences)
        self.return_state = check_bool("return_state", return_state)
        self.return_depths = check_bool("return_depths", return_depths)
        self.rematerialize = check_bool("rematerialize", rematerialize)
        self.set_weight_arguments(locals())
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)
        with keras.RematScope(mode=None):  # PyTorch cannot nest recomputation
            self.bilstm = self._make_bilstm() if sequential == "bilstm" else None
        self.input_spec = keras.layers.InputSpec(ndim=3)
        self.supports_masking = True
        if not skips_under_xla():
            self.supports_jit = False  # `jit_compile="auto"` respects it

    def _make_bilstm(self) -> keras.layers.Layer:
        own = ("position_initializer", "activity_regularizer")  # of the GRN alone
        options = {name: value for name, value in self.weight_config().items() if name not in own}
        if self.recurrent_initializer is None:
            del options["recurrent_initializer"]
        # A CAS-LSTM of one layer is an LSTM. Unlike Keras' own, it takes padding anywhere, empty rows and float64.
        lstm = CASLSTM(
            self.units // 2, num_layers=1, return_sequences=True, name="lstm", dtype=self.dtype_policy, **options
        )
        return keras.layers.Bidirectional(lstm, name="bilstm", dtype=self.dtype_policy)

    def quantizable_parts(self) -> list[Any]:
        if self.bilstm is None:
            return [self]
        return [self, self.bilstm.forward_layer.cell, self.bilstm.backward_layer.cell]

    def build(self, input_shape: Shape) -> None:
        e, s = check_features(input_shape, self.name), self.depth_units
        r = e
        if self.bilstm is not None:
            self.bilstm.build((None, None, e))
            r = 2 * (self.units // 2)
        self.add_transition_weights(e + s, self.units)
        self.inner_kernel = self.add_weight_like("kernel", "inner_kernel", (r, s))
        self.inner_bias = self.add_weight_like("bias", "inner_bias", (s,))
        self.initial_kernel = self.add_weight_like("kernel", "initial_kernel", (s, self.units))
        self.initial_bias = self.add_weight_like("bias", "initial_bias", (self.units,))
        if self.max_length is not None:
            self.position_embeddings = self.add_weight_like("position", "position_embeddings", (self.max_length, e))
        self.depth_kernel = self.add_weight_like("kernel", "depth_kernel", (s, self.max_depth), quantized=False)
        # Created last, so that its position in a file is the same whether it is trained or not.
        learns = bool(self.depth_penalty)
        self.depth_bias = self.add_weight_like("bias", "depth_bias", (self.max_depth,), trainable=learns)
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: e})
        self.built = True

    def call(
        self,
        inputs: Tensor,
        depths: Tensor | None = None,
        mask: Tensor | None = None,
        training: bool = False,
        inputs_mask: Tensor | None = None,
    ) -> Any:
        # With given depths, Keras passes the mask of the inputs under this other name.
        x, mask = masked_inputs(self, inputs, inputs_mask if mask is None else mask)
        if self.dropout and training:
            x = dropout(x, self.dropout, self.seed_generator)

        inner = self._inner(x, mask)
        every_layer = depths is None and self.selection == "full"
        if depths is None:
            depths = self._choose_depths(inner, mask, training)
        else:
            depths = clip_depths(self._check_depths(depths, inputs), self.max_depth, mask)
        x = ops.concatenate([x, depth_embedding(depths, ops.convert_to_tensor(self.depth_kernel))], axis=-1)
        h0 = project(inner, self.kernel_value(self.initial_kernel)) + self.initial_bias

        h_dropout_mask = g_dropout_mask = None
        if self.recurrent_dropout and training:
            node = ops.ones((ops.shape(h0)[0], 1, self.units), dtype=h0.dtype)  # one even without words
            h_dropout_mask, g_dropout_mask = (
                dropout_mask(like, self.recurrent_dropout, self.seed_generator) for like in (h0, node)
            )
        h, g, c_g = depth_adaptive_grn(
            self.transition_weights(),
            x,
            mask,
            h0,
            None if every_layer else depths,
            self.max_depth,
            h_dropout_mask,
            g_dropout_mask,
            training,
            self.rematerialize,
        )
        outputs = [h if self.return_sequences else g[:, 0]]
        if self.return_state:
            outputs += [g[:, 0], c_g[:, 0]]
        if self.return_depths:
            outputs.append(depths)
        return outputs if len(outputs) > 1 else outputs[0]

    def _check_depths(self, depths: Tensor, inputs: Tensor) -> Tensor:
        depths = ops.convert_to_tensor(depths)
        if keras.backend.standardize_dtype(depths.dtype) == "bool":
            raise ValueError(f"{self.name} expects integers as depths, but got bools. Pass a mask by name: `mask=...`.")
        known = (sizes for sizes in zip(inputs.shape, depths.shape) if all(isinstance(size, int) for size in sizes))
        if len(depths.shape) != 2 or any(size != expected for size, expected in known):
            raise ValueError(
                f"{self.name} expects depths of shape (batch, time) for input of shape {tuple(inputs.shape)}, but got "
                f"depths of shape {tuple(depths.shape)}."
            )
        return depths

    def word_depths(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        """The depths that the layer chooses at inference, `(batch, time)` int32, without running the transition.

        Args:
            inputs, mask: As in the call.
        """
        if not self.built:
            self.build(tuple(inputs.shape))
        x, mask = masked_inputs(self, inputs, mask)
        logits = self._logits(self._inner(x, mask))
        return choose_depths(logits, self.selection, mask)

    def _inner(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """The inner vectors, `(batch, time, depth_units)`."""
        weights = self.kernel_value(self.inner_kernel), self.inner_bias
        kernel, bias = (ops.cast(weight, self.compute_dtype) for weight in weights)
        return ops.relu(project(self._features(x, mask), kernel) + bias)

    def _logits(self, inner: Tensor) -> Tensor:
        """The logits l of eq. 6, `(batch, time, L)`, in at least float32: in bfloat16, many would be equal."""
        dtype = accumulation_dtype(self.compute_dtype)
        kernel, bias = (ops.cast(weight, self.compute_dtype) for weight in (self.depth_kernel, self.depth_bias))
        return project(ops.cast(inner, dtype), ops.cast(kernel, dtype)) + ops.cast(bias, dtype)

    def _features(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """The r_i, `(batch, time, r)`."""
        if self.sequential is None:
            return x
        if self.bilstm is not None:
            return self.bilstm(x, mask=mask, training=False)  # nothing in it depends on `training`
        if mask is None:
            positions = ops.expand_dims(indices(x, 1), 0)
        else:
            positions = ops.cumsum(ops.cast(mask, "int32"), axis=1) - 1
        if self.max_length is None:
            return x + sinusoidal_code(positions, x.shape[-1], keras.backend.standardize_dtype(x.dtype))
        table = ops.cast(self.position_embeddings, x.dtype)
        return x + ops.take(table, ops.clip(positions, 0, self.max_length - 1), axis=0)

    def _choose_depths(self, inner: Tensor, mask: Tensor | None, training: bool) -> Tensor:
        logits = self._logits(inner)
        dtype = keras.backend.standardize_dtype(logits.dtype)
        if self.depth_penalty:
            total = ops.sum(zero_padding(ops.expand_dims(expected_depth(logits), -1), mask))
            words = ops.size(logits) // self.max_depth if mask is None else ops.sum(ops.cast(mask, "int32"))
            share = total / ops.cast(ops.maximum(words, 1), dtype) / self.max_depth
            self.add_loss(self.depth_penalty * share)
        noise = None
        if self.selection == "gumbel" and training:
            noise = gumbel_noise(ops.shape(logits), dtype, self.seed_generator)
        return choose_depths(logits, self.selection, mask, noise)

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Any:
        masks = [mask if self.return_sequences else None]
        masks += [None, None] if self.return_state else []
        masks += [mask] if self.return_depths else []
        return masks if len(masks) > 1 else masks[0]

    def compute_output_shape(self, input_shape: Shape) -> Any:
        sentence = (input_shape[0], self.units)
        shapes: list[Shape] = [(*input_shape[:2], self.units) if self.return_sequences else sentence]
        shapes += [sentence, sentence] if self.return_state else []
        shapes += [tuple(input_shape[:2])] if self.return_depths else []
        return shapes if len(shapes) > 1 else shapes[0]

    def compute_output_spec(self, inputs: Tensor, *args: Any, **kwargs: Any) -> Any:
        shapes = self.compute_output_shape(tuple(inputs.shape))
        if not isinstance(shapes, list):
            return keras.KerasTensor(shapes, dtype=self.compute_dtype)
        specs = [keras.KerasTensor(shape, dtype=self.compute_dtype) for shape in shapes]
        if self.return_depths:
            specs[-1] = keras.KerasTensor(shapes[-1], dtype="int32")
        return specs
