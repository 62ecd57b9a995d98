"""Sentence encoders by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import keras

from keras_slstm.layers.boundary_words import BoundaryWords
from keras_slstm.layers.cas_lstm import CASLSTM
from keras_slstm.layers.convolution_stack import ConvolutionStack
from keras_slstm.layers.depth_adaptive_grn import DepthAdaptiveGRN
from keras_slstm.layers.layer_stack import LayerStack
from keras_slstm.layers.min_gru import MinGRU
from keras_slstm.layers.normalized_lstm import NormalizedLSTM
from keras_slstm.layers.pooled_states import PooledStates
from keras_slstm.layers.pooling import MaskedGlobalAveragePooling1D, MaskedGlobalMaxPooling1D
from keras_slstm.layers.slstm import SLSTM
from keras_slstm.layers.subilstm import SuBiLSTM
from keras_slstm.layers.transformer_encoder import TransformerEncoder
from keras_slstm.suggestions import did_you_mean
from keras_slstm.validation import check_integer

# The sentence vectors that an S-LSTM can return; see `build_encoder`.
SLSTM_READOUTS = ("max_mean_node", "max", "node")


def build_encoder(name: str, units: int, return_sequences: bool = False, **options: Any) -> keras.layers.Layer:
    """Build a sentence encoder.

    Args:
        name: One of `ENCODERS`: a name given to `register_encoder`, or

            - `"slstm"`: `SLSTM`. The sentence vector is `[max; mean; g]`: the maximum and the mean over the words and
              the sentence node, `(batch, 3 * units)`. `readout="max"` gives the maximum, and `readout="node"` the
              sentence node alone, as in the paper, both `(batch, units)`.
            - `"lstm"`: one `keras.layers.LSTM`. The sentence vector is its final state, `(batch, units)`.
            - `"bilstm"`: one bidirectional `keras.layers.LSTM`. The sentence vector is the two final states,
              `(batch, 2 * units)`.
            - `"stacked_bilstm"`: `num_layers` (default 2) of them.
            - `"normalized_bilstm"`: the paper's baseline, a bidirectional `NormalizedLSTM` with trained words
              `<s>` and `</s>` around the sentence.
            - `"mingru"`: `num_layers` (default 3) bidirectional `MinGRU`. The sentence vector is the two final
              states of the last layer, `(batch, 2 * units)`.
            - `"caslstm"`: `CASLSTM` of `num_layers` (default 2) layers. The sentence vector is the maximum over the
              words, `(batch, units)`.
            - `"bi_caslstm"`: two of them, one for each direction, `(batch, 2 * units)`.
            - `"subilstm"`: `SuBiLSTM` with tied weights. The sentence vector is the maximum over the words,
              `(batch, 2 * units)`, or `(batch, 4 * units)` with `combine="concat"`.
            - `"subilstm_untied"`: the same with untied weights.
            - `"cnn"`: one convolution over three words, with the maximum over the words as sentence vector,
              `(batch, units)`.
            - `"stacked_cnn"`: `num_layers` (default 3) of them.
            - `"transformer"`: a `TransformerEncoder`, with the mean over the words as sentence vector,
              `(batch, units)`.
            - `"depth_adaptive_grn"`: `DepthAdaptiveGRN` with the settings of its paper (9 layers, `recurrent_dropout`
              0.2). The sentence vector is `PooledStates`, `(batch, 3 * units)`.
            - `"full_depth_grn"`: the same with all words at full depth.
        units: Size of the states in each direction.
        return_sequences: Whether to return word vectors `(batch, time, features)` instead.
        **options: Further arguments of the encoder: for `"slstm"` those of `SLSTM` (`steps`, `window`,
            `sentence_nodes`, ...), for the recurrent ones those of the layer (`recurrent_dropout`, `lam`, `combine`,
            ...), for the others those of `ConvolutionStack` and `TransformerEncoder`.

    Returns:
        A layer to call on `(batch, time, features)` with a `mask`.

    Raises:
        ValueError: If the encoder is unknown, or does not take an option.

    Example:

    ```python
    encoder = build_encoder("slstm", 300, steps=7)
    sentence = encoder(embedded_words, mask=mask)  # (batch, 900)
    ```
    """
    if name not in _ENCODERS:
        known = f"Known encoders: {', '.join(_ENCODERS)}.{did_you_mean(name, _ENCODERS)}"
        raise ValueError(f"Unknown encoder {name!r}. {known}")
    try:
        return _ENCODERS[name](units, return_sequences=return_sequences, **options)
    except TypeError as error:
        raise ValueError(f"The encoder {name!r} does not take these options: {error}") from error


def register_encoder(name: str, build: Callable[..., keras.layers.Layer]) -> None:
    """Make an encoder available by name in the models and the commands.

    Args:
        name: The name, not used by another encoder.
        build: A function `(units, return_sequences, **options)` that returns a layer to call on `(batch, time,
            features)` with a `mask`. With `return_sequences` the layer returns word vectors, otherwise sentence
            vectors.

    Raises:
        ValueError: If the name is taken or empty, or `build` does not take these arguments.

    Example:

    ```python
    def gru(units, return_sequences, **options):
        return keras.layers.GRU(units, return_sequences=return_sequences, **options)

    register_encoder("gru", gru)
    model = keras_slstm.SentenceClassifier(labels, encoder="gru")
    ```
    """
    if not isinstance(name, str) or not name:
        raise ValueError(f"`name` must be a non-empty string, but got {name!r}.")
    if name in _ENCODERS:
        raise ValueError(f"An encoder named {name!r} already exists.")
    if not callable(build):
        raise ValueError(f"`build` must be a function that returns a layer, but got {build!r}.")
    try:
        inspect.signature(build).bind_partial(8, return_sequences=True)
    except TypeError as error:
        raise ValueError(f"`build` must take `(units, return_sequences, **options)`: {error}.") from error
    _ENCODERS[name] = build


def make_encoder(
    encoder: str | keras.layers.Layer, units: int, options: dict[str, Any] | None, return_sequences: bool, dtype: Any
) -> keras.layers.Layer:
    """Return the encoder of a model, given by name or as a layer.

    Raises:
        ValueError: If it is neither, the options do not fit, or the layer takes no mask.
    """
    if isinstance(encoder, str):
        return build_encoder(encoder, units, return_sequences, **{"dtype": dtype, **(options or {})})
    if not isinstance(encoder, keras.layers.Layer):
        raise ValueError(f"`encoder` must be a name or a Keras layer, but got {encoder!r}.")
    if options:
        raise ValueError(f"`encoder_options` need an encoder given by name, but got {encoder!r}.")
    if "mask" not in inspect.signature(encoder.call).parameters:
        raise ValueError(f"`encoder` must take a `mask`, but {encoder.name!r} does not: padding would count as words.")
    return encoder


def _slstm(units: int, return_sequences: bool, readout: str = "max_mean_node", **options: Any) -> keras.layers.Layer:
    if readout not in SLSTM_READOUTS:
        raise ValueError(f"`readout` must be one of {SLSTM_READOUTS}, but got {readout!r}.")
    if return_sequences or readout == "node":
        return SLSTM(units, return_sequences=return_sequences, **options)
    if readout == "max":
        return _pooled(SLSTM(units, return_sequences=True, **options), MaskedGlobalMaxPooling1D, False)
    layer = SLSTM(units, return_sequences=True, return_state=True, **options)
    return PooledStates(layer, activation=None, dtype=options.get("dtype"))


def _bidirectional(recurrent: type[keras.layers.RNN], *args: Any, dtype: Any = None, **options: Any) -> Any:
    return keras.layers.Bidirectional(recurrent(*args, dtype=dtype, **options), dtype=dtype)


def _lstm(units: int, return_sequences: bool, **options: Any) -> keras.layers.Layer:
    return keras.layers.LSTM(units, return_sequences=return_sequences, **options)


def _bilstm(units: int, return_sequences: bool, **options: Any) -> keras.layers.Layer:
    return _bidirectional(keras.layers.LSTM, units, return_sequences=return_sequences, **options)


def _stacked_bilstm(units: int, return_sequences: bool, num_layers: int = 2, **options: Any) -> keras.layers.Layer:
    below = [_bilstm(units, True, **options) for _ in range(check_integer("num_layers", num_layers, 1) - 1)]
    return LayerStack([*below, _bilstm(units, return_sequences, **options)], dtype=options.get("dtype"))


def _normalized_bilstm(units: int, return_sequences: bool, **options: Any) -> keras.layers.Layer:
    layer = _bidirectional(NormalizedLSTM, units, return_sequences=return_sequences, **options)
    return BoundaryWords(layer, dtype=options.get("dtype"))


def _mingru(units: int, return_sequences: bool, num_layers: int = 3, **options: Any) -> keras.layers.Layer:
    sequences = [True] * (check_integer("num_layers", num_layers, 1) - 1) + [return_sequences]
    layers = [_bidirectional(MinGRU, units, return_sequences=returned, **options) for returned in sequences]
    return LayerStack(layers, dtype=options.get("dtype"))


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


_ENCODERS: dict[str, Callable[..., keras.layers.Layer]] = {
    "slstm": _slstm,
    "lstm": _lstm,
    "bilstm": _bilstm,
    "stacked_bilstm": _stacked_bilstm,
    "normalized_bilstm": _normalized_bilstm,
    "mingru": _mingru,
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
# A read-only view of all encoders by name.
ENCODERS: Mapping[str, Callable[..., keras.layers.Layer]] = MappingProxyType(_ENCODERS)
