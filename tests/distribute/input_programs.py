"""Programs that train a small model on every kind of input and with every option; see `programs`."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_slstm import distribute

Arrays = dict[str, Any]
ROWS, BATCH, FEATURES, LABELS = 11, 4, 3, 2  # the last batch has three rows
rng = np.random.default_rng(0)
X, OTHER = (rng.normal(size=(ROWS, FEATURES)).astype("float32") for _ in range(2))
Y = rng.integers(0, LABELS, ROWS)
WEIGHTS = rng.uniform(0.5, 2, ROWS).astype("float32")
SLICES = [slice(start, start + BATCH) for start in range(0, ROWS, BATCH)]


def linear(train_step: Any = None, optimizer: Any = "sgd", **options: Any) -> keras.Model:
    """Build a linear classifier of one array."""
    with distribute.strategy().scope():
        kind = keras.Sequential if train_step is None else type("Own", (keras.Sequential,), {"train_step": train_step})
        model = kind([keras.Input((FEATURES,)), keras.layers.Dense(LABELS, activation="softmax")])
        return _compiled(model, optimizer, **options)


def joined(inputs: Any) -> keras.Model:
    """Build a linear classifier of two nested arrays."""
    with distribute.strategy().scope():
        together = keras.layers.Concatenate()(keras.tree.flatten(inputs))
        model = keras.Model(inputs, keras.layers.Dense(LABELS, activation="softmax")(together))
        return _compiled(model, "sgd")


def _fit_named() -> Arrays:
    """Train a model of two inputs and two outputs, whose labels and sample weights have the outputs' names."""
    with distribute.strategy().scope():
        inputs = {"a": _input("a"), "b": _input("b")}
        together = keras.layers.Concatenate()([inputs["b"], inputs["a"]])
        outputs = {name: keras.layers.Dense(LABELS, activation="softmax", name=name)(together) for name in ("c", "d")}
        model = keras.Model(inputs, outputs)
        metrics = {name: ["sparse_categorical_crossentropy"] for name in outputs}
        _compiled(model, "sgd", dict.fromkeys(outputs, "sparse_categorical_crossentropy"), metrics)
    x, y = {"a": X, "b": OTHER}, {"c": Y, "d": 1 - Y}
    weights = {"c": WEIGHTS, "d": WEIGHTS[::-1]}
    return _fit("named", model, x, y, sample_weight=weights, validation_data=(x, y, weights))


def _compiled(
    model: keras.Model,
    optimizer: Any,
    loss: Any = "sparse_categorical_crossentropy",
    metrics: Any = ("sparse_categorical_crossentropy",),
    **options: Any,
) -> keras.Model:
    generator = np.random.default_rng(1)
    model.set_weights([generator.normal(size=w.shape) for w in model.get_weights()])
    weighted = list(metrics) if isinstance(metrics, tuple) else metrics
    model.compile(optimizer() if callable(optimizer) else optimizer, loss, weighted_metrics=weighted, **options)
    return model


def _fit(kind: str, model: keras.Model, *data: Any, **options: Any) -> Arrays:
    """Train for two epochs, and return the weights and the logs of each epoch."""
    own = {} if not isinstance(data[0], np.ndarray | tuple | dict) else {"batch_size": BATCH}
    history = distribute.fit(model, *data, **{"epochs": 2, "shuffle": False, "verbose": 0, **own, **options})
    found: Arrays = {f"{kind}/weights/{i}": weight for i, weight in enumerate(model.get_weights())}
    metrics = {name: values for name, values in history.history.items() if "crossentropy" in name}
    return found | {f"{kind}/{name}": values for name, values in metrics.items()}


def _input(name: str) -> Any:
    return keras.Input((FEATURES,), name=name)


class Sliced(keras.utils.PyDataset):
    """Batches by index."""

    def __len__(self) -> int:
        return len(SLICES)

    def __getitem__(self, index: int) -> Any:
        return X[SLICES[index]], Y[SLICES[index]], WEIGHTS[SLICES[index]]


def _endless() -> Iterator[Any]:
    while True:
        for rows in SLICES:
            yield X[rows], Y[rows], WEIGHTS[rows]


def train_on_inputs() -> Arrays:
    """Train on every kind of input."""
    inputs = {"a": _input("a"), "b": _input("b")}
    nested = {"a": _input("a"), "more": [_input("b")]}
    steps = {"steps_per_epoch": len(SLICES)}
    return {
        **_fit("arrays", linear(), X, Y, sample_weight=WEIGHTS, validation_data=(OTHER, Y, WEIGHTS)),
        **_fit("tuple", joined((_input("a"), _input("b"))), (X, OTHER), Y),
        **_fit("dict", joined(inputs), {"a": X, "b": OTHER}, Y),
        **_fit("nested", joined(nested), {"a": X, "more": [OTHER]}, Y),
        **_fit_named(),
        **_fit("py_dataset", linear(), Sliced(), validation_data=Sliced()),
        **_fit("grain", linear(), _grain(), validation_data=_grain()),
        **_fit("generator", linear(), _endless(), validation_data=Sliced(), **steps),
        # The epoch is shorter than one pass through the data.
        **_fit("part_of_generator", linear(), _endless(), steps_per_epoch=2),
        **_fit("loader", linear(), _loader(), validation_data=_loader()),
        **_fit("tf_data", linear(), _tf_data(), validation_data=_tf_data()),
        **_predictions(),
    }


def _loader() -> Any:
    import torch

    tensors = (torch.tensor(array) for array in (X, Y, WEIGHTS))
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*tensors), batch_size=BATCH)


def _tf_data() -> Any:
    import tensorflow as tf

    return tf.data.Dataset.from_tensor_slices((X, Y, WEIGHTS)).batch(BATCH)


def _grain() -> Any:
    import grain

    return grain.MapDataset.source(list(zip(X, Y, WEIGHTS))).batch(BATCH)


def _predictions() -> Arrays:
    model = linear()
    metric = distribute.evaluate(model, _endless(), steps=len(SLICES), verbose=0, return_dict=True)
    return {
        "outputs/evaluate": metric["sparse_categorical_crossentropy"],
        "outputs/predict": distribute.predict(
            model, ((X[rows],) for _ in range(2) for rows in SLICES), steps=len(SLICES), verbose=0
        ),
    }


def train_with_options() -> Arrays:
    """Train with options of `fit`, `compile` and the optimizer, and with Keras' callbacks."""

    def averaging() -> Any:  # in the strategy's scope
        return keras.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.5)

    def accumulating() -> Any:
        return keras.optimizers.AdamW(0.1, weight_decay=0.1, clipnorm=0.2, gradient_accumulation_steps=2)

    return {
        **_fit("class_weight", linear(), X, Y, class_weight={0: 0.5, 1: 3.0}),
        **_fit("validation_split", linear(), X, Y, sample_weight=WEIGHTS, validation_split=0.3),
        **_fit("averages", linear(optimizer=averaging), X, Y),
        **_fit("accumulation", linear(optimizer=accumulating), X, Y, epochs=3),
        **_with_callbacks(),
        **_with_board(),
    }


def train_with_own_step() -> Arrays:
    """Train with a custom `train_step`, written as Keras' guides do for the backend."""
    steps = {"tensorflow": _tensorflow_step, "jax": _jax_step, "torch": _torch_step}
    return _fit("own_step", linear(steps[keras.backend.backend()], metrics=None), X, Y)


def _tensorflow_step(model: Any, data: Any) -> Arrays:
    import tensorflow as tf

    x, y = data
    with tf.GradientTape() as tape:
        loss = model.compute_loss(y=y, y_pred=model(x, training=True))
    weights = model.trainable_variables
    model.optimizer.apply(tape.gradient(loss, weights), weights)
    return {"crossentropy": loss}


def _jax_step(model: Any, state: Any, data: Any) -> tuple[Arrays, Any]:
    import jax

    trainable, non_trainable, optimizer, metrics = state
    x, y = data

    def compute(trainable: Any, non_trainable: Any) -> Any:
        outputs, non_trainable = model.stateless_call(trainable, non_trainable, x, training=True)
        return model.compute_loss(y=y, y_pred=outputs), non_trainable

    (loss, non_trainable), gradients = jax.value_and_grad(compute, has_aux=True)(trainable, non_trainable)
    trainable, optimizer = model.optimizer.stateless_apply(optimizer, gradients, trainable)
    return {"crossentropy": loss}, (trainable, non_trainable, optimizer, metrics)


def _torch_step(model: Any, data: Any) -> Arrays:
    """Clip the gradient in the step itself, which needs the gradient of the whole batch."""
    import torch

    x, y = data
    weights = model.trainable_weights
    model.zero_grad()
    loss = model.compute_loss(y=y, y_pred=model(x, training=True))
    loss.backward()
    torch.nn.utils.clip_grad_norm_([weight.value for weight in weights], 0.1)
    with torch.no_grad():
        model.optimizer.apply([weight.value.grad for weight in weights], weights)
    return {"crossentropy": loss.detach()}


def train_in_several_steps() -> Arrays:
    """Take several steps per call."""
    return _fit("several_steps", linear(steps_per_execution=2), X, Y)


class _Stop(keras.callbacks.Callback):
    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if epoch == 1:
            raise KeyboardInterrupt


def _with_callbacks() -> Arrays:
    """Train with an interruption, `ModelCheckpoint` of the best weights, and early stopping."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "best.weights.h5")
        best = {"monitor": "val_sparse_categorical_crossentropy", "mode": "min"}
        validation = {"validation_data": (OTHER, 1 - Y), "epochs": 5}

        def callbacks() -> list[Any]:
            return [
                keras.callbacks.BackupAndRestore(str(Path(folder, "backup")), delete_checkpoint=False),
                keras.callbacks.ModelCheckpoint(str(file), save_weights_only=True, save_best_only=True, **best),
                keras.callbacks.EarlyStopping(patience=2, restore_best_weights=True, **best),
            ]

        with contextlib.suppress(KeyboardInterrupt):
            _fit("callbacks", linear(), X, Y, callbacks=[*callbacks(), _Stop()], **validation)
        found = _fit("callbacks", linear(), X, Y, callbacks=callbacks(), **validation)
        kept = linear()
        kept.load_weights(file)
        return found | {f"callbacks/best/{i}": weight for i, weight in enumerate(kept.get_weights())}


def _with_board() -> Arrays:
    """Return the values that TensorBoard shows; check that it shows the distributions of weights."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util.tensor_util import make_ndarray

    with tempfile.TemporaryDirectory() as folder:
        board = keras.callbacks.TensorBoard(folder, histogram_freq=1)
        found = _fit("board", linear(), X, Y, validation_data=(OTHER, Y), callbacks=[board])
        for part in ("train", "validation"):
            events = EventAccumulator(str(Path(folder, part))).Reload()
            shown = events.Tensors("epoch_sparse_categorical_crossentropy")
            found[f"board/{part}"] = [make_ndarray(event.tensor_proto) for event in shown]
        assert any(
            "histogram" in tag for tag in EventAccumulator(str(Path(folder, "train"))).Reload().Tags()["tensors"]
        )
    return found


ON_PYTORCH = (
    *("arrays", "tuple", "dict", "nested", "lists", "named"),
    *("py_dataset", "tf_data", "loader", "grain", "generator", "part_of_generator", "outputs"),
    *("class_weight", "validation_split", "averages", "accumulation", "callbacks", "board", "own_step"),
)
ON_JAX = ON_TENSORFLOW = (*ON_PYTORCH, "several_steps")
PROGRAM_OF = {
    **dict.fromkeys(ON_JAX, "train_on_inputs"),
    **dict.fromkeys(
        ("class_weight", "validation_split", "averages", "accumulation", "callbacks", "board"), "train_with_options"
    ),
    "lists": "train_on_lists",
    "own_step": "train_with_own_step",
    "several_steps": "train_in_several_steps",
}
