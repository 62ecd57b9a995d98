"""What becomes of the others when a process dies."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import keras

DIFFERENT_DATA = (
    "Processes have different data: every process must be given the same batches in the same order, so a shuffle "
    "needs a seed."
)
_LOST = (
    "Another process has died, was restarted, or does not answer in time; this one cannot go on without it. "
    "Start all of them again: a TrainingRun goes on where it stood."
)
# What JAX says when processes lose each other, on CPUs and on GPUs.
_OF_CONNECTIONS = ("Gloo", "NCCL", "coordination service", "UNAVAILABLE", "DEADLINE_EXCEEDED")


class WorkerLost(RuntimeError):
    """Another process has died or does not answer, so this one cannot go on."""


@contextlib.contextmanager
def failures_named() -> Iterator[None]:
    """Turn what the backend raises when another process is lost, or has other data, into what it means."""
    if keras.backend.backend() == "jax":
        with _failures_on_jax():
            yield
        return
    if keras.backend.backend() != "tensorflow":
        yield
        return
    import tensorflow as tf

    try:
        yield
    except tf.errors.InvalidArgumentError as error:
        if DIFFERENT_DATA not in str(error):
            raise
        raise ValueError(DIFFERENT_DATA) from error
    except (
        tf.errors.UnavailableError,
        tf.errors.AbortedError,
        tf.errors.DeadlineExceededError,
        tf.errors.CancelledError,
        tf.errors.FailedPreconditionError,
    ) as error:
        raise WorkerLost(f"{_LOST} TensorFlow says: {_reason(error)}") from error


@contextlib.contextmanager
def _failures_on_jax() -> Iterator[None]:
    import jax

    try:
        yield
    except (jax.errors.JaxRuntimeError, ValueError) as error:  # either of them
        if not any(word in str(error) for word in _OF_CONNECTIONS):
            raise
        raise WorkerLost(f"{_LOST} JAX says: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """An error without the places in the program that it lists."""
    lines = [line.strip() for line in str(error).split("\n")]
    kept = [line for line in lines if line and not line.startswith(("File ", "Detected at", "Graph execution", "[["))]
    return " ".join(kept)[:500]
