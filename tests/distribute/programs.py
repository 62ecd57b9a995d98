"""Programs that the processes of a test run: `python -m tests.distribute.programs FOLDER NAME ...`.

A program returns arrays by name, and each process writes its own. They are compared with those of a single process.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np

import keras_slstm
from keras_slstm import distribute
from keras_slstm.distribute.variables import seed_generators
from keras_slstm.text.batches import TextBatches
from tests.distribute.input_programs import (
    train_in_several_steps,
    train_on_inputs,
    train_with_options,
    train_with_own_step,
)

Arrays = dict[str, Any]
ROWS, WORDS, LENGTH, LABELS = 21, 30, 7, 3


def sentences(rows: int = ROWS, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return word ids with padding at the end, and a label and a weight per sentence."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(1, WORDS, size=(rows, LENGTH))
    ids[np.arange(LENGTH) >= rng.integers(2, LENGTH + 1, size=(rows, 1))] = 0
    return ids.astype("int32"), rng.integers(0, LABELS, size=rows), rng.uniform(0.5, 2, size=rows).astype("float32")


def fix_weights(model: keras.Model) -> None:
    """Set the same weights in every process and every call."""
    rng = np.random.default_rng(1)
    model.set_weights([rng.normal(size=w.shape) * 0.3 for w in model.get_weights()])


def classifier() -> keras.Model:
    """Build an S-LSTM classifier."""
    return keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(WORDS, 6, mask_zero=True),
            keras_slstm.SLSTM(5, steps=2, kernel_regularizer=keras.regularizers.L2(0.01)),
            keras.layers.Dense(LABELS, activation="softmax", dtype="float32"),
        ]
    )


def average(dtype: str | None = None, dropout: float = 0.0, units: int = 6) -> keras.Model:
    """Build a classifier that TensorFlow traces quickly."""
    return keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(WORDS, units, mask_zero=True, dtype=dtype),
            keras.layers.Dropout(dropout, dtype=dtype),
            keras_slstm.MaskedGlobalAveragePooling1D(dtype=dtype),
            keras.layers.Dense(LABELS, activation="softmax", dtype="float32"),
        ]
    )


def tagger() -> keras.Model:
    """Build a CRF tagger."""
    return keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(WORDS, 6, mask_zero=True),
            keras_slstm.CRF(LABELS),
        ]
    )


def collect(prefix: str, model: keras.Model, history: keras.callbacks.History | None = None) -> Arrays:
    found: Arrays = {f"{prefix}/weights/{i}": weight for i, weight in enumerate(model.get_weights())}
    if history is not None:
        found |= {f"{prefix}/history/{name}": values for name, values in history.history.items()}
    return found


class Recorder(keras.callbacks.Callback):
    """Records the loss of each step, which must be the same in all processes."""

    def __init__(self) -> None:
        super().__init__()
        self.losses: list[float] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.losses.append(float(logs["loss"]))


def train_classifier(make_model: Callable[[], keras.Model] = classifier) -> Arrays:
    """Train with sample weights, validation and callbacks; the last batch has fewer rows than replicas."""
    x, y, w = sentences()
    others = sentences(6, seed=1)
    with distribute.strategy().scope():
        model = make_model()
        fix_weights(model)
        model.compile(
            keras.optimizers.SGD(0.1, global_clipnorm=0.3),
            loss="sparse_categorical_crossentropy",
            metrics=["accuracy"],
            weighted_metrics=["sparse_categorical_crossentropy"],
        )
    recorder = Recorder()
    halve = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.9)
    history = distribute.fit(
        model,
        x,
        y,
        sample_weight=w,
        batch_size=5,
        epochs=2,
        shuffle=False,
        validation_data=others,
        callbacks=[recorder, halve],
        verbose=0,
    )
    found = collect("classifier", model, history)
    found["classifier/losses"] = recorder.losses
    found["classifier/evaluate"] = distribute.evaluate(
        model, *others[:2], sample_weight=others[2], batch_size=5, verbose=0
    )
    found["classifier/predict"] = distribute.predict(model, others[0], batch_size=5, verbose=0)
    return found


def train_average() -> Arrays:
    """Do the same with a model that TensorFlow traces quickly."""
    return train_classifier(average)


def train_tagger() -> Arrays:
    """Train on batches of different lengths from a `keras.utils.PyDataset`."""
    with distribute.strategy().scope():
        model = tagger()
        fix_weights(model)
        model.compile("sgd", loss=keras_slstm.CRFLoss(), metrics=[keras_slstm.CRFAccuracy()])
    data = TaggedBatches()
    history = distribute.fit(model, data, epochs=2, verbose=0)
    found = collect("tagger", model, history)
    x = data[1][0]
    found["tagger/predict"] = distribute.predict(model, x, batch_size=5, verbose=0)
    return found


class TaggedBatches(TextBatches):
    """Sentences with a label for each word, in shuffled batches of similar length."""

    def __init__(self) -> None:
        ids, _, _ = sentences(10)
        self.rows = [row[row > 0].tolist() for row in ids]
        super().__init__(self.rows, batch_size=5, multiple_of=4, seed=3)

    def collate(self, chosen: np.ndarray) -> tuple[np.ndarray, ...]:
        (x,) = super().collate(chosen)
        return x, np.asarray(x % LABELS, "int32")


TEXTS = [" ".join(["yes" if i % 2 else "no", *["word"] * (i % 5)]) for i in range(10)]


def train_on_texts() -> Arrays:
    """Train a text model of this package with its own methods."""
    with distribute.strategy().scope():
        average = keras_slstm.MaskedGlobalAveragePooling1D()
        # Without word dropout, which differs between replicas.
        options = {"embedding_dim": 4, "dropout": 0.0, "word_dropout": 0.0}
        model = keras_slstm.SentenceClassifier(["even", "odd"], average, **options)
        model.adapt(TEXTS)
        fix_weights(model)
        model.compile("adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    labels = ["odd" if i % 2 else "even" for i in range(10)]
    history = model.fit(
        TEXTS, labels, batch_size=4, epochs=2, validation_data=(TEXTS, labels), class_weight={"odd": 2.0}, verbose=0
    )
    found = collect("texts", model, history)
    found["texts/evaluate"] = model.evaluate(TEXTS, labels, verbose=0)
    found["texts/predict"] = model.predict(TEXTS, batch_size=4, verbose=0)
    return found


def train_variants() -> Arrays:
    """Train with XLA, in half precision, and with several steps per call, on a tf.data.Dataset."""
    import tensorflow as tf

    keras.utils.set_random_seed(0)  # the order of a tf.data.Dataset depends on it and on its own seed
    x, y, w = sentences(14)
    found: Arrays = {}
    ways: dict[str, dict[str, Any]] = {
        "xla": {"jit_compile": True},
        "half": {"dtype": "mixed_float16", "auto_scale_loss": True},
        "several": {"steps_per_execution": 2},
    }
    for name, options in ways.items():
        dtype = options.pop("dtype", None)
        with distribute.strategy().scope():
            model = average(dtype)
            fix_weights(model)
            optimizer: Any = keras.optimizers.SGD(0.1)
            if dtype == "mixed_float16":
                optimizer = keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=2.0**8)
            model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"], **options)
        data = tf.data.Dataset.from_tensor_slices((x, y, w)).shuffle(14, seed=2).batch(4)
        history = distribute.fit(model, data, epochs=2, verbose=0)
        found |= collect(name, model, history)
        if name == "xla":
            found[f"{name}/predict"] = distribute.predict(model, x, batch_size=3, verbose=0)
    return found


def train_with_dropout() -> Arrays:
    """Take a step whose gradient counts in how many of two rows each feature was kept; return the generator's state."""
    with distribute.strategy().scope():
        model = keras.Sequential(
            [
                keras.Input((64,)),
                keras.layers.Dropout(0.5, seed=1),
                keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros"),
            ]
        )
        model.compile(keras.optimizers.SGD(1.0), loss=lambda y, outputs: outputs)
    distribute.fit(model, np.ones((2, 64)), np.zeros((2, 1)), batch_size=2, verbose=0)
    (kernel,) = model.get_weights()
    (state,) = seed_generators(model)
    return {"dropout/kept": -kernel[:, 0], "dropout/state": keras.ops.convert_to_numpy(state)}


def train_on_lists() -> Arrays:
    """Train with lists of arrays as inputs, labels and validation data."""
    inputs = [keras.Input((2,)), keras.Input((3,))]
    rng = np.random.default_rng(0)
    x, y = [rng.normal(size=(5, n)) for n in (2, 3)], [rng.normal(size=(5, n)) for n in (1, 2)]
    with distribute.strategy().scope():
        joined = keras.layers.Concatenate()(inputs)
        model = keras.Model(inputs, [keras.layers.Dense(n, name=f"outputs_{n}")(joined) for n in (1, 2)])
        fix_weights(model)
        model.compile("sgd", ["mse", "mae"])
    history = distribute.fit(model, x, y, batch_size=2, shuffle=False, validation_data=[x, y], verbose=0)
    found = collect("lists", model)
    # Keras averages the losses of single outputs over batches of any size, so they depend on the split.
    found |= {f"lists/{name}": history.history[name] for name in ("loss", "val_loss")}
    found["lists/evaluate"] = distribute.evaluate(model, x, y, batch_size=3, verbose=0)[0]
    for index, outputs in enumerate(distribute.predict(model, x, batch_size=3, verbose=0)):
        found[f"lists/predict/{index}"] = outputs
    return found


def train_words() -> Arrays:
    """Train with a masked loss per word, layer losses, and the optimizer's accumulation, averaging and clipping."""
    x, y, _ = sentences()
    with distribute.strategy().scope():
        model = keras.Sequential(
            [
                keras.Input((None,), dtype="int32"),
                keras.layers.Embedding(WORDS, 6, mask_zero=True),
                keras.layers.Dense(5, "tanh", kernel_regularizer="l2", activity_regularizer="l2"),
                keras.layers.Dense(LABELS, activation="softmax"),
            ]
        )
        fix_weights(model)
        optimizer = keras.optimizers.SGD(
            0.5, momentum=0.9, global_clipnorm=0.3, gradient_accumulation_steps=2, use_ema=True
        )
        model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    labels = np.asarray((x + y[:, None]) % LABELS)
    history = distribute.fit(model, x, labels, batch_size=5, epochs=2, shuffle=False, verbose=0)
    return collect("words", model, history)


def refuse_differences() -> Arrays:
    """Try different data, settings and shapes: the error names the difference, and the processes can continue."""
    cluster = distribute.find_cluster()
    index = 0 if cluster is None else cluster.index
    found: Arrays = {}
    for name in ("data", "epochs", "rate", "units"):
        own = {other: index if other == name else 0 for other in ("data", "epochs", "rate", "units")}
        x, y, _ = sentences(seed=own["data"])
        try:
            with distribute.strategy().scope():
                model = average(units=6 + own["units"])
                model.compile(keras.optimizers.SGD(0.1 + own["rate"]), "sparse_categorical_crossentropy")
            distribute.fit(model, x, y, epochs=1 + own["epochs"], verbose=0)
            found[f"refused/{name}"] = ""
        except ValueError as error:
            found[f"refused/{name}"] = str(error)
    return found


SHARED = (
    *(train_classifier, train_tagger, train_on_texts, train_with_dropout, train_on_lists, train_on_inputs),
    *(train_with_options, train_with_own_step, refuse_differences),
)
ON_ALL = [program.__name__ for program in SHARED]
ON_JAX = [*ON_ALL, train_in_several_steps.__name__]
ON_TENSORFLOW = [*ON_JAX, train_variants.__name__]
ON_TORCH = [*ON_ALL, train_words.__name__]
PROGRAMS: dict[str, Callable[[], Arrays]] = {name: globals()[name] for name in {*ON_TENSORFLOW, *ON_TORCH}}


def main() -> None:
    folder, *names = sys.argv[1:]
    cluster = distribute.find_cluster()
    distribute.strategy()
    found: Arrays = {}
    for name in names:
        started, cpu_started = time.perf_counter(), time.process_time()
        found |= PROGRAMS[name]()
        seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
        print(f"{name}: {seconds:.1f} s, of which {cpu_seconds:.1f} s of CPU time", flush=True)
    np.savez(Path(folder) / f"found-{0 if cluster is None else cluster.index}.npz", **found)


if __name__ == "__main__":
    main()
