"""Imports Keras without the lines that TensorFlow logs before it reads its log level."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator

# TensorFlow 2.21 writes such lines while its libraries load, whatever TF_CPP_MIN_LOG_LEVEL says.
_CHATTER = re.compile(rb"[IW]\d{4} \d\d:|WARNING: All log messages before absl::InitializeLog|E\d{4} .*cuInit")


def import_keras() -> None:
    """Import Keras; where `TF_CPP_MIN_LOG_LEVEL` is 1 or more, without TensorFlow's messages about devices.

    At levels 2 and 3, which ask for no warnings, TensorFlow's Python half warns of nothing either, such as retracing.
    """
    log = logging.getLogger("tensorflow")
    if os.environ.get("TF_CPP_MIN_LOG_LEVEL") in ("2", "3") and log.level == logging.NOTSET:
        log.setLevel(logging.ERROR)
    with _quietly("keras"):
        import keras  # noqa: F401


def set_random_seed(seed: int) -> None:
    """Call `keras.utils.set_random_seed`, which imports TensorFlow on every backend, as quietly as `import_keras`."""
    import keras

    with _quietly("tensorflow"):
        keras.utils.set_random_seed(seed)


def _quietly(module: str) -> contextlib.AbstractContextManager[None]:
    """A context without chatter, if the module is not imported yet and the user has asked for less."""
    chatter_wanted = os.environ.get("TF_CPP_MIN_LOG_LEVEL", "0") in ("", "0")
    return contextlib.nullcontext() if chatter_wanted or module in sys.modules else without_chatter()


@contextlib.contextmanager
def without_chatter() -> Iterator[None]:
    """Hold back standard error, of C++ code too; at the end, write it without chatter."""
    try:
        sys.stderr.flush()
        kept = os.dup(2)
    except (AttributeError, OSError, ValueError):  # a process without standard error
        yield
        return
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            os.write(2, b"".join(line for line in file if not _CHATTER.match(line)))


import_keras()
