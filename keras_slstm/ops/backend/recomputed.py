"""Whether values are computed a second time for the gradient, and then draw other random numbers."""

from __future__ import annotations

import sys
from pathlib import Path

import keras

# Where a backend runs a function whose values it does not keep: the end of the file, the functions.
_PLACES = {
    "tensorflow": (("tensorflow", "python", "ops", "custom_gradient.py"), ("recompute_grad.",)),
    "torch": (("torch", "utils", "checkpoint.py"), ("checkpoint", "_checkpoint_without_reentrant_generator.")),
}


def is_recomputed() -> bool:
    """Whether this call stands in a function that the backend computes again, now or later.

    TensorFlow and PyTorch run the function as Python once more, so that the state of a seed has moved on. JAX traces it
    once: always False.
    """
    path, names = _PLACES.get(keras.backend.backend(), ((), ()))
    frame = sys._getframe() if names else None
    while frame is not None:
        code = frame.f_code
        if code.co_qualname.startswith(names) and Path(code.co_filename).parts[-len(path) :] == path:
            return True
        frame = frame.f_back
    return False


def restores_dropout(seed: keras.random.SeedGenerator) -> bool:
    """Whether a function that is computed again repeats the dropout of a generator: PyTorch restores its own state."""
    return keras.backend.backend() == "torch" and seed.get_config()["seed"] is None
