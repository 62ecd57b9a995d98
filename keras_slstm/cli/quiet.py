"""Imports Keras for the commands: quietly, and without packages that they do not use."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator

# Packages that Keras imports, if they are installed, for functions that no command uses: its wrappers and plots, and
# the Orbax callback. They take a fifth to a third of the time that it takes to import Keras.
_NOT_NEEDED = ("sklearn", "matplotlib.pyplot")


def import_backend() -> None:
    """Import Keras and its backend without TensorFlow's messages on devices, libraries and retracing.

    A level set by the user in `TF_CPP_MIN_LOG_LEVEL` is kept.
    """
    if "keras" in sys.modules:
        return
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # level 2 still prints a line on cuInit
    for name in ("tensorflow", "absl"):
        logging.getLogger(name).setLevel(logging.ERROR)
    # Keras adapts JAX for the Orbax callback. Without the variable, a file may name the backend.
    other_backends = ("jax",) if os.environ.get("KERAS_BACKEND") in ("tensorflow", "torch") else ()
    with _without(*_NOT_NEEDED, *other_backends):
        import keras_slstm.quiet_import  # noqa: F401


@contextlib.contextmanager
def _without(*names: str) -> Iterator[None]:
    """Let imports of these modules fail. Afterwards, they can be imported again."""
    hidden = [name for name in names if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]  # as the import system documents
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
