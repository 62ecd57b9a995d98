"""Imports Keras without the lines that TensorFlow logs before it reads its log level."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

# TensorFlow 2.21 writes such lines while its libraries load, regardless of TF_CPP_MIN_LOG_LEVEL.
_CHATTER = re.compile(rb"[IW]\d{4} \d\d:|WARNING: All log messages before absl::InitializeLog|E\d{4} .*cuInit")


def import_keras() -> None:
    """Import Keras; if `TF_CPP_MIN_LOG_LEVEL` is 1 or more, suppress TensorFlow's messages about devices.

    Levels 2 and 3 also suppress the warnings of TensorFlow's Python code, such as those about retracing.
    """
    log = logging.getLogger("tensorflow")
    if os.environ.get("TF_CPP_MIN_LOG_LEVEL") in ("2", "3") and log.level == logging.NOTSET:
        log.setLevel(logging.ERROR)
    chatter_wanted = os.environ.get("TF_CPP_MIN_LOG_LEVEL", "0") in ("", "0")
    if not chatter_wanted and not any(isinstance(finder, QuietTensorFlow) for finder in sys.meta_path):
        sys.meta_path.insert(0, QuietTensorFlow())
    with contextlib.nullcontext() if chatter_wanted or "keras" in sys.modules else without_chatter():
        import keras  # noqa: F401


class QuietTensorFlow(importlib.abc.MetaPathFinder):
    """Import hook that silences the import of TensorFlow.

    On JAX and PyTorch, Keras imports TensorFlow late, if it is installed: when a seed is set or a model is loaded.
    """

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != "tensorflow":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            # Patch this loader only and keep its class, which other code may check.
            setattr(spec.loader, "exec_module", without_chatter()(spec.loader.exec_module))  # noqa: B010
        return spec


@contextlib.contextmanager
def without_chatter() -> Iterator[None]:
    """Capture standard error, including that of C++ code; at the end, write it without the chatter."""
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
