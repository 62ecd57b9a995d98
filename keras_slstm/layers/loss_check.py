"""Names the correct loss if a model with a CRF output is compiled with a built-in Keras loss."""

from __future__ import annotations

from typing import Any

import keras


def check_compiled_loss(layer: keras.layers.Layer, loss: str) -> None:
    """Name the correct loss before a built-in Keras loss fails with a message about shapes.

    Keras has no public way to ask which model calls a layer. If the private one has moved, this check does nothing.

    Raises:
        ValueError: If the output of `layer` is an output of the compiled model, and its loss is built into Keras.
    """
    model = _model_in_training()
    if model is None or not model.compiled or layer.name not in _names_of_outputs(model):
        return
    compiled = model.loss.get(layer.name) if isinstance(model.loss, dict) else model.loss
    if isinstance(compiled, str) or str(getattr(compiled, "__module__", "")).startswith("keras.src.losses"):
        raise ValueError(
            f"The output of the layer {layer.name!r} contains the scores of label sequences. Compile the model with "
            f"loss=keras_slstm.{loss}(), not with loss={compiled!r}."
        )


def _names_of_outputs(model: Any) -> list[str]:
    """Names of the layers whose outputs Keras' own training step passes to the loss."""
    if type(model).train_step is not keras.Model.train_step or type(model).compute_loss is not keras.Model.compute_loss:
        return []
    if isinstance(model, keras.Sequential):
        return [model.layers[-1].name]
    return list(getattr(model, "output_names", []))


def _model_in_training() -> Any:
    """The model that is trained, or whose shapes Keras computes before training, or None."""
    try:  # Keras has no public way to ask for the outermost call; without it, the loss is not checked
        from keras.src.backend.common.global_state import get_global_attribute
    except ImportError:
        return None
    context = get_global_attribute("current_call_ctx")
    model = getattr(context, "entry_layer", None)
    if not isinstance(model, keras.Model):
        return None
    # On TensorFlow, Keras computes no shapes before the first step.
    is_training = context.get_value("training") or get_global_attribute("symbolic_scope") is not None
    return model if is_training else None
