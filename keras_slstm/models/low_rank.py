"""Low-rank adaptation (LoRA) of the encoder of a model."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import keras

from keras_slstm.layers.low_rank_kernels import LowRankKernels
from keras_slstm.validation import check_integer


class LowRankEncoder:
    """Mixin that gives a `keras.Model` a method `enable_lora` for the layers named in `recurrent_layers`."""

    recurrent_layers: tuple[str, ...] = ("encoder",)

    def enable_lora(
        self,
        rank: int,
        lora_alpha: float | None = None,
        a_initializer: Any = "he_uniform",
        b_initializer: Any = "zeros",
    ) -> None:
        """Freeze the model, and add a trainable product of two small matrices to each kernel of the encoder.

        Everything else is frozen: word vectors, biases, the last layer, and the statistics of batch normalisation.
        Compile the model afterwards. A warning names layers of the encoder that cannot be adapted, such as
        `keras.layers.LSTM`. A saved file contains the merged kernels and no optimizer: the loaded model has no small
        matrices, and all of its weights are trainable.

        Args:
            rank, lora_alpha, a_initializer, b_initializer: See `SLSTM.enable_lora`.

        Raises:
            ValueError: If the model is not built, is quantised or already adapted, or a kernel has a constraint.
            NotImplementedError: If no layer of the encoder can be adapted.

        Example:

        ```python
        model = keras.saving.load_model("intents.keras")
        model.enable_lora(rank=4)
        model.compile(keras.optimizers.Adam(0.001))
        model.fit(texts_of_a_new_domain, labels_of_a_new_domain, epochs=5)
        ```
        """
        model: Any = self
        if not model.built:
            raise ValueError(f"{model.name} is not built yet: call `adapt` before `enable_lora`.")
        roots = [getattr(model, name) for name in self.recurrent_layers]
        check_integer("rank", rank, 1)
        parts, left_out = _parts(roots)
        if not parts:
            raise NotImplementedError(f"LoRA supports no layer of {', '.join(each.name for each in roots)}.")
        for part in parts:
            _check(part)
        for weight in model.trainable_variables:
            weight.trainable = False
        for layer in model._flatten_layers(include_self=False):
            if isinstance(layer, keras.layers.BatchNormalization):
                layer.trainable = False
        for layer in _outermost(roots):
            layer.enable_lora(rank, lora_alpha, a_initializer=a_initializer, b_initializer=b_initializer)
            if not isinstance(layer, LowRankKernels) and layer.bias is not None:
                layer.bias.trainable = False
        # Functions that are already compiled do not read the small matrices.
        model.train_function = model.test_function = model.predict_function = None
        if left_out:
            adapted = ", ".join(part.path for part in parts)
            warnings.warn(f"Adapted: {adapted}. Without LoRA: {', '.join(left_out)}.", stacklevel=2)

    @property
    def lora_enabled(self) -> bool:
        """Whether `enable_lora` has been called."""
        model: Any = self
        return any(getattr(layer, "lora_enabled", False) for layer in model._flatten_layers(include_self=False))

    def get_compile_config(self) -> Any:
        # The trainable weights of the loaded model differ from those of the optimizer.
        return None if self.lora_enabled else super().get_compile_config()  # type: ignore[misc]


def _parts(roots: list[keras.layers.Layer]) -> tuple[list[Any], list[str]]:
    """The layers whose own kernels can be adapted, and the paths of the other layers with matrices."""
    found: list[Any] = []
    left_out = []
    for layer in _all_layers(roots):
        if _is_adaptable(layer):
            found.append(layer)
        elif any(len(weight.shape) > 1 for weight in layer._trainable_variables):
            left_out.append(layer.path)
    return found, left_out


def _outermost(roots: list[keras.layers.Layer]) -> Iterator[Any]:
    """The layers on which to call `enable_lora`; a layer may adapt its inner layers itself."""
    done: set[int] = set()
    for layer in _all_layers(roots):
        within = [each for each in layer._flatten_layers() if _is_adaptable(each)]
        if within and id(layer) not in done and (_is_adaptable(layer) or isinstance(layer, LowRankKernels)):
            done.update(map(id, layer._flatten_layers()))
            yield layer


def _all_layers(roots: list[keras.layers.Layer]) -> list[Any]:
    return [layer for root in roots for layer in root._flatten_layers()]


def _is_adaptable(layer: Any) -> bool:
    if isinstance(layer, LowRankKernels):
        return bool(getattr(layer, "can_quantize", False))
    return isinstance(layer, (keras.layers.Dense, keras.layers.EinsumDense))


def _check(part: Any) -> None:
    """Raise ValueError if a layer cannot be adapted. Called for all layers before any is changed."""
    if isinstance(part, LowRankKernels):
        part.check_low_rank()
    elif part.lora_enabled or part.quantization_mode or part.kernel_constraint is not None:
        raise ValueError(f"{part.path} cannot be adapted: it already has LoRA, a constraint, or a quantised kernel.")
