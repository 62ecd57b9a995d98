"""The private names of Keras and TensorFlow on which this package relies to train on several replicas.

Keras 3 fails under MultiWorkerMirroredStrategy, and it clips gradients before it sums them over the replicas.
`replicas.py` corrects this as far as public names allow.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np

_SYMBOLIC_BUILD = "_maybe_symbolic_build"
_SUM_OF_GRADIENTS = "_all_reduce_sum_gradients"
_LOSSES = "keras.src.losses.loss"
_DIVISIONS = ("scale_loss_for_distribution", "unscale_loss_for_distribution")
_JOINT_UPDATES = (
    *("_backend_update_step", "_backend_increment_gradient_accumulators", "_backend_reset_gradient_accumulators"),
    "_apply_weight_decay",
)
_ADDED_LOSS = "_aggregate_additional_loss"


@contextlib.contextmanager
def without_symbolic_build(model: keras.Model) -> Iterator[None]:
    """Make `fit` and `evaluate` skip the build: Keras would build the model on a tuple of all replicas' batches.

    Raises:
        RuntimeError: If this version of Keras lacks the name.
    """
    with _replaced(model, _SYMBOLIC_BUILD, lambda *args, **kwargs: None):
        yield


@contextlib.contextmanager
def without_sum_of_gradients(optimizer: keras.optimizers.Optimizer) -> Iterator[None]:
    """Make the optimizer apply gradients without summing them over the replicas.

    Raises:
        RuntimeError: If this version of Keras lacks the name.
    """
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)
    with _replaced(optimizer, _SUM_OF_GRADIENTS, lambda grads_and_vars: grads_and_vars):
        yield


@contextlib.contextmanager
def with_undivided_losses() -> Iterator[None]:
    """Keep each loss the mean over the rows of a replica; Keras would divide it by the number of replicas.

    Raises:
        RuntimeError: If this version of Keras lacks the names.
    """
    module = sys.modules.get(_LOSSES)
    with contextlib.ExitStack() as stack:
        for name in _DIVISIONS:
            stack.enter_context(_replaced(module, name, lambda loss: loss))
        yield


@contextlib.contextmanager
def with_local_updates(optimizer: keras.optimizers.Optimizer) -> Iterator[None]:
    """Make the optimizer update each replica's variables separately, from gradients that are already summed.

    In Keras, the replicas wait for each other in an update, which TensorFlow refuses inside a condition, such as that
    of gradient accumulation.

    Raises:
        RuntimeError: If this version of Keras lacks the names.
    """
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)
    base = next((kind for kind in type(optimizer).__mro__ if kind.__name__ == "BaseOptimizer"), object)
    with contextlib.ExitStack() as stack:
        for name in _JOINT_UPDATES:
            function = getattr(base, name, None)
            stack.enter_context(
                _replaced(optimizer, name, functools.partial(function, optimizer) if function else None)
            )
        yield


@contextlib.contextmanager
def with_added_losses(model: keras.Model, change: Callable[[Any], Any]) -> Iterator[None]:
    """Make `compute_loss` change the losses of regularizers and of `add_loss`.

    Raises:
        RuntimeError: If this version of Keras lacks the name.
    """
    aggregate = getattr(model, _ADDED_LOSS, None)
    with _replaced(model, _ADDED_LOSS, lambda loss: change(aggregate(loss))):  # type: ignore[misc]
        yield


def replaced_call(model: keras.Model, function: Callable[..., Any]) -> contextlib.AbstractContextManager[None]:
    """Make a call of a model, `model(x)`, run another function instead of `model.call`."""
    return _replaced(model, "call", function)


@contextlib.contextmanager
def _replaced(owner: Any, name: str, function: Any) -> Iterator[None]:
    """Replace a method of an object."""
    if not callable(getattr(owner, name, None)):
        raise RuntimeError(
            f"keras_slstm.distribute relies on `{type(owner).__name__}.{name}`, which Keras {keras.__version__} does "
            "not have: install Keras 3.15 or a newer keras_slstm."
        )
    before = vars(owner).get(name)  # already replaced if a callback of `fit` evaluates
    setattr(owner, name, function)
    try:
        yield
    finally:
        if before is None:
            delattr(owner, name)
        else:
            setattr(owner, name, before)


def all_layers(model: keras.Model) -> list[keras.Layer]:
    """Return the layers of a model and their sublayers, or only its own layers if Keras lacks the name."""
    flatten = getattr(model, "_flatten_layers", None)
    return list(model.layers if flatten is None else flatten(include_self=False))


def set_heartbeat_timeout(workers: int, seconds: float) -> None:
    """Make TensorFlow give up on a silent process after `seconds` instead of 10.

    A process that compiles, or waits for a busy machine, is silent but alive. If this version of TensorFlow lacks the
    names, the default stays.
    """
    try:
        from tensorflow.core.protobuf.coordination_config_pb2 import CoordinatedJob
        from tensorflow.python.eager import context

        context.context().configure_coordination_service(
            service_type="standalone",
            service_leader="/job:worker/replica:0/task:0",
            heartbeat_timeout_in_ms=int(1000 * seconds),
            coordinated_jobs=[CoordinatedJob(name="worker", num_tasks=workers)],
        )
    except (ImportError, AttributeError, TypeError):
        return


@contextlib.contextmanager
def jax_timeouts(connecting: float, silence: float, ending: float) -> Iterator[None]:
    """Bind the timeouts of `jax.distributed.initialize`, which `keras.distribution.initialize` cannot pass on.

    Args:
        connecting: Seconds within which all processes must connect.
        silence: Seconds after which JAX gives up on a silent process.
        ending: Seconds that a process waits for the others when its own work is done.
    """
    import jax

    initialize = jax.distributed.initialize
    jax.distributed.initialize = functools.partial(
        initialize,
        initialization_timeout=max(1, round(connecting)),
        heartbeat_timeout_seconds=max(1, round(silence)),
        shutdown_timeout_seconds=max(1, round(ending)),
    )
    try:
        yield
    finally:
        jax.distributed.initialize = initialize


def set_length(data: Any, length: int) -> None:
    """Set the number of batches of a `tf.distribute.DistributedDataset`.

    TensorFlow counts the parts that the replicas of one process get, so Keras would wait for more batches. If this
    version lacks the name, Keras warns after an epoch that it ran out of data, and continues.
    """
    if hasattr(data, "_cardinality"):
        data._cardinality = np.int64(length)
