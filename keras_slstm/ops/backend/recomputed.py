"""Detects whether a call is recomputed for the gradient, which would draw different random numbers."""

from __future__ import annotations

import sys
from pathlib import Path

import keras

from keras_slstm.ops.backend.traceable import constant_in_traces

# Where a backend runs functions that it recomputes: the end of the file's path, and the functions.
_PLACES = {
    "tensorflow": (("tensorflow", "python", "ops", "custom_gradient.py"), ("recompute_grad.",)),
    "torch": (("torch", "utils", "checkpoint.py"), ("checkpoint", "_checkpoint_without_reentrant_generator.")),
}


@constant_in_traces
def is_recomputed() -> bool:
    """Whether this call is inside a function that the backend recomputes, now or later.

    TensorFlow and PyTorch run the Python function again, after the state of its seeds has advanced. JAX traces it only
    once, so the result is always False. Under `torch.compile`, this is known when the call is compiled: a recomputation
    around a function that was compiled before is not noticed.
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
    """Whether recomputation repeats the dropout of a generator: PyTorch restores its own random state."""
    return keras.backend.backend() == "torch" and seed.get_config()["seed"] is None
