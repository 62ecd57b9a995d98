"""Sentence-state LSTM and related sentence encoders as Keras layers."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any


def _is_own_command() -> bool:
    """Whether a command of this package imports it: commands check their options before Keras loads."""
    program = sys.argv[0] if sys.argv else ""
    modules = {"keras_slstm", "keras_slstm.distribute"}
    return Path(program).stem == "keras-slstm" or (program == "-m" and not modules.isdisjoint(sys.orig_argv))


if _is_own_command():

    def __getattr__(name: str) -> Any:
        return getattr(importlib.import_module("keras_slstm.public"), name)
else:
    # The eager import registers all classes with Keras, so that it can load saved models.
    from keras_slstm.public import *  # noqa: F403
    from keras_slstm.public import __all__, __version__  # noqa: F401
