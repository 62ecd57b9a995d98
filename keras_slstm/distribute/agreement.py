"""What processes of a cluster tell each other beside a training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_slstm.distribute.failures import failures_named
from keras_slstm.distribute.strategies import joined


def gather(numbers: Sequence[int]) -> list[list[int]]:
    """Ask every process of the cluster for some whole numbers.

    Every process must call this; none goes on before all have.

    Returns:
        The numbers of each process, in their order. Of a process that trains alone: its own.
    """
    own = np.array([numbers], np.int64)
    here = joined()
    if here is None:
        return own.tolist()
    with failures_named():
        return _gather_on_jax(own) if keras.backend.backend() == "jax" else _gather_on_tensorflow(own, here.strategy)


def _gather_on_tensorflow(own: np.ndarray, strategy: Any) -> list[list[int]]:
    import tensorflow as tf

    return strategy.gather(tf.constant(own), axis=0).numpy().tolist()


def _gather_on_jax(own: np.ndarray) -> list[list[int]]:
    from jax.experimental import multihost_utils

    # JAX has 32 bits unless asked for more.
    halves = np.stack([own >> 32, own & 0xFFFFFFFF], axis=-1).astype(np.uint32)[0]
    found = np.asarray(multihost_utils.process_allgather(halves)).astype(np.uint32).astype(np.int64)
    return (found[..., 0].astype(np.int32).astype(np.int64) << 32 | found[..., 1]).tolist()


def wait_for_all() -> None:
    """Wait until every process of the cluster has come here."""
    gather([0])
