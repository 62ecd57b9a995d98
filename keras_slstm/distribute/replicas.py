"""Steps on several replicas: Keras' own steps, with weighted losses and summed gradients.

A model's `train_step`, `test_step` and `predict_step` run on each replica with its part of the batch. They treat a part
as a whole batch: their loss is the mean over the part's rows. Each replica's loss is multiplied by its weight, which is
the part's number of rows divided by that of the batch, before it is differentiated. The gradients are summed before the
optimizer gets them, so that clipping, loss scaling and accumulation work as in one process.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import keras

from keras_slstm.distribute.errors import DIFFERENT_DATA
from keras_slstm.distribute.keras_internals import with_local_updates, with_undivided_losses, without_sum_of_gradients
from keras_slstm.distribute.sharding import CHECK, PART, SHARE
from keras_slstm.distribute.variables import seed_generators

# The state of the replica that runs in this thread: its weight, whether the loss was multiplied by it, and the
# gradients that are still to be summed.
_replica = threading.local()
# Distance between the seeds of two replicas. Keras draws the seeds of layers below 1e9, so they rarely collide.
_BETWEEN_SEEDS = 1_000_003


class ReplicatedFunction:
    """A model's `train_function`, `test_function` or `predict_function`, for data from `replicate`.

    Keras calls it with an iterator (or, for predictions, with a list of elements). It returns the logs or predictions.

    Args:
        model: The model, with all its variables.
        kind: `"train"`, `"test"` or `"predict"`.
    """

    def __init__(self, model: keras.Model, kind: str):
        import tensorflow as tf

        self.model = model
        self.strategy = model.distribute_strategy
        functions = {"train": self._logs_of(_train), "test": self._logs_of(_test), "predict": self._outputs}
        step = functions[kind]
        self._step = step if model.run_eagerly else tf.function(step, reduce_retracing=True, autograph=False)
        self._predicts = kind == "predict"

    def __call__(self, data: Any) -> Any:
        import tensorflow as tf

        if self._predicts:
            # Pass plain tensors, because every new size of a distributed value would cause a new trace.
            outputs = [self._step(self._local_parts(element)) for element in data]
            return outputs[0] if len(outputs) == 1 else keras.tree.map_structure(lambda *o: tf.concat(o, 0), *outputs)
        logs = None
        for _ in range(self.model.steps_per_execution):
            try:
                logs = self._step(data)
            except (StopIteration, tf.errors.OutOfRangeError):
                if logs is None:
                    raise
                break
        return logs

    def _logs_of(self, step: Callable[[keras.Model, Any, Any], Any]) -> Callable[[Any], Any]:
        """Return a step on the next element of an iterator; its logs are means over the rows of all replicas."""
        import tensorflow as tf

        replicas = self.strategy.num_replicas_in_sync

        def run(data: Any) -> Any:
            names: list[str] = []

            def on_replica(element: Any) -> Any:
                batch, share, check = _unpack(element)
                logs = step(self.model, batch, share)
                names[:] = logs
                numbers = [share * tf.cast(log, share.dtype) for log in logs.values()]
                return tf.stack([*numbers, tf.cast(check, share.dtype)]), check

            with with_undivided_losses(), _with_weighted_updates(self.model.optimizer):
                numbers, check = self.strategy.run(on_replica, args=(next(data),))
            # One collective operation for all numbers.
            *sums, checks = tf.unstack(
                self.strategy.reduce(tf.distribute.ReduceOp.SUM, numbers, axis=None), len(names) + 1
            )
            own = self.strategy.experimental_local_results(check)[0]
            with tf.control_dependencies([_assert_equal(checks, tf.cast(own * replicas, checks.dtype))]):
                return {name: total / replicas for name, total in zip(names, sums)}

        return run

    def _local_parts(self, element: Any) -> list[Any]:
        """Return the element of each replica of this process."""
        results = self.strategy.experimental_local_results
        count = len(results(keras.tree.flatten(element)[0]))
        return [keras.tree.map_structure(lambda value, i=i: results(value)[i], element) for i in range(count)]

    def _outputs(self, parts: list[Any]) -> Any:
        """Return the outputs of all replicas, in the order of the rows."""
        import tensorflow as tf

        def on_replica(element: Any) -> Any:
            batch, share, check = _unpack(element)
            outputs = _compiled(self.model, lambda: self.model.predict_step(batch))
            rows = tf.shape(keras.tree.flatten(outputs)[0])[0]
            return outputs, tf.fill([rows], tf.where(share > 0, check + 1, 0))

        element = self.strategy.experimental_distribute_values_from_function(
            lambda context: parts[context.replica_id_in_sync_group % len(parts)]
        )
        outputs, marks = self.strategy.run(on_replica, args=(element,))
        marks = self._gather(marks)  # 0 marks rows that only fill an empty part
        mask = marks > 0
        with tf.control_dependencies([_assert_equal(tf.reduce_max(marks), tf.reduce_min(marks[mask]))]):
            return keras.tree.map_structure(lambda output: tf.boolean_mask(self._gather(output), mask), outputs)

    def _gather(self, output: Any) -> Any:
        import tensorflow as tf

        if self.strategy.experimental_local_results(output)[0].dtype != tf.bool:
            return self.strategy.gather(output, axis=0)
        numbers = self.strategy.run(tf.cast, (output, tf.int32))
        return tf.cast(self.strategy.gather(numbers, axis=0), tf.bool)


def _unpack(element: Any) -> tuple[Any, Any, Any]:
    """Return a replica's part of the batch, its share and the batch's hash; data that the user divided has 1 and 0."""
    import tensorflow as tf

    if isinstance(element, dict) and SHARE in element:
        return element[PART], element[SHARE], element[CHECK]
    return element, tf.constant(1.0), tf.constant(0)


def _assert_equal(one: Any, other: Any) -> Any:
    """Return an operation that fails if processes have different batches."""
    import tensorflow as tf

    return tf.debugging.Assert(tf.reduce_all(tf.equal(one, other)), [DIFFERENT_DATA], name="same_data")


def _train(model: keras.Model, batch: Any, share: Any) -> Any:
    metrics = _metric_values(model)
    with _own_random_numbers(model):
        logs = _train_step(model, batch, share)
    _restore_metrics_if_empty(model, metrics, share)
    return logs


def _train_step(model: keras.Model, batch: Any, share: Any) -> Any:
    weight = share / model.distribute_strategy.num_replicas_in_sync
    _replica.weight, _replica.is_weighted = weight, False
    _replica.waiting = [] if model.jit_compile else None
    if not model.jit_compile:
        return model.train_step(batch)

    # XLA cannot run collective operations, so the update by the optimizer is not compiled.
    def step() -> Any:
        _replica.weight = weight
        _replica.waiting = []
        return model.train_step(batch), [gradients for gradients, _ in _replica.waiting]

    logs, gradients = _compiled(model, step)
    waiting, _replica.waiting = _replica.waiting, None
    for found, (_, variables) in zip(gradients, waiting):
        model.optimizer.apply(found, variables)
    return logs


@contextlib.contextmanager
def _own_random_numbers(model: keras.Model) -> Iterator[None]:
    """Let each replica draw its own random numbers. The first replica draws those of a single process.

    Afterwards the generators have the same state on all replicas, so that one state can be saved for all.
    """
    import tensorflow as tf

    replica = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.int64)
    shift = tf.stack([replica * _BETWEEN_SEEDS, 0])
    for state in seed_generators(model):
        state.assign(state.value + tf.cast(shift, state.value.dtype))
    yield
    for state in seed_generators(model):
        state.assign(state.value - tf.cast(shift, state.value.dtype))


def _test(model: keras.Model, batch: Any, share: Any) -> Any:
    metrics = _metric_values(model)
    logs = _compiled(model, lambda: model.test_step(batch))
    _restore_metrics_if_empty(model, metrics, share)
    return logs


def _compiled(model: keras.Model, function: Callable[[], Any]) -> Any:
    """Call a function, compiled by XLA if the model has `jit_compile`."""
    import tensorflow as tf

    # A new function for each replica, because each has its own variables.
    return (
        tf.function(function, jit_compile=True, autograph=False)()
        if model.jit_compile and not model.run_eagerly
        else function()
    )


def _metric_values(model: keras.Model) -> list[Any]:
    return [variable.value * 1 for variable in model.metrics_variables]


def _restore_metrics_if_empty(model: keras.Model, before: list[Any], share: Any) -> None:
    """Restore the metrics of a replica whose part was empty: the one row that it got instead does not count."""
    import tensorflow as tf

    for variable, value in zip(model.metrics_variables, before, strict=True):
        variable.assign(tf.where(share > 0, variable.value, value))


@contextlib.contextmanager
def _with_weighted_updates(optimizer: Any) -> Iterator[None]:
    """Multiply losses or gradients by the replica's weight, and sum gradients before the optimizer applies them."""
    if not isinstance(optimizer, keras.optimizers.Optimizer):
        yield
        return
    scale_loss, apply = optimizer.scale_loss, optimizer.apply

    def scale_part(loss: Any) -> Any:
        _replica.is_weighted = True
        return scale_loss(loss) * keras.ops.cast(_replica.weight, loss.dtype)

    def apply_sum(grads: Any, trainable_variables: Any = None) -> None:
        if _replica.waiting is not None:
            _replica.waiting.append((list(grads), trainable_variables))
            return
        if not _replica.is_weighted:  # a custom step need not call `scale_loss`
            grads = _scale_gradients(_replica.weight, grads)
        apply(_all_reduce_gradients(grads), trainable_variables)

    optimizer.scale_loss, optimizer.apply = scale_part, apply_sum
    accumulates = getattr(optimizer, "inner_optimizer", optimizer).gradient_accumulation_steps
    try:
        with without_sum_of_gradients(optimizer), with_local_updates(optimizer) if accumulates else nullcontext():
            yield
    finally:
        del optimizer.scale_loss, optimizer.apply


def _scale_gradients(weight: Any, gradients: Any) -> list[Any]:
    """Return the products; None stays None, and the gradients of embeddings stay sparse."""
    import tensorflow as tf

    return [None if g is None else tf.math.scalar_mul(tf.cast(weight, g.dtype), g) for g in gradients]


def _all_reduce_gradients(gradients: Any) -> list[Any]:
    """Return the sums over all replicas; None stays None."""
    import tensorflow as tf

    found = [gradient for gradient in gradients if gradient is not None]
    sums = iter(tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, found) if found else [])
    return [None if gradient is None else next(sums) for gradient in gradients]
