"""`fit`, `evaluate` and `predict` on several replicas and machines."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np

from keras_slstm.distribute.batches import Epoch, make_dataset, signature_of
from keras_slstm.distribute.failures import failures_named
from keras_slstm.distribute.jax_processes import WholeBatchFunction, is_one_of_several, part_of
from keras_slstm.distribute.private import without_symbolic_build
from keras_slstm.distribute.replicas import ReplicatedFunction
from keras_slstm.distribute.sharding import make_source, replicate
from keras_slstm.distribute.strategies import is_chief
from keras_slstm.distribute.variables import build
from keras_slstm.text.batches import Batches


def fit(model: keras.Model, x: Any = None, y: Any = None, **arguments: Any) -> keras.callbacks.History:
    """Train a model where it was made: on one device, several, or several machines.

    Where the model was made in the scope of a `MultiWorkerMirroredStrategy`, under which Keras' own `fit` fails, or of
    a `MirroredStrategy`, and in each of several processes on JAX, the result is that of one process which is given the
    same batches: their rows are shared out, no row is lost or seen twice, batches need not divide by the number of
    replicas, and `jit_compile` works (on JAX, several processes always compile). Only random numbers, such as those of
    dropout, differ on TensorFlow: there each replica draws its own, the first those of one process; on JAX all of them
    together draw those of one process. Anywhere else this is `model.fit`.

    All processes must call this with the same arguments. They go through the same batches in the same order, which is
    checked (on JAX, for the first batch of an epoch), and each takes its rows of each. So an unseeded shuffle of a
    `tf.data.Dataset` will not do; arrays are shuffled by `seed` and the number of the epoch. Data that is too large for
    that can be shared out beforehand (`strategy.distribute_datasets_from_function`): then every replica's mean loss
    counts the same, and all must have the same number of batches.

    Args:
        model: A compiled model. Its `train_step` and callbacks may be its own; it may end in `class_weight`,
            `sample_weight`, masks. The models of this package take raw examples here, and need not be called through
            this function at all.
        x, y: As in `model.fit`: arrays, a `keras.utils.PyDataset` or, on TensorFlow, a `tf.data.Dataset` (with batches
            of all replicas together) or a `tf.distribute.DistributedDataset`.
        **arguments: Further arguments of `model.fit`, and `seed` (default: 0). `batch_size` counts the rows of all
            replicas together. `verbose="auto"` prints in the first process only.

    Returns:
        What `model.fit` returns; the same in all processes.

    Raises:
        WorkerLost: If another process has died, or does not answer in time.
        ValueError: If data or arguments do not fit, or processes were given different data.
        RuntimeError: If this version of Keras lacks what this rests on.

    Example:

    ```python
    with keras_slstm.distribute.strategy().scope():
        model = keras.Sequential([keras.layers.Embedding(1000, 64, mask_zero=True), SLSTM(64), keras.layers.Dense(2)])
        model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    keras_slstm.distribute.fit(model, words, labels, batch_size=64, epochs=5, validation_data=(others, their_labels))
    ```
    """
    if isinstance(x, Batches) and not getattr(model, "shares_out_by_itself", False):
        arguments["shuffle"] = False
        arguments["callbacks"] = with_callback(arguments.get("callbacks"), x.follow_epochs())
    return _through(model, "fit", fit_by)(x, y, **arguments)


def evaluate(model: keras.Model, x: Any = None, y: Any = None, **arguments: Any) -> Any:
    """Evaluate a model where it was made; see `fit`.

    Every row counts once, whatever the number of replicas and the size of the last batch.

    Args:
        model: A compiled model.
        x, y: See `fit`.
        **arguments: Further arguments of `model.evaluate`.

    Returns:
        What `model.evaluate` returns; the same in all processes.

    Raises:
        WorkerLost, ValueError, RuntimeError: See `fit`.
    """
    return _through(model, "evaluate", evaluate_by)(x, y, **arguments)


def predict(model: keras.Model, x: Any, **arguments: Any) -> Any:
    """Predict with a model where it was made; see `fit`.

    Args:
        model: A model.
        x: See `fit`.
        **arguments: Further arguments of `model.predict`.

    Returns:
        What `model.predict` returns: the predictions of all rows, in their order, in all processes.

    Raises:
        WorkerLost, ValueError, RuntimeError: See `fit`.
    """
    return _through(model, "predict", predict_by)(x, **arguments)


def _through(model: keras.Model, name: str, by: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a model; one that does not share its data out is called by a function that does."""
    method = getattr(model, name)
    return method if getattr(model, "shares_out_by_itself", False) else functools.partial(by, method, model)


# For models that override these methods: `method` is the one of `keras.Model`.


def fit_by(
    method: Callable[..., Any],
    model: keras.Model,
    x: Any = None,
    y: Any = None,
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
    """`method`, which is Keras' `fit`, with each replica's part of the data."""
    if not is_shared(model):
        return method(
            x,
            y,
            batch_size=batch_size,
            sample_weight=sample_weight,
            class_weight=class_weight,
            shuffle=shuffle,
            validation_data=validation_data,
            validation_batch_size=validation_batch_size,
            validation_split=validation_split,
            **_quiet(arguments),
        )
    if validation_split:
        raise ValueError("`validation_split` does not cut data that is shared out: use `validation_data`.")
    epoch = Epoch()
    order: dict[str, Any] = {"shuffle": shuffle, "seed": seed, "epoch": epoch}
    data = _share_out(model, x, y, sample_weight, batch_size, class_weight, **order)
    _install(model, "train", "test")
    if validation_data is not None:
        parts = validation_data if isinstance(validation_data, tuple | list) else (validation_data,)
        size = validation_batch_size or batch_size if len(parts) > 1 else None
        validation_data = _share_out(model, *_three(parts), size)
    follow = keras.callbacks.LambdaCallback(on_epoch_begin=lambda number, logs: epoch.begin(number))
    arguments["callbacks"] = with_callback(arguments.get("callbacks"), follow)
    with _keras_method(model):
        return method(data, shuffle=False, validation_data=validation_data, **_quiet(arguments))


def evaluate_by(
    method: Callable[..., Any],
    model: keras.Model,
    x: Any = None,
    y: Any = None,
    *,
    batch_size: int | None = None,
    sample_weight: Any = None,
    **arguments: Any,
) -> Any:
    """`method`, which is Keras' `evaluate`, with each replica's part of the data."""
    within_fit = arguments.get("_use_cached_eval_dataset", False)
    if within_fit or not is_shared(model):
        return method(x, y, batch_size=batch_size, sample_weight=sample_weight, **arguments)
    data = _share_out(model, x, y, sample_weight, batch_size)
    _install(model, "test")
    with _keras_method(model):
        return method(data, **_quiet(arguments))


def predict_by(
    method: Callable[..., Any],
    model: keras.Model,
    x: Any,
    *,
    batch_size: int | None = None,
    **arguments: Any,
) -> Any:
    """`method`, which is Keras' `predict`, with each replica's part of the data."""
    if not is_shared(model):
        return method(x, batch_size=batch_size, **arguments)
    data = _share_out(model, x, batch_size=batch_size, learns=False)
    _install(model, "predict")
    with failures_named():
        return method(data, **_quiet(arguments))


def is_shared(model: keras.Model) -> bool:
    """Whether the model's data is shared out by this module."""
    return is_one_of_several() or is_replicated(model)


def is_replicated(model: keras.Model) -> bool:
    """Whether the model was made in the scope of a strategy with several replicas that this module serves."""
    if keras.backend.backend() != "tensorflow":
        return False
    import tensorflow as tf

    strategy = model.distribute_strategy
    ours = isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy | tf.distribute.MirroredStrategy)
    return ours and strategy.num_replicas_in_sync > 1


def scope_of(model: keras.Model) -> contextlib.AbstractContextManager[Any]:
    """Inside, variables are made where those of the model are."""
    return model.distribute_strategy.scope() if is_replicated(model) else contextlib.nullcontext()


def is_shared_out(data: Any) -> bool:
    """Whether data consists of each replica's part already."""
    import tensorflow as tf

    return isinstance(data, tf.distribute.DistributedDataset)


def with_callback(callbacks: Any, callback: keras.callbacks.Callback) -> Any:
    """What `fit` takes as callbacks, with one before them."""
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
    """Build the model, and give each replica its part of the data; `order` is that of `make_source`."""
    if is_one_of_several():
        dataset = make_dataset(x, y, sample_weight, batch_size, **order)
        _build(model, signature_of(dataset), learns)
        return part_of(dataset, class_weight)
    strategy = model.distribute_strategy
    if is_shared_out(x):
        _build(model, _first_part(strategy, x), learns)
        return x
    source = make_source(x, y, sample_weight, batch_size, **order)
    _build(model, source.signature, learns)
    return replicate(strategy, source, class_weight)


def _three(parts: Any) -> tuple[Any, Any, Any]:
    return (*parts, None, None)[:3]  # type: ignore[return-value]


def _quiet(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments under which one process prints, and no other."""
    if arguments.get("verbose", "auto") != "auto" or is_chief():
        return arguments
    return {**arguments, "verbose": 0}


def _install(model: keras.Model, *kinds: str) -> None:
    """Put our steps where Keras looks for its own; `compile` takes them away."""
    function = WholeBatchFunction if is_one_of_several() else ReplicatedFunction
    for kind in kinds:
        if not isinstance(getattr(model, f"{kind}_function"), function):
            setattr(model, f"{kind}_function", function(model, kind))


@contextlib.contextmanager
def _keras_method(model: keras.Model) -> Iterator[None]:
    """Inside, a method of Keras takes the model as it is, and names the worker that is lost."""
    with contextlib.ExitStack() as stack:
        if is_replicated(model) and not _keras_builds(model.distribute_strategy):
            stack.enter_context(without_symbolic_build(model))
        stack.enter_context(failures_named())
        yield


@functools.cache
def _keras_builds(strategy: Any) -> bool:
    """Whether this version of Keras can build a model on data that is shared out; found out by one that is built."""
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
    """The first part of a batch that a replica of this process gets."""

    def first(value: Any) -> Any:
        return strategy.experimental_local_results(value)[0]

    part = keras.tree.map_structure(first, next(iter(data)))
    return part if isinstance(part, tuple) else (part,)


def _build(model: keras.Model, batch: Any, learns: bool = True) -> None:
    """Give a model, its loss, its metrics and its optimizer their variables, on each replica."""
    ours = ReplicatedFunction | WholeBatchFunction
    if any(isinstance(getattr(model, f"{kind}_function"), ours) for kind in ("train", "test")):
        return
    with scope_of(model):
        build(model, batch if learns else batch[:1], learns)
