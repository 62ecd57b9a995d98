"""Suppression of the backends' log messages."""

from __future__ import annotations

import logging
import os
import sys


def import_backend() -> None:
    """Import Keras and its backend without TensorFlow's messages on devices, libraries and retracing.

    A level set by the user in `TF_CPP_MIN_LOG_LEVEL` is kept.
    """
    if "keras" in sys.modules:
        return
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # level 2 still prints a line on cuInit
    for name in ("tensorflow", "absl"):
        logging.getLogger(name).setLevel(logging.ERROR)
    import keras_slstm.quiet_import  # noqa: F401
