"""Quantised text models that save and load."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import keras

from keras_slstm.layers.quantized_kernels import QuantizedKernels


class Quantizable:
    """Mixin of a `keras.Model` whose `quantize` survives saving and loading.

    Keras quantises `Dense`, `EinsumDense`, `Embedding` and `QuantizedKernels` layers. Text models create them when the
    vocabulary is known, so a file records which of them are quantised.
    """

    _quantization: list[dict[str, Any]] | None = None  # the mode, config and layers of each call

    def quantize(
        self,
        mode: str | None = None,
        config: Any = None,
        filters: str | Sequence[str] | Callable[[keras.Layer], bool] | None = None,
        **kwargs: Any,
    ) -> None:
        """Like `keras.Model.quantize`, for word vectors, dense layers, and the kernels of encoder and CRF.

        A warning names the quantised layers, and the layers whose matrices stay in floating point.

        Args:
            mode: `"int8"` or `"int4"`.
            config: A quantisation config of Keras, which includes a mode, or None.
            filters: The layers to quantise: name patterns, or a function. None: all.
            **kwargs: Further arguments of `keras.Model.quantize`.

        Raises:
            ValueError: If the model is not built yet, has LoRA enabled, or the mode is unknown.
        """
        if mode not in ("int8", "int4"):
            raise ValueError(f'`mode` must be "int8" or "int4" for a text model, but got {mode!r}.')
        layers = _with_matrices(self)
        if getattr(self, "lora_enabled", False):
            raise ValueError("LoRA is enabled: save and load the model first, which merges A B into the kernels.")
        chosen = [
            i for i, layer in enumerate(layers) if _is_supported(layer) and _matches(layer, filters)
        ]  # computed first, because quantisation changes the weights
        wanted = {id(layers[i]) for i in chosen}
        super().quantize(mode, config=config, filters=lambda layer: id(layer) in wanted, **kwargs)  # type: ignore[misc]
        for i in chosen:  # Keras skips layers that contain others
            if not getattr(layers[i], "_is_quantized", False):
                layers[i].quantize(mode, config=config)
        call = {"mode": mode, "config": keras.saving.serialize_keras_object(config), "layers": chosen}
        self._quantization = [*(self._quantization or []), call]
        done = {i for one in self._quantization for i in one["layers"]}
        skipped = [layer.path for i, layer in enumerate(layers) if i not in done]
        if skipped:
            quantized = [layers[i].path for i in chosen]
            warnings.warn(f"Quantised: {_join(quantized)}. Not quantised: {_join(skipped)}.", stacklevel=4)

    def quantize_again(self, quantization: list[dict[str, Any]]) -> None:
        """Quantise the layers of a model loaded from a file, before its weights are read."""
        layers = _with_matrices(self)
        for call in quantization:
            config = keras.saving.deserialize_keras_object(call["config"])
            for i in call["layers"]:
                if not getattr(layers[i], "_is_quantized", False):  # its own config may have quantised it already
                    layers[i].quantize(call["mode"], config=config)
        self._quantization = quantization


def _with_matrices(model: Any) -> list[keras.Layer]:
    """The layers that own matrices, in an order that depends only on the model's arguments."""
    return [layer for layer in model._flatten_layers(include_self=False) if any(map(_is_matrix, _own_weights(layer)))]


def _own_weights(layer: Any) -> list[Any]:
    return [*layer._trainable_variables, *layer._non_trainable_variables]


def _is_matrix(weight: Any) -> bool:
    return len(weight.shape) > 1


def _join(paths: list[str]) -> str:
    return ", ".join(paths) or "nothing"


def _is_supported(layer: keras.Layer) -> bool:
    if getattr(layer, "_is_quantized", False):
        return False
    if isinstance(layer, QuantizedKernels):
        return layer.can_quantize
    # Keras rejects subclasses.
    return type(layer) in (keras.layers.Dense, keras.layers.EinsumDense, keras.layers.Embedding)


def _matches(layer: keras.Layer, filters: Any) -> bool:
    if filters is None:
        return True
    if callable(filters):
        return bool(filters(layer))
    patterns = [filters] if isinstance(filters, str) else filters
    return any(re.search(pattern, layer.name) for pattern in patterns)
