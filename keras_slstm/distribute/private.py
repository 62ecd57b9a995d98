"""The private names that training on several replicas touches: here, and nowhere else.

Keras 3 fails under MultiWorkerMirroredStrategy, and under every strategy clips gradients before it has summed them
over the replicas. What can be done about that by public means stands in `replicas.py`; this module does the rest.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np

_SYMBOLIC_BUILD = "_maybe_symbolic_build"
_SUM_OF_GRADIENTS = "_all_reduce_sum_gradients"


@contextlib.contextmanager
def without_symbolic_build(model: keras.Model) -> Iterator[None]:
    """Inside, `fit` and `evaluate` take it that the model is built.

    Keras looks at a first batch for that, and takes what is the batch's part of each replica for the batch.

    Raises:
        RuntimeError: If this version of Keras lacks the name.
    """
    with _replaced(model, _SYMBOLIC_BUILD, lambda *args, **kwargs: None):
        yield


@contextlib.contextmanager
def without_sum_of_gradients(optimizer: keras.optimizers.Optimizer) -> Iterator[None]:
    """Inside, the optimizer takes the gradients that it is given for their sums over all replicas.

    Raises:
        RuntimeError: If this version of Keras lacks the name.
    """
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)
    with _replaced(optimizer, _SUM_OF_GRADIENTS, lambda grads_and_vars: grads_and_vars):
        yield


@contextlib.contextmanager
def _replaced(owner: Any, name: str, function: Any) -> Iterator[None]:
    """Inside, an object has another method."""
    if not callable(getattr(owner, name, None)):
        raise RuntimeError(
            f"keras_slstm.distribute relies on `{type(owner).__name__}.{name}`, which Keras {keras.__version__} does "
            "not have. It is known to work with Keras 3.15: install that, or a newer keras_slstm."
        )
    before = vars(owner).get(name)  # from outside: a callback of `fit` may evaluate
    setattr(owner, name, function)
    try:
        yield
    finally:
        if before is None:
            delattr(owner, name)
        else:
            setattr(owner, name, before)


def be_patient(addresses: Sequence[str], seconds: float) -> None:
    """Let TensorFlow's processes be silent for so long before one is taken for dead; by default, 10 seconds.

    A process that waits for its share of a busy machine, or compiles, is not dead. Where this version of TensorFlow
    lacks the names, the default stays.
    """
    try:
        from tensorflow.core.protobuf.coordination_config_pb2 import CoordinatedJob
        from tensorflow.python.eager import context

        context.context().configure_coordination_service(
            service_type="standalone",
            service_leader="/job:worker/replica:0/task:0",
            heartbeat_timeout_in_ms=int(1000 * seconds),
            coordinated_jobs=[CoordinatedJob(name="worker", num_tasks=len(addresses))],
        )
    except (ImportError, AttributeError, TypeError):
        return


def set_length(data: Any, length: int) -> None:
    """Say how many batches distributed data has.

    TensorFlow counts the parts that the replicas of one process get, one by one, so that Keras would wait for more.
    Where this version lacks the name, Keras says after an epoch that it ran out of data, and goes on.
    """
    if hasattr(data, "_cardinality"):
        data._cardinality = np.int64(length)
