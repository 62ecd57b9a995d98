"""Linear-chain conditional random field (Lafferty, McCallum, Pereira, ICML 2001)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_slstm.crf_weights import ADDONS, read_crf_weights
from keras_slstm.layers.loss_check import check_compiled_loss
from keras_slstm.layers.potentials_layer import PotentialsLayer
from keras_slstm.ops.crf import FORBIDDEN
from keras_slstm.ops.crf_potentials import pack
from keras_slstm.ops.kernels import addons
from keras_slstm.ops.label_schemes import allowed_transitions, as_table, without_ends
from keras_slstm.ops.masks import is_first, is_last, zero_padding
from keras_slstm.ops.projection import project
from keras_slstm.types import Shape, Tensor
from keras_slstm.validation import check_bool, check_features, check_integer


@keras.saving.register_keras_serializable(package="keras_slstm")
class CRF(PotentialsLayer):
    """Linear-chain conditional random field, which scores whole label sequences.

    The probability of the labels y_1 ... y_n of the n words of a sentence is exp(score), divided by the sum of
    exp(score) over all label sequences. With the word vectors h_i,

        score = sum_i (h_i W + b)[y_i] + sum_{i > 1} A[y_{i-1}, y_i] + left[y_1] + right[y_n]

    (the form of tensorflow-addons' layer), or, with `pairwise`, a weight vector for each pair of labels (Zhang, Liu
    and Song, 2018):

        score = h_1 . W_left[y_1] + left[y_1] + sum_{i > 1} (h_i . W[y_{i-1}, y_i] + A[y_{i-1}, y_i]) + right[y_n]

    The layer returns *potentials*, one tensor with these scores and the mask: the input of `CRFLoss`,
    `CRFAccuracy`, the layer `CRFDecoder` and the functions `crf_decode`, `crf_marginals`, ... (The equations are in
    `keras_slstm/ops/crf.py`.)

    With `scheme`, forbidden label sequences are never decoded and are excluded from the sum over all sequences. Each
    forbidden label or transition in the given labels adds about 10,000 to the loss.

    Args:
        units: Number K of labels. Not needed with `labels`.
        chain_initializer: Initialiser of A.
        use_boundary: Whether to add left and right. (With `pairwise`, left is always added.)
        boundary_initializer: Initialiser of left and right.
        use_kernel: Whether to compute h_i W + b. If False, the inputs are the label scores themselves.
        labels: The label names, in the order of their numbers.
        scheme: `"BIO"` (every span of words begins with B), `"BIOES"`, `"BILOU"`, `"BMES"` or `"IOB1"`, which need
            `labels`: `O`, `B-PER`, `I-PER`, ...; a table or a function (see `allowed_transitions`), or
            the result of `seen_transitions`; None if every label may follow every other.
        pairwise: Whether each pair of labels has its own weight vector. Takes memory for K^2 numbers per word.
        engine: `"keras"`, or `"addons"` to compute likelihood and best sequence with tensorflow-addons (only on the
            TensorFlow backend, without XLA; not with `pairwise`).
        kernel_initializer, bias_initializer: Initialisers of W (and W_left), and b.
        kernel_regularizer, bias_regularizer, chain_regularizer, boundary_regularizer: Regularisers of W (and W_left),
            b, A, and left and right.
        kernel_constraint, bias_constraint, chain_constraint, boundary_constraint: Their constraints.

    Call arguments:
        inputs: `(batch, time, features)`; without `use_kernel`, `(batch, time, K)`.
        mask: `(batch, time)` bool, True at real words; None if all are real. Padding may be anywhere. The chain skips
            masked positions.

    Returns:
        Potentials, `(batch, time + K, K + 1)`: the label scores of each word, with the mask in the last column, and
        below them A. With `pairwise` `(batch, time, K + 1, K + 1)`: for each word the scores of the pairs, below them
        those of the labels, and the mask in the bottom right corner. (`engine="addons"` marks its output by a last
        axis of size 1.) In at least float32: with a half-precision policy, the layer computes in float32. The output
        has no Keras mask, because it contains the mask itself.

        Keras 3's `Concatenate` combines masks by *any*: next to an input without a mask, it masks nothing. Pass the
        mask of the words instead:

        ```python
        mask = embedding.compute_mask(ids)
        potentials = crf(encoder(joined, mask=mask), mask=mask)
        ```

    Raises:
        ValueError: If an argument is out of range, `units` is not the number of `labels`, a label does not belong to
            the scheme or is part of no allowed sequence, or the input or the mask has the wrong shape.
        ImportError: If `engine="addons"` and tensorflow-addons is not installed.

    Weights:
        kernel: W, `(features, K)`; with `pairwise` `(features, K * K)`, with the pairs [from, to] row by row.
        bias: b, `(K,)`; not with `pairwise`.
        chain_kernel: A, `(K, K)`, [from, to].
        left_boundary, right_boundary: `(K,)`, with `use_boundary`; left always with `pairwise`.
        left_kernel: W_left, `(features, K)`, with `pairwise`.

    Example:

    ```python
    tagger = keras.Sequential(
        [
            keras.layers.Embedding(20_000, 300, mask_zero=True),
            keras_slstm.SLSTM(300, return_sequences=True),
            keras_slstm.CRF(labels=["O", "B-PER", "I-PER", "B-LOC", "I-LOC"], scheme="BIO"),
        ]
    )
    tagger.compile("adam", loss=keras_slstm.CRFLoss(), metrics=[keras_slstm.CRFAccuracy()])
    tagger.fit(word_ids, label_ids)  # (sentences, time) each
    labels = keras_slstm.crf_decode(tagger.predict(word_ids))
    ```

    Reference:
        - [Lafferty, McCallum and Pereira, 2001](https://repository.upenn.edu/handle/20.500.14332/6188)
        - [Zhang, Liu and Song, 2018](https://aclanthology.org/P18-1030/)
    """

    has_quantized_kernels = True

    def __init__(
        self,
        units: int | None = None,
        chain_initializer: Any = "orthogonal",
        use_boundary: bool = True,
        boundary_initializer: Any = "zeros",
        use_kernel: bool = True,
        labels: Sequence[str] | None = None,
        scheme: Any = None,
        pairwise: bool = False,
        engine: str = "keras",
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        chain_regularizer: Any = None,
        boundary_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        chain_constraint: Any = None,
        boundary_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.labels = None if labels is None else _check_labels(labels)
        self.units = _check_units(units, self.labels)
        self.use_boundary = check_bool("use_boundary", use_boundary)
        self.use_kernel = check_bool("use_kernel", use_kernel)
        self.pairwise = check_bool("pairwise", pairwise)
        if pairwise and not use_kernel:
            raise ValueError("`use_kernel` must be True with `pairwise=True`, whose scores need the kernel.")
        self.engine = _check_engine(engine, self.pairwise)
        if self.labels is None and (isinstance(scheme, str) or callable(scheme)):
            raise ValueError(f"Pass the label names as `labels`: scheme={scheme!r} needs them.")
        names = self.labels or [str(number) for number in range(self.units)]
        self._allowed = None if scheme is None else allowed_transitions(names, scheme)
        # A function cannot be saved, but a table of what it allows can.
        self.scheme = scheme if self._allowed is None or isinstance(scheme, str) else as_table(self._allowed)
        self.set_weight_arguments(locals())

    @classmethod
    def from_addons(cls, source: Any, layer_name: str | None = None, **kwargs: Any) -> CRF:
        """Create a layer with the weights of a `tensorflow_addons.layers.CRF`; it gives the same scores and labels.

        Args:
            source: The layer, or the path of a file saved by Keras 2 (TensorFlow 2.15 or earlier): weights (`.h5`), a
                model (`.h5`, `.keras`), or a checkpoint.
            layer_name: Part of the path of the layer in the file, if the file contains several.
            **kwargs: Further arguments of the layer, such as `labels` and `scheme`, `name` or `dtype`.

        Returns:
            The layer, with its weights.

        Raises:
            ValueError: If the layer has no weights yet, or the file is damaged, refers to other files, or does not
                contain exactly one CRF.
            FileNotFoundError: If the file does not exist.

        Example:

        ```python
        crf = keras_slstm.CRF.from_addons("tagger_weights.h5", labels=["O", "B-PER", "I-PER"], scheme="BIO")
        ```
        """
        return cls.from_weights(source, layer_name, origins=(ADDONS,), **kwargs)

    @classmethod
    def from_weights(
        cls,
        source: Any,
        layer_name: str | None = None,
        projection: str | None = None,
        origins: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> CRF:
        """Create a layer with the weights of another library's CRF; it gives the same scores and labels.

        Args:
            source, layer_name, projection, origins: See `read_crf_weights`.
            **kwargs: Further arguments of the layer, such as `labels` and `scheme`, `name` or `dtype`. Without
                `scheme`, a CRF of AllenNLP keeps its constraints.

        Returns:
            The layer, with its weights. Without a kernel, its inputs are the label scores, as in the `ChainCRF` of
            DeLFT, pytorch-crf and AllenNLP.

        Raises:
            ValueError, FileNotFoundError: See `read_crf_weights`.

        Example:

        ```python
        crf = keras_slstm.CRF.from_weights("tagger.pt", projection="hidden2tag", labels=["O", "B-PER", "I-PER"])
        ```
        """
        found = read_crf_weights(source, layer_name, projection, origins)
        weights, K = found.weights, len(found.weights["chain_kernel"])
        kernel = weights.get("kernel")
        if found.allowed is not None:
            kwargs = {"scheme": without_ends(found.allowed), **kwargs}
        layer = cls(K, use_boundary="left_boundary" in weights, use_kernel=kernel is not None, **kwargs)
        layer.build((None, None, K if kernel is None else len(kernel)))
        for name, value in weights.items():
            getattr(layer, name).assign(value)
        return layer

    def build(self, input_shape: Shape) -> None:
        features = check_features(input_shape, self.name)
        K = self.units
        if not self.use_kernel and features != K:
            raise ValueError(
                f"Without `use_kernel`, {self.name} expects a score for each of its {K} labels, "
                f"but got input of shape {tuple(input_shape)}."
            )
        if self.use_kernel:
            self.kernel = self.add_weight_like("kernel", "kernel", (features, K * K if self.pairwise else K))
        if self.pairwise:
            self.left_kernel = self.add_weight_like("kernel", "left_kernel", (features, K))
        elif self.use_kernel:
            self.bias = self.add_weight_like("bias", "bias", (K,))
        self.chain_kernel = self.add_weight_like("chain", "chain_kernel", (K, K))
        self.add_boundary_weights(K, left=self.use_boundary or self.pairwise, right=self.use_boundary)
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: features})
        self.built = True

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        check_compiled_loss(self, "CRFLoss")
        h, mask = self.masked_words(inputs, mask)
        first, last = is_first(mask), is_last(mask)
        transitions = ops.convert_to_tensor(self.chain_kernel)
        if self.pairwise:
            unary = zero_padding(project(h, self.kernel_value(self.left_kernel)), first)
            batch, time = ops.shape(h)[:2]
            transitions = (
                ops.reshape(project(h, self.kernel_value(self.kernel)), (batch, time, *transitions.shape)) + transitions
            )
        else:
            unary = project(h, self.kernel_value(self.kernel)) + self.bias if self.use_kernel else h
        if self.use_boundary or self.pairwise:
            unary = unary + zero_padding(self.left_boundary + ops.zeros_like(unary), first)
        if self.use_boundary:
            unary = unary + zero_padding(self.right_boundary + ops.zeros_like(unary), last)
        if self._allowed is not None:
            # As tensors, because PyTorch does not combine a tensor on a GPU with a NumPy array.
            no_first, no_pair, no_last = (ops.convert_to_tensor(~part, "bool") for part in self._allowed)
            unary = _forbid(unary, ops.expand_dims(first, -1) & no_first | ops.expand_dims(last, -1) & no_last)
            transitions = _forbid(transitions, no_pair)
        potentials = pack(zero_padding(unary, mask), transitions, mask)
        return addons.add_axis(potentials) if self.engine == "addons" else potentials

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        batch, time, _ = input_shape
        K = self.units
        if self.pairwise:
            return (batch, time, K + 1, K + 1)
        shape = (batch, None if time is None else time + K, K + 1)
        return addons.shape_with_axis(shape) if self.engine == "addons" else shape


def _check_labels(labels: Sequence[str]) -> list[str]:
    # The order matters: a set has none, and iterating over a dict ignores its numbers.
    if isinstance(labels, str) or not isinstance(labels, Sequence) or not all(isinstance(y, str) for y in labels):
        raise ValueError(f"`labels` must be a list of names, in the order of their numbers, but got {labels!r}.")
    repeated = sorted({label for label in labels if list(labels).count(label) > 1})
    if repeated:
        raise ValueError(f"`labels` must be distinct, but {', '.join(map(repr, repeated))} repeat.")
    return list(labels)


def _check_units(units: int | None, labels: list[str] | None) -> int:
    if units is None and labels is None:
        raise ValueError("A CRF needs `units`, the number of labels, or `labels`, their names.")
    number = check_integer("units", len(labels or []) if units is None else units, least=1)
    if labels is not None and number != len(labels):
        raise ValueError(f"`units` must be the number of `labels`, {len(labels)}, but got {units!r}.")
    return number


def _check_engine(engine: str, pairwise: bool) -> str:
    if engine not in ("keras", "addons"):
        raise ValueError(f'`engine` must be "keras" or "addons", but got {engine!r}.')
    if engine == "addons":
        if pairwise:
            raise ValueError('tensorflow-addons has no pairwise form: engine="addons" needs `pairwise=False`.')
        addons.load()
    return engine


def _forbid(scores: Tensor, forbidden: Tensor) -> Tensor:
    return ops.where(forbidden, ops.full_like(scores, FORBIDDEN), scores)
