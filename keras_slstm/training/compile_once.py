"""Compiled programs that several trainings share."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator

import keras

_VARIABLE = "JAX_COMPILATION_CACHE_DIR"


@contextlib.contextmanager
def compile_once() -> Iterator[None]:
    """Let JAX compile a program once for all trainings in this block, including those in processes that it starts.

    A training with another seed runs the same programs, but JAX would compile them again for each model. The compiled
    programs are in a temporary folder, unless the user has chosen one. Other backends and JAX's distributed trainings
    are not affected.
    """
    if keras.backend.backend() != "jax":
        yield
        return
    import jax
    from jax.experimental.compilation_cache.compilation_cache import reset_cache

    if jax.config.jax_compilation_cache_dir or jax.distributed.is_initialized():  # type: ignore[attr-defined]
        yield
        return
    with tempfile.TemporaryDirectory(prefix="keras_slstm-", ignore_cleanup_errors=True) as folder:
        os.environ[_VARIABLE] = folder  # for other processes
        jax.config.update("jax_compilation_cache_dir", folder)
        try:
            yield
        finally:
            os.environ.pop(_VARIABLE, None)
            jax.config.update("jax_compilation_cache_dir", None)
            reset_cache()  # otherwise, JAX would keep the folder that it has used first
