"""`fit`, `evaluate` and `predict` on several replicas and machines."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np

from keras_slstm.distribute.batches import Epoch, make_dataset, signature_of, split_rows
from keras_slstm.distribute.collectives import check_equal, is_chief, joined_cluster
from keras_slstm.distribute.errors import translate_errors
from keras_slstm.distribute.fingerprint import describe_training
from keras_slstm.distribute.jax_processes import WholeBatchFunction, is_on_mesh, part_of
from keras_slstm.distribute.keras_internals import without_symbolic_build
from keras_slstm.distribute.replicas import ReplicatedFunction
from keras_slstm.distribute.sharding import make_source, replicate
from keras_slstm.distribute.torch_processes import ExchangedFunction, copy_from_chief, is_one_on_torch, whole_batches
from keras_slstm.distribute.variables import build
from keras_slstm.text.epochs import SeededEpochs

# Arguments that may differ between processes: the chief alone may print and save.
_OWN_ARGUMENTS = ("callbacks", "verbose", "return_dict")


def fit(model: keras.Model, x: Any = None, y: Any = None, **arguments: Any) -> keras.callbacks.History:
    """Train a model on the devices for which it was made: one device, several devices or several machines.

    For a model made in the scope of a `MirroredStrategy` or of a `MultiWorkerMirroredStrategy` (under which Keras' own
    `fit` fails), and in each of several processes on JAX or PyTorch, the result is the same as in one process with the
    same batches. The replicas divide the rows of each batch among them, and every row is used once. The number of rows
    need not be divisible by the number of replicas. `jit_compile` works (several processes on JAX always compile, those
    on PyTorch never). On JAX, random numbers, such as dropout masks, are those of one process, too. On TensorFlow and
    PyTorch, only the first replica draws these, and the others draw their own. Any other model is trained by
    `model.fit`.

    All processes must call this with the same arguments. Before the first step they compare arguments, optimizer,
    loss, model, variables and code. They read the same batches in the same order, which is checked (on JAX and PyTorch,
    for the first batch of an epoch), and each takes its own rows of each batch. So the shuffle of a `tf.data.Dataset`
    needs a seed; arrays are shuffled by `seed` and the number of the epoch. Data that is too large for this can be
    divided beforehand (`strategy.distribute_datasets_from_function`): then the mean losses of all replicas have the
    same weight, and all replicas must have the same number of batches.

    Args:
        model: A compiled model, possibly with a custom `train_step`. The text models of this package, and any other
            `DistributedModel`, do the same in their own `fit`.
        x, y: As in `model.fit`: arrays (or nested lists, tuples and dicts of arrays), a `keras.utils.PyDataset`, a
            generator, a PyTorch `DataLoader`, a `tf.data.Dataset` or another iterable of batches (such as Grain's), or,
            on TensorFlow, a `tf.distribute.DistributedDataset`. Batches are those of all replicas together. An
            iterable without a length needs `steps_per_epoch`.
        **arguments: Further arguments of `model.fit`, and `seed` (default: 0). `batch_size` counts the rows of all
            replicas together. `verbose="auto"` prints in the first process only.

    Returns:
        The result of `model.fit`, which is the same in all processes.

    Raises:
        WorkerLost: If another process has died, or does not answer in time.
        ValueError: If the data or an argument is invalid.
        ProcessesDiffer: If the processes have different settings, code or data.
        RuntimeError: If this version of Keras lacks a private name that this function needs.

    Example:

    ```python
    with keras_slstm.distribute.strategy().scope():
        model = keras.Sequential([keras.layers.Embedding(1000, 64, mask_zero=True), SLSTM(64), keras.layers.Dense(2)])
        model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    keras_slstm.distribute.fit(model, words, labels, batch_size=64, epochs=5, validation_data=(others, their_labels))
    ```
    """
    if isinstance(model, DistributedModel):
        return model.fit(x, y, **arguments)
    if isinstance(x, SeededEpochs):
        arguments["shuffle"] = False
        arguments["callbacks"] = with_callback(arguments.get("callbacks"), x.follow_epochs())
    return _fit(model.fit, model, x, y, **arguments)


def evaluate(model: keras.Model, x: Any = None, y: Any = None, **arguments: Any) -> Any:
    """Evaluate a model on the devices for which it was made; see `fit`.

    Every row counts once, whatever the number of replicas and the size of the last batch.

    Args:
        model: A compiled model.
        x, y: See `fit`.
        **arguments: Further arguments of `model.evaluate`.

    Returns:
        The result of `model.evaluate`, which is the same in all processes.

    Raises:
        WorkerLost, ValueError, ProcessesDiffer, RuntimeError: See `fit`.
    """
    if isinstance(model, DistributedModel):
        return model.evaluate(x, y, **arguments)
    return _evaluate(model.evaluate, model, x, y, **arguments)


def predict(model: keras.Model, x: Any, **arguments: Any) -> Any:
    """Predict with a model on the devices for which it was made; see `fit`.

    Args:
        model: A model.
        x: See `fit`.
        **arguments: Further arguments of `model.predict`.

    Returns:
        The result of `model.predict`: the predictions of all rows in their order, in every process.

    Raises:
        WorkerLost, ValueError, ProcessesDiffer, RuntimeError: See `fit`.
    """
    if isinstance(model, DistributedModel):
        return model.predict(x, **arguments)
    return _predict(model.predict, model, x, **arguments)


class DistributedModel(keras.Model):
    """A `keras.Model` whose `fit`, `evaluate` and `predict` work on all replicas, like the functions of this module.

    A subclass that overrides them to prepare data must call `super()`.
    """

    def fit(self, x: Any = None, y: Any = None, **arguments: Any) -> keras.callbacks.History:
        """Like `keras.Model.fit`, on all replicas; see `keras_slstm.distribute.fit`."""
        return _fit(super().fit, self, x, y, **arguments)

    def evaluate(self, x: Any = None, y: Any = None, **arguments: Any) -> Any:
        """Like `keras.Model.evaluate`, on all replicas; see `keras_slstm.distribute.evaluate`."""
        return _evaluate(super().evaluate, self, x, y, **arguments)

    def predict(self, x: Any, **arguments: Any) -> Any:
        """Like `keras.Model.predict`, on all replicas; see `keras_slstm.distribute.predict`."""
        return _predict(super().predict, self, x, **arguments)


def _fit(
    keras_fit: Callable[..., Any],
    model: keras.Model,
    x: Any,
    y: Any,
    *,
    batch_size: int | None = None,
    sample_weight: Any = None,
    class_weight: dict[int, float] | None = None,
    shuffle: bool = True,
    seed: int = 0,
    validation_data: Any = None,
    validation_batch_size: int | None = None,
    validation_split: float = 0.0,
    **arguments: Any,
) -> Any:
    """Call `keras_fit`, with the data divided if there are several replicas."""
    options = {"batch_size": batch_size, "class_weight": class_weight, "validation_batch_size": validation_batch_size}
    if not is_shared(model):
        return keras_fit(
            x,
            y,
            sample_weight=sample_weight,
            shuffle=shuffle,
            validation_data=validation_data,
            validation_split=validation_split,
            **options,
            **_silence_workers(arguments),
        )
    settings = {"shuffle": shuffle, "seed": seed, "validation_split": validation_split, **options, **arguments}
    _check_settings(model, x, "fit", settings)
    if validation_split:
        if validation_data is not None:
            raise ValueError("Pass `validation_data` or `validation_split`, not both.")
        (x, y, sample_weight), validation_data = split_rows((x, y, sample_weight), validation_split)
    epoch = Epoch()
    order: dict[str, Any] = {"shuffle": shuffle, "seed": seed, "epoch": epoch}
    steps = arguments.get("steps_per_epoch")
    data = _share_out(model, x, y, sample_weight, batch_size, class_weight, steps=steps, **order)
    _install(model, "train", "test")
    if validation_data is not None:
        parts = validation_data if isinstance(validation_data, tuple | list) else (validation_data,)
        size = validation_batch_size or batch_size if len(parts) > 1 else None
        steps = arguments.get("validation_steps")
        validation_data = _share_out(model, *_unpack_data(parts), size, steps=steps)
    follow = keras.callbacks.LambdaCallback(on_epoch_begin=lambda number, logs: epoch.begin(number))
    arguments["callbacks"] = with_callback(arguments.get("callbacks"), follow)
    with _keras_method(model):
        return keras_fit(data, shuffle=False, validation_data=validation_data, **_silence_workers(arguments))


def _evaluate(
    keras_evaluate: Callable[..., Any],
    model: keras.Model,
    x: Any,
    y: Any,
    *,
    batch_size: int | None = None,
    sample_weight: Any = None,
    **arguments: Any,
) -> Any:
    """Call `keras_evaluate`, with the data divided if there are several replicas."""
    within_fit = arguments.get("_use_cached_eval_dataset", False)
    if within_fit or not is_shared(model):
        return keras_evaluate(x, y, batch_size=batch_size, sample_weight=sample_weight, **arguments)
    _check_settings(model, x, "evaluate", {"batch_size": batch_size, **arguments})
    data = _share_out(model, x, y, sample_weight, batch_size, steps=arguments.get("steps"))
    _install(model, "test")
    with _keras_method(model):
        return keras_evaluate(data, **_silence_workers(arguments))


def _predict(
    keras_predict: Callable[..., Any],
    model: keras.Model,
    x: Any,
    *,
    batch_size: int | None = None,
    **arguments: Any,
) -> Any:
    """Call `keras_predict`, with the data divided if there are several replicas."""
    if not is_shared(model):
        return keras_predict(x, batch_size=batch_size, **arguments)
    _check_settings(model, x, "predict", {"batch_size": batch_size, **arguments})
    data = _share_out(model, x, batch_size=batch_size, learns=False, steps=arguments.get("steps"))
    _install(model, "predict")
    with translate_errors():
        return keras_predict(data, **_silence_workers(arguments))


def _check_settings(model: keras.Model, data: Any, method: str, arguments: dict[str, Any]) -> None:
    """Raise ProcessesDiffer in all processes if they are about to do different things."""
    if joined_cluster() is None:
        return
    compared = {name: value for name, value in arguments.items() if name not in _OWN_ARGUMENTS}
    check_equal(describe_training(model, data, compared), method)


def is_shared(model: keras.Model) -> bool:
    """Whether this module divides the model's data among replicas."""
    return is_on_mesh() or is_one_on_torch() or is_replicated(model)


def is_replicated(model: keras.Model) -> bool:
    """Whether the model was made under a MirroredStrategy or MultiWorkerMirroredStrategy with several replicas."""
    if keras.backend.backend() != "tensorflow":
        return False
    import tensorflow as tf

    strategy = model.distribute_strategy
    ours = isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy | tf.distribute.MirroredStrategy)
    return ours and strategy.num_replicas_in_sync > 1


def scope_of(model: keras.Model) -> contextlib.AbstractContextManager[Any]:
    """Return a scope that places new variables on the model's devices."""
    return model.distribute_strategy.scope() if is_replicated(model) else contextlib.nullcontext()


def is_shared_out(data: Any) -> bool:
    """Whether the data has been divided among replicas by `strategy.distribute_datasets_from_function`."""
    import tensorflow as tf

    return isinstance(data, tf.distribute.DistributedDataset)


def with_callback(callbacks: Any, callback: keras.callbacks.Callback) -> Any:
    """Add a callback to those that were given to `fit`: first in a list, last in a `CallbackList`."""
    if isinstance(callbacks, keras.callbacks.CallbackList):
        callbacks.append(callback)
        return callbacks
    callbacks = callbacks or ()
    return [callback, *(callbacks if isinstance(callbacks, tuple | list) else [callbacks])]


def _share_out(
    model: keras.Model,
    x: Any,
    y: Any = None,
    sample_weight: Any = None,
    batch_size: int | None = None,
    class_weight: dict[int, float] | None = None,
    learns: bool = True,
    **order: Any,
) -> Any:
    """Build the model and divide the data among the replicas; `order` holds options of `make_source`."""
    if is_on_mesh():
        dataset = make_dataset(x, y, sample_weight, batch_size, **order)
        _build(model, signature_of(dataset), learns)
        return part_of(dataset, class_weight)
    if is_one_on_torch():
        dataset = make_dataset(x, y, sample_weight, batch_size, **order)
        _build(model, signature_of(dataset), learns)
        with translate_errors():
            copy_from_chief(model)
        return whole_batches(dataset, class_weight)
    strategy = model.distribute_strategy
    if is_shared_out(x):
        _build(model, _first_part(strategy, x), learns)
        return x
    source = make_source(x, y, sample_weight, batch_size, **order)
    _build(model, source.signature, learns)
    return replicate(strategy, source, class_weight)


def _unpack_data(parts: Any) -> tuple[Any, Any, Any]:
    return (*parts, None, None)[:3]  # type: ignore[return-value]


def _silence_workers(arguments: dict[str, Any]) -> dict[str, Any]:
    """Let `verbose="auto"` print in the chief only."""
    if arguments.get("verbose", "auto") != "auto" or is_chief():
        return arguments
    return {**arguments, "verbose": 0}


def _install(model: keras.Model, *kinds: str) -> None:
    """Replace the step functions of Keras; `compile` removes them."""
    function: type = ReplicatedFunction
    if is_on_mesh():
        function = WholeBatchFunction
    elif is_one_on_torch():
        function = ExchangedFunction
    for kind in kinds:
        if not isinstance(getattr(model, f"{kind}_function"), function):
            setattr(model, f"{kind}_function", function(model, kind))


@contextlib.contextmanager
def _keras_method(model: keras.Model) -> Iterator[None]:
    """Make `fit` and `evaluate` accept a built model on several replicas, and raise `WorkerLost`."""
    with contextlib.ExitStack() as stack:
        if is_replicated(model) and not _keras_builds(model.distribute_strategy):
            stack.enter_context(without_symbolic_build(model))
        stack.enter_context(translate_errors())
        yield


@functools.cache
def _keras_builds(strategy: Any) -> bool:
    """Whether this version of Keras can build a model on distributed data, tried with a small model."""
    with strategy.scope():
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile("sgd", loss="mse")
    rows = np.ones((2 * strategy.num_replicas_in_sync - 1, 1), "float32")  # parts of two sizes
    source = make_source(rows, rows, batch_size=len(rows))
    _build(model, source.signature)
    _install(model, "train")
    try:
        keras.Model.fit(model, replicate(strategy, source), shuffle=False, verbose=0)
    except Exception:
        return False
    return True


def _first_part(strategy: Any, data: Any) -> Any:
    """Return the first batch of the first replica of this process."""

    def first(value: Any) -> Any:
        return strategy.experimental_local_results(value)[0]

    part = keras.tree.map_structure(first, next(iter(data)))
    return part if isinstance(part, tuple) else (part,)


def _build(model: keras.Model, batch: Any, learns: bool = True) -> None:
    """Create the variables of a model, its loss, metrics and optimizer on each replica."""
    ours = ReplicatedFunction | WholeBatchFunction | ExchangedFunction
    if any(isinstance(getattr(model, f"{kind}_function"), ours) for kind in ("train", "test")):
        return
    with scope_of(model):
        build(model, batch if learns else batch[:1], learns)
