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
ROWS, BATCH, FEATURES, LABELS = 11, 4, 3, 2  # the last batch of three rows
rng = np.random.default_rng(0)
X, OTHER = (rng.normal(size=(ROWS, FEATURES)).astype("float32") for _ in range(2))
Y = rng.integers(0, LABELS, ROWS)
WEIGHTS = rng.uniform(0.5, 2, ROWS).astype("float32")
SLICES = [slice(start, start + BATCH) for start in range(0, ROWS, BATCH)]


def linear(train_step: Any = None, optimizer: Any = "sgd", **options: Any) -> keras.Model:
    """A linear classifier of one array."""
    with distribute.strategy().scope():
        kind = keras.Sequential if train_step is None else type("Own", (keras.Sequential,), {"train_step": train_step})
        model = kind([keras.Input((FEATURES,)), keras.layers.Dense(LABELS, activation="softmax")])
        return _compiled(model, optimizer, **options)


def joined(inputs: Any) -> keras.Model:
    """A linear classifier of two arrays in a nest."""
    with distribute.strategy().scope():
        together = keras.layers.Concatenate()(keras.tree.flatten(inputs))
        model = keras.Model(inputs, keras.layers.Dense(LABELS, activation="softmax")(together))
        return _compiled(model, "sgd")


def _compiled(model: keras.Model, optimizer: Any, **options: Any) -> keras.Model:
    generator = np.random.default_rng(1)
    model.set_weights([generator.normal(size=w.shape) for w in model.get_weights()])
    model.compile(
        optimizer() if callable(optimizer) else optimizer,
        "sparse_categorical_crossentropy",
        weighted_metrics=["sparse_categorical_crossentropy"],
        **options,
    )
    return model


def _fit(kind: str, model: keras.Model, *data: Any, **options: Any) -> Arrays:
    """Train for two epochs; the weights and what is reported of each epoch."""
    own = {} if not isinstance(data[0], np.ndarray | tuple | dict) else {"batch_size": BATCH}
    history = distribute.fit(model, *data, **{"epochs": 2, "shuffle": False, "verbose": 0, **own, **options})
    found: Arrays = {f"{kind}/weights/{i}": weight for i, weight in enumerate(model.get_weights())}
    metrics = {name: values for name, values in history.history.items() if "crossentropy" in name}
    return found | {f"{kind}/{name}": values for name, values in metrics.items()}


def _input(name: str) -> Any:
    return keras.Input((FEATURES,), name=name)


class Sliced(keras.utils.PyDataset):
    """Batches by their number."""

    def __len__(self) -> int:
        return len(SLICES)

    def __getitem__(self, index: int) -> Any:
        return X[SLICES[index]], Y[SLICES[index]], WEIGHTS[SLICES[index]]


def _endless() -> Iterator[Any]:
    while True:
        for rows in SLICES:
            yield X[rows], Y[rows], WEIGHTS[rows]


def train_on_inputs() -> Arrays:
    """Every kind of input."""
    inputs = {"a": _input("a"), "b": _input("b")}
    nested = {"a": _input("a"), "more": [_input("b")]}
    steps = {"steps_per_epoch": len(SLICES)}
    return {
        **_fit("arrays", linear(), X, Y, sample_weight=WEIGHTS, validation_data=(OTHER, Y, WEIGHTS)),
        **_fit("tuple", joined((_input("a"), _input("b"))), (X, OTHER), Y),
        **_fit("dict", joined(inputs), {"a": X, "b": OTHER}, Y),
        **_fit("nested", joined(nested), {"a": X, "more": [OTHER]}, Y),
        **_fit("py_dataset", linear(), Sliced(), validation_data=Sliced()),
        **_fit("grain", linear(), _grain(), validation_data=_grain()),
        **_fit("generator", linear(), _endless(), validation_data=Sliced(), **steps),
        # An epoch does not end with the data.
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
    """The options of `fit`, `compile` and the optimizer, and Keras' callbacks."""

    def averaging() -> Any:  # in the scope of the strategy
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
    """A step of the user's own."""
    parent = keras.Model.train_step

    def train_step(self: Any, *data: Any) -> Any:
        return parent(self, *data)

    return _fit("own_step", linear(train_step), X, Y)


def train_in_several_steps() -> Arrays:
    """Several steps in one call."""
    return _fit("several_steps", linear(steps_per_execution=2), X, Y)


def train_with_torch_step() -> Arrays:
    """A step on PyTorch that clips the gradient itself, so it needs that of the whole batch."""
    import torch

    def train_step(self: Any, data: Any) -> Any:
        x, y = data
        weights = self.trainable_weights
        self.zero_grad()
        outputs = self(x, training=True)
        loss = self.compute_loss(y=y, y_pred=outputs)
        loss.backward()
        torch.nn.utils.clip_grad_norm_([weight.value for weight in weights], 0.1)
        with torch.no_grad():
            self.optimizer.apply([weight.value.grad for weight in weights], weights)
        return {"crossentropy": loss.detach()}

    return _fit("torch_step", linear(train_step), X, Y)


class _Stop(keras.callbacks.Callback):
    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if epoch == 1:
            raise KeyboardInterrupt


def _with_callbacks() -> Arrays:
    """A training that is interrupted and goes on, keeps the best weights, and stops early."""
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
    """What TensorBoard shows of a training, with the distribution of each weight."""
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


KINDS = (
    "arrays",
    "tuple",
    "dict",
    "nested",
    "py_dataset",
    "grain",
    "generator",
    "part_of_generator",
    "loader",
    "tf_data",
)
OPTIONS = ("class_weight", "validation_split", "averages", "accumulation", "callbacks", "board")
PROGRAM_OF = {
    **dict.fromkeys((*KINDS, "outputs"), "train_on_inputs"),
    **dict.fromkeys(OPTIONS, "train_with_options"),
    "own_step": "train_with_own_step",
    "several_steps": "train_in_several_steps",
    "torch_step": "train_with_torch_step",
}
