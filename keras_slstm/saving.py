"""Saves models for inference."""

from __future__ import annotations

import os
from typing import Any

import keras


def save_for_inference(model: keras.Model, filepath: str | os.PathLike[str]) -> None:
    """Save a model as a `.keras` file without optimizer, loss and metrics.

    The state of Adam makes a file three times as large. The loaded model can predict; `compile` it before you evaluate
    it or train it further.

    Args:
        model: The model. It stays compiled.
        filepath: The file to write.

    Example:

    ```python
    keras_slstm.models.save_for_inference(model, "intents.keras")
    keras.saving.load_model("intents.keras").classify(["I need a room in Rome"])
    ```
    """
    if not model.compiled:
        model.save(filepath)
        return
    optimizer = model.optimizer
    model.optimizer, model.compiled = None, False
    try:
        model.save(filepath)
    finally:
        model.optimizer, model.compiled = optimizer, True


def portable_config(config: Any) -> Any:
    """Return the config of a compiled model with the public names of optimizers.

    On PyTorch, Keras saves its PyTorch variant of an optimizer, which does not load without PyTorch and does not train
    on other backends.
    """
    if isinstance(config, dict):
        if str(config.get("module")).startswith("keras.src.backend.torch.optimizers."):
            config = {**config, "module": "keras.optimizers", "registered_name": None}
        return {name: portable_config(value) for name, value in config.items()}
    return [portable_config(value) for value in config] if isinstance(config, list) else config
