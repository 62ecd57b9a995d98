"""Errors of training in several processes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import keras

DIFFERENT_DATA = (
    "Processes have different data: give every process the same batches in the same order, and every shuffle a seed."
)
_LOST = (
    "Another process has died, was restarted, or does not answer in time, so this process cannot continue. "
    "Start all processes again: a TrainingRun resumes."
)
# Words in JAX's messages about lost connections, on CPUs and GPUs.
_CONNECTION_WORDS = ("Gloo", "NCCL", "coordination service", "UNAVAILABLE", "DEADLINE_EXCEEDED")
# Words in PyTorch's messages about lost connections, in lower case.
_TORCH_WORDS = ("gloo", "nccl", "connection", "timed out")


class WorkerLost(RuntimeError):
    """Another process has died, does not answer or cannot be reached, so this process cannot continue."""


class ProcessesDiffer(ValueError):
    """The processes of a cluster have different settings, versions, code or data."""


def worker_lost(source: str, error: Exception) -> WorkerLost:
    """Return the error for a connection that `source` (TensorFlow, JAX or a socket) reports as broken."""
    return WorkerLost(f"{_LOST} {source} says: {_summarize(error)}")


@contextlib.contextmanager
def translate_errors() -> Iterator[None]:
    """Raise `WorkerLost` or `ProcessesDiffer` for the backend's errors about lost processes and different data."""
    backend = keras.backend.backend()
    contexts = {"jax": _translate_jax_errors, "tensorflow": _translate_tensorflow_errors}
    with contexts.get(backend, _translate_torch_errors)():
        yield


@contextlib.contextmanager
def _translate_tensorflow_errors() -> Iterator[None]:
    import tensorflow as tf

    try:
        yield
    except tf.errors.InvalidArgumentError as error:
        if DIFFERENT_DATA not in str(error):
            raise
        raise ProcessesDiffer(DIFFERENT_DATA) from error
    except (
        tf.errors.UnavailableError,
        tf.errors.AbortedError,
        tf.errors.DeadlineExceededError,
        tf.errors.CancelledError,
        tf.errors.FailedPreconditionError,
    ) as error:
        raise worker_lost("TensorFlow", error) from error


@contextlib.contextmanager
def _translate_jax_errors() -> Iterator[None]:
    import jax

    try:
        yield
    except (jax.errors.JaxRuntimeError, ValueError) as error:  # JAX raises either
        if not any(word in str(error) for word in _CONNECTION_WORDS):
            raise
        raise worker_lost("JAX", error) from error


@contextlib.contextmanager
def _translate_torch_errors() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:  # includes `torch.distributed.DistError`
        if isinstance(error, WorkerLost) or not any(word in str(error).lower() for word in _TORCH_WORDS):
            raise
        raise worker_lost("PyTorch", error) from error


def _summarize(error: Exception) -> str:
    """Return the message without the source locations that TensorFlow lists."""
    lines = [line.strip() for line in str(error).split("\n")]
    kept = [line for line in lines if line and not line.startswith(("File ", "Detected at", "Graph execution", "[["))]
    return " ".join(kept)[:500]
