"""Sentence encoders by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import keras
from keras import ops

from keras_slstm.layers.cas_lstm import CASLSTM
from keras_slstm.layers.depth_adaptive_grn import DepthAdaptiveGRN
from keras_slstm.layers.normalized_lstm import NormalizedLSTM
from keras_slstm.layers.pooling import MaskedGlobalAveragePooling1D, MaskedGlobalMaxPooling1D
from keras_slstm.layers.slstm import SLSTM
from keras_slstm.layers.subilstm import SuBiLSTM
from keras_slstm.models.baselines import ConvolutionStack, TransformerEncoder
from keras_slstm.ops.boundary_words import add_boundary_words
from keras_slstm.ops.masks import check_mask, masked_max, masked_mean, zero_padding
from keras_slstm.suggestions import did_you_mean


def build_encoder(name: str, units: int, return_sequences: bool = False, **options: Any) -> keras.layers.Layer:
    """Build a sentence encoder.

    Args:
        name: One of `ENCODERS`:

            - `"slstm"`: `SLSTM`. The sentence vector is the sentence node, `(batch, units)`.
            - `"lstm"`: one `keras.layers.LSTM`. The sentence vector is its final state, `(batch, units)`.
            - `"bilstm"`: one bidirectional `keras.layers.LSTM`. The sentence vector is the two final states,
              `(batch, 2 * units)`.
            - `"stacked_bilstm"`: `num_layers` (default 2) of them.
            - `"normalized_bilstm"`: the paper's baseline, a bidirectional `NormalizedLSTM` that reads trained
              words `<s>` and `</s>` around the sentence.
            - `"caslstm"`: `CASLSTM` of `num_layers` (default 2) layers. The sentence vector is the maximum over the
              words, `(batch, units)`.
            - `"bi_caslstm"`: two of them, one for each direction, `(batch, 2 * units)`.
            - `"subilstm"`: `SuBiLSTM`, its weights tied. The sentence vector is the maximum over the words,
              `(batch, 2 * units)`, or `(batch, 4 * units)` with `combine="concat"`.
            - `"subilstm_untied"`: the same with weights of their own.
            - `"cnn"`: one convolution over three words, with the maximum over the words as sentence vector,
              `(batch, units)`.
            - `"stacked_cnn"`: `num_layers` (default 3) of them.
            - `"transformer"`: a `TransformerEncoder`, with the mean over the words as sentence vector,
              `(batch, units)`.
            - `"depth_adaptive_grn"`: `DepthAdaptiveGRN` with the settings of its paper (9 layers, `recurrent_dropout`
              0.2). The sentence vector is `PooledStates`, `(batch, 3 * units)`.
            - `"full_depth_grn"`: the same with all words at full depth.
        units: Size of the states, for each direction.
        return_sequences: Whether to return word vectors `(batch, time, features)` instead.
        **options: Further arguments of the encoder: for `"slstm"` those of `SLSTM` (`steps`, `window`,
            `sentence_nodes`, ...), for the recurrent ones those of the layer (`recurrent_dropout`, `lam`, `combine`,
            ...), for the others those of `ConvolutionStack` and `TransformerEncoder`.

    Returns:
        A layer to be called on `(batch, time, features)` with a `mask`.

    Raises:
        ValueError: If there is no such encoder, or it has no such option.

    Example:

    ```python
    encoder = build_encoder("slstm", 300, steps=7)
    sentence = encoder(embedded_words, mask=mask)  # (batch, 300)
    ```
    """
    if name not in ENCODERS:
        known = f"Known encoders: {', '.join(ENCODERS)}.{did_you_mean(name, ENCODERS)}"
        raise ValueError(f"There is no encoder {name!r}. {known}")
    try:
        return ENCODERS[name](units, return_sequences=return_sequences, **options)
    except TypeError as error:
        raise ValueError(f"The encoder {name!r} does not take these options: {error}") from error


def check_takes_mask(encoder: keras.layers.Layer) -> None:
    """Raise ValueError where padding would count."""
    if "mask" not in inspect.signature(encoder.call).parameters:
        raise ValueError(f"`encoder` has to take a `mask`, but {encoder.name!r} does not: padding would count.")


@keras.saving.register_keras_serializable(package="keras_slstm")
class LayerStack(keras.layers.Layer):
    """Layers over a sequence, one after the other, every one with the mask of the input.

    `keras.Sequential` relies on each layer to pass the mask on, which recurrent layers do not always.

    Args:
        layers: The layers, bottom first. Each takes `(batch, time, features)` and a `mask`.

    Raises:
        ValueError: If there is no layer.
    """

    def __init__(self, layers: Sequence[keras.layers.Layer], **kwargs: Any):
        super().__init__(**kwargs)
        if not layers:
            raise ValueError("`layers` is empty.")
        self.layers = list(layers)
        self.supports_masking = True

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        for layer in self.layers:
            if not layer.built:  # as one from a config may be
                layer.build(input_shape)
            input_shape = layer.compute_output_shape(input_shape)
        self.built = True

    def call(self, inputs: Any, mask: Any = None, training: bool = False) -> Any:
        x = inputs
        for layer in self.layers:
            x = layer(x, mask=mask, training=training)
        return x

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        for layer in self.layers:
            input_shape = layer.compute_output_shape(input_shape)
        return input_shape

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return mask if len(self.compute_output_shape(inputs.shape)) == 3 else None

    def get_config(self) -> dict[str, Any]:
        layers = [keras.saving.serialize_keras_object(layer) for layer in self.layers]
        return {**super().get_config(), "layers": layers}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LayerStack:
        layers = [keras.saving.deserialize_keras_object(layer) for layer in config["layers"]]
        return cls(**{**config, "layers": layers})


@keras.saving.register_keras_serializable(package="keras_slstm")
class BoundaryWords(keras.layers.Layer):
    """A recurrent layer that reads a trained `<s>` before the first and `</s>` after the last real word.

    Args:
        layer: The layer. It takes `(batch, time, features)` and a `mask`; of a returned sequence, the boundary words
            are dropped again.
    """

    def __init__(self, layer: keras.layers.Layer, **kwargs: Any):
        super().__init__(**kwargs)
        self.layer = layer
        self.supports_masking = True

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        batch, time, features = input_shape
        self.boundary_embeddings = self.add_weight(
            name="boundary_embeddings", shape=(2, features), initializer="uniform"
        )
        if not self.layer.built:  # as one from a config may be
            self.layer.build((batch, None if time is None else time + 2, features))
        self.built = True

    def call(self, inputs: Any, mask: Any = None, training: bool = False) -> Any:
        mask = check_mask(inputs, mask, self.name)
        x, present = add_boundary_words(inputs, mask, self.boundary_embeddings)
        x = self.layer(x, mask=present, training=training)
        return zero_padding(x[:, 1:-1], mask) if len(x.shape) == 3 else x

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return self.layer.compute_output_shape(input_shape)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return mask if len(self.compute_output_shape(inputs.shape)) == 3 else None

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "layer": keras.saving.serialize_keras_object(self.layer)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> BoundaryWords:
        return cls(**{**config, "layer": keras.saving.deserialize_keras_object(config["layer"])})


@keras.saving.register_keras_serializable(package="keras_slstm")
class PooledStates(keras.layers.Layer):
    """The features of eq. 15 of the depth-adaptive GRN: `relu([max_i h_i; mean_i h_i; g])`, over the real words.

    Args:
        layer: A layer that returns h, `(batch, time, units)`, then g, `(batch, units)`, such as `DepthAdaptiveGRN` or
            `SLSTM` with `return_sequences` and `return_state`.

    Returns:
        `(batch, 3 * units)`. A row without a real word gives zeros.

    Raises:
        ValueError: If the layer does not return sequences and states.
    """

    def __init__(self, layer: keras.layers.Layer, **kwargs: Any):
        super().__init__(**kwargs)
        for name in ("return_sequences", "return_state"):
            if not getattr(layer, name, False):
                raise ValueError(f"`layer` must return h and g, but {layer.name} has not {name}=True.")
        self.layer = layer
        self.supports_masking = True

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        if not self.layer.built:  # as one from a config may be
            self.layer.build(input_shape)
        self.built = True

    def call(self, inputs: Any, mask: Any = None, training: bool = False) -> Any:
        mask = check_mask(inputs, mask, self.name)
        h, g, *_ = self.layer(inputs, mask=mask, training=training)
        return ops.relu(ops.concatenate([masked_max(h, mask), masked_mean(h, mask), g], axis=-1))

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        words, *_ = self.layer.compute_output_shape(input_shape)
        return (words[0], 3 * words[-1])

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        return None

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "layer": keras.saving.serialize_keras_object(self.layer)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> PooledStates:
        return cls(**{**config, "layer": keras.saving.deserialize_keras_object(config["layer"])})


def _bidirectional(recurrent: type[keras.layers.RNN], *args: Any, dtype: Any = None, **options: Any) -> Any:
    return keras.layers.Bidirectional(recurrent(*args, dtype=dtype, **options), dtype=dtype)


def _lstm(units: int, return_sequences: bool, **options: Any) -> keras.layers.Layer:
    return keras.layers.LSTM(units, return_sequences=return_sequences, **options)


def _bilstm(units: int, return_sequences: bool, **options: Any) -> keras.layers.Layer:
    return _bidirectional(keras.layers.LSTM, units, return_sequences=return_sequences, **options)


def _stacked_bilstm(units: int, return_sequences: bool, num_layers: int = 2, **options: Any) -> keras.layers.Layer:
    if not isinstance(num_layers, int) or num_layers < 1:
        raise ValueError(f"`num_layers` must be an integer of at least 1, but got {num_layers!r}.")
    below = [_bilstm(units, return_sequences=True, **options) for _ in range(num_layers - 1)]
    return LayerStack([*below, _bilstm(units, return_sequences, **options)], dtype=options.get("dtype"))


def _normalized_bilstm(units: int, return_sequences: bool, **options: Any) -> keras.layers.Layer:
    layer = _bidirectional(NormalizedLSTM, units, return_sequences=return_sequences, **options)
    return BoundaryWords(layer, dtype=options.get("dtype"))


def _caslstm(units: int, return_sequences: bool, **options: Any) -> keras.layers.Layer:
    return _pooled(CASLSTM(units, return_sequences=True, **options), MaskedGlobalMaxPooling1D, return_sequences)


def _bi_caslstm(units: int, return_sequences: bool, **options: Any) -> keras.layers.Layer:
    layer = _bidirectional(CASLSTM, units, return_sequences=True, **options)
    return _pooled(layer, MaskedGlobalMaxPooling1D, return_sequences)


def _pooled(words: keras.layers.Layer, pooling: type[keras.layers.Layer], return_sequences: bool) -> keras.layers.Layer:
    return (
        words if return_sequences else LayerStack([words, pooling(dtype=words.dtype_policy)], dtype=words.dtype_policy)
    )


def _subilstm_untied(units: int, return_sequences: bool, **options: Any) -> keras.layers.Layer:
    return SuBiLSTM(units, tied=False, return_sequences=return_sequences, **options)


def _cnn(units: int, return_sequences: bool, **options: Any) -> keras.layers.Layer:
    return _stacked_cnn(units, return_sequences, num_layers=1, **options)


def _stacked_cnn(units: int, return_sequences: bool, **options: Any) -> keras.layers.Layer:
    return _pooled(ConvolutionStack(units, **options), MaskedGlobalMaxPooling1D, return_sequences)


def _transformer(units: int, return_sequences: bool, **options: Any) -> keras.layers.Layer:
    return _pooled(TransformerEncoder(units, **options), MaskedGlobalAveragePooling1D, return_sequences)


def _depth_adaptive_grn(units: int, return_sequences: bool, **options: Any) -> keras.layers.Layer:
    options = {"recurrent_dropout": 0.2, **options}
    if return_sequences:
        return DepthAdaptiveGRN(units, return_sequences=True, **options)
    layer = DepthAdaptiveGRN(units, return_sequences=True, return_state=True, **options)
    return PooledStates(layer, dtype=options.get("dtype"))


def _full_depth_grn(units: int, return_sequences: bool, **options: Any) -> keras.layers.Layer:
    return _depth_adaptive_grn(units, return_sequences, selection="full", **options)


# A function `(units, return_sequences, **options) -> layer` for each name.
ENCODERS: dict[str, Callable[..., keras.layers.Layer]] = {
    "slstm": SLSTM,
    "lstm": _lstm,
    "bilstm": _bilstm,
    "stacked_bilstm": _stacked_bilstm,
    "normalized_bilstm": _normalized_bilstm,
    "caslstm": _caslstm,
    "bi_caslstm": _bi_caslstm,
    "subilstm": SuBiLSTM,
    "subilstm_untied": _subilstm_untied,
    "cnn": _cnn,
    "stacked_cnn": _stacked_cnn,
    "transformer": _transformer,
    "depth_adaptive_grn": _depth_adaptive_grn,
    "full_depth_grn": _full_depth_grn,
}
