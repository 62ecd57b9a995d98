"""One training run: settings, optimizer, fit and results."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import keras

from keras_slstm.cli.options import read_variant
from keras_slstm.cli.presets import Settings
from keras_slstm.cli.settings import settings_of
from keras_slstm.cli.tasks.jobs import Job, Results, describe_data, vectors_name
from keras_slstm.cli.tasks.progress import EpochLines
from keras_slstm.cli.tasks.reports import draw_learning_curve, print_files
from keras_slstm.distribute import is_chief
from keras_slstm.files import write_json
from keras_slstm.models.raw_data import UPDATES_AN_EPOCH
from keras_slstm.printable import printable
from keras_slstm.text.batches import count_epochs
from keras_slstm.text.epochs import SeededEpochs
from keras_slstm.text.word_vectors import Coverage, WordVectors
from keras_slstm.training import optimizers
from keras_slstm.training.diagnosis import diagnose_length
from keras_slstm.training.results import append_result
from keras_slstm.training.schedules import decay_on_plateau
from keras_slstm.training.stopwatch import Stopwatch
from keras_slstm.training.training_run import TrainingRun

_MLP = ("mlp_units", "mlp_layers", "mlp_dropout")
# Values that select the model's own default; such settings are not passed on.
_MODEL_DEFAULTS = {"embeddings_initializer": "wide", "min_count": 0, "split_words": "auto", "batch_order": "auto"}


def choose_settings(
    arguments: argparse.Namespace, job: Job, preset_name: str, preset: Settings, *further: str
) -> Settings:
    """The preset with the given options, and everything else that a resumed run must share.

    Args:
        arguments: The options.
        job: The training run.
        preset_name: The name of the preset.
        preset: Its settings.
        *further: Options that are also settings, in addition to those of all runs.
    """
    settings = settings_of(arguments, preset)
    if not settings["epochs"] and not settings.get("updates"):
        raise ValueError("--updates 0 needs --epochs")
    if not settings["decay"] and not settings.get("updates") and not arguments.epochs:
        raise ValueError("--decay 0 needs --updates or --epochs: by their end, the learning rate falls to zero")
    if settings.get("plateau") and not settings["decay"]:
        raise ValueError("--plateau needs --decay, the factor by which it lowers the learning rate: --decay 0.5")
    if getattr(arguments, "patience_updates", None) is not None:
        if arguments.patience is not None:
            raise ValueError("use either --patience or --patience-updates, not both")
        settings.pop("patience")  # of the preset
    settings.pop("epochs")  # a resumed run may train longer
    if not settings.get("mlp_units"):
        check_mlp_options(arguments)
        settings = {name: value for name, value in settings.items() if name not in _MLP}
    for name in ("plateau", "weight_decay", "updates", "patience", "patience_updates"):
        if not settings.get(name):
            settings.pop(name, None)
    settings = without_model_defaults(settings)
    settings |= {name: vars(arguments)[name] for name in ("dtype", *further)}
    settings["preset"] = preset_name
    if "encoder_option" in arguments:
        settings["encoder_options"] = {**dict(arguments.encoder_option), **read_variant(job.variant)}
    if "vectors" in arguments:
        settings["vectors"] = arguments.vectors and Path(arguments.vectors).name
    counts = arguments.epochs and "updates" in settings
    if counts and len(job.corpus.train) < UPDATES_AN_EPOCH * settings["batch_size"]:
        settings["--epochs"] = "given"  # an epoch is one pass, instead of the several that `batch_options` asks for
    settings["seed"] = job.seed
    settings["backend"] = keras.backend.backend()
    # XLA compiles for seconds for every sentence length, which only pays off in long runs.
    settings["jit_compile"] = settings["backend"] == "jax" if arguments.jit_compile is None else arguments.jit_compile
    return settings


def check_mlp_options(arguments: argparse.Namespace) -> None:
    """Raise ValueError for options of hidden layers without these layers."""
    names = ["mlp_layers"] if getattr(arguments, "architecture", None) else ["mlp_layers", "mlp_dropout"]
    for name in names:
        if getattr(arguments, name, None) is not None:
            raise ValueError(f"--{name.replace('_', '-')} needs --mlp-units above 0")


def without_model_defaults(settings: Settings) -> Settings:
    """The settings, without those that select the model's default."""
    return {name: value for name, value in settings.items() if _MODEL_DEFAULTS.get(name, ...) != value}


@contextlib.contextmanager
def naming_options(*names: str) -> Iterator[None]:
    """Name these options in the error if their NAME=VALUE pairs are not valid arguments."""
    try:
        yield
    except TypeError as error:
        raise ValueError(f"{' or '.join(names)} is invalid: {error}") from error


def check_dimension(wanted: int | None, vectors: WordVectors | None) -> None:
    """Raise ValueError if `--embedding-dim` contradicts the word vectors."""
    if wanted is not None and vectors is not None and wanted != vectors.dim:
        raise ValueError(f"--embedding-dim must be the size of --vectors, {vectors.dim}, but is {wanted}")


def batch_options(arguments: argparse.Namespace, settings: Settings, seed: int) -> Settings:
    """Arguments of `model.batches`: if updates are counted, an epoch passes several times over few examples."""
    least = UPDATES_AN_EPOCH if "updates" in settings and not arguments.epochs else 1
    options = {"batch_size": settings["batch_size"], "seed": seed, "min_batches": least}
    if not settings["jit_compile"]:  # then any number of lengths is cheap, and padding only takes time
        options |= {"multiple_of": 1, "max_lengths": None}
    if "batch_order" in settings:
        options["by_length"] = settings["batch_order"] == "by_length"
    return options


def make_optimizer(settings: Settings, batches: SeededEpochs, epochs: int | None = None) -> keras.optimizers.Optimizer:
    """The optimizer, with a learning rate that `decay` lowers: over all updates, per epoch, or on a plateau (`fit`)."""
    rate = settings["learning_rate"]
    if "plateau" not in settings:
        steps = len(batches)
        if "updates" in settings:  # at least: the last epoch is completed, and `--epochs` may ask for more
            epochs = epochs or count_epochs(settings["updates"], batches)
            steps = max(settings["updates"], epochs * len(batches))
        elif not settings["decay"]:
            steps *= epochs or 1
        if settings["decay"]:
            rate = keras.optimizers.schedules.ExponentialDecay(
                rate, decay_steps=steps, decay_rate=settings["decay"], staircase="updates" not in settings
            )
        else:
            rate = keras.optimizers.schedules.PolynomialDecay(rate, decay_steps=steps, end_learning_rate=0.0)
    options = {"global_clipnorm": settings["clip"], "weight_decay": settings.get("weight_decay")}
    name, multiplier = settings.get("optimizer", "adam"), settings.get("recurrent_multiplier", 1.0)
    return optimizers.make_optimizer(name, rate, multiplier, **options)


def describe(corpus: Any, what: str, targets: str, encoder: str, model: Any, run: TrainingRun) -> None:
    """Print the sizes of corpus and model.

    Args:
        corpus: The corpus.
        what: The kind of its examples, such as `"texts"`.
        targets: The targets, such as `"6 labels"`.
        encoder: The name of its encoder.
        model: The model.
        run: Its run.
    """
    sizes = f"{len(corpus.train):,} / {len(corpus.validation):,} / {len(corpus.test):,}"
    print(f"{printable(corpus.name)}: {sizes} {what} for training / development / test, {targets}")
    words = model.vectorizer.vocabulary_size
    print(f"{encoder}: {model.count_params():,} parameters, {words:,} words in the vocabulary")
    if run.epochs_done:
        print(f"Resuming the interrupted run in {run.folder} after epoch {run.epochs_done}")


def describe_coverage(vectors: WordVectors | None, vectorizer: Any, texts: Any) -> Coverage | None:
    """Print how many words of the texts have a vector."""
    if vectors is None:
        return None
    coverage = vectors.coverage(vectorizer.count(texts))
    print(f"Word vectors: {coverage}")
    return coverage


def fit(
    arguments: argparse.Namespace,
    run: TrainingRun,
    model: Any,
    batches: SeededEpochs,
    settings: Settings,
    epochs: int,
    monitor: str,
    callbacks: Sequence[keras.callbacks.Callback] = (),
    **options: Any,
) -> Results:
    """Train according to the settings, or resume an interrupted run.

    Args:
        arguments: The options.
        run: The run.
        model: The compiled model.
        batches: The training part.
        settings: The settings.
        epochs: The preset's number of epochs.
        monitor: The development score, prefixed with `val_`.
        callbacks: Further callbacks, such as one that computes the score.
        **options: Further arguments of `run.fit`, such as `validation_data`.

    Returns:
        The results of training for `results.json`.
    """
    stopwatch = Stopwatch(batches)
    all_callbacks: list[keras.callbacks.Callback] = [stopwatch, *callbacks]
    if "plateau" in settings:
        rate, factor = settings["learning_rate"], settings["decay"]
        all_callbacks.append(decay_on_plateau(run, rate, settings["plateau"], factor, monitor))
    if "updates" in settings:
        epochs = count_epochs(settings["updates"], batches)
    epochs = arguments.epochs or epochs
    patience = settings.get("patience")
    if patience is None and "patience_updates" in settings:
        patience = count_epochs(settings["patience_updates"], batches)
    with EpochLines(epochs, len(batches), monitor, run.history) as lines:
        history = run.fit(
            model,
            batches,
            epochs=epochs,
            monitor=monitor,
            patience=patience,
            save_every=arguments.save_every,
            callbacks=[*all_callbacks, lines],
            verbose=0,
            **options,
        )
    if (advice := diagnose_length(history[monitor])) is not None:
        print(f"\n{advice}")
    return {
        "best_epoch": run.best_epoch,
        "updates": run.epochs_done * len(batches),
        "epochs": run.epochs_done,
        "seconds_per_epoch": stopwatch.seconds_per_epoch,
        "seconds_by_length": stopwatch.seconds_by_length,
        "history": history,
    }


def best_score(run: TrainingRun, monitor: str, name: str, digits: int = 4) -> float:
    """Print the best epoch, and return its score."""
    score = run.history[monitor][run.best_epoch - 1]
    if run.best_epoch:
        print(f"\nBest epoch {run.best_epoch}: {name} {score:.{digits}f}")
    else:
        print(f"\nNo best epoch: {name} is not a number in any epoch")
    return score


def describe_encoder(arguments: argparse.Namespace, job: Job) -> str:
    """The name of the encoder in tables of results."""
    words = " + ".join(word for word in (arguments.encoder, arguments.pooling, arguments.architecture) if word)
    return words + (f" ({job.variant})" if job.variant else "")


def finish(
    arguments: argparse.Namespace, run: TrainingRun, job: Job, found: Results, coverage: Coverage | None = None
) -> Results:
    """End a run: write the results to its folder and the file of all results, and draw the learning curve."""
    result = {
        "run": run.id,
        **describe_data(arguments, job.corpus, job.fold),
        "variant": job.variant,
        "vectors": vectors_name(arguments),
        "coverage": coverage and [coverage.known_tokens / coverage.tokens, coverage.known_types / coverage.types],
        "seed": job.seed,
        "command": arguments.command_line,
        **found,
    }
    if is_chief():
        write_json(run.folder / "results.json", result)
        append_result(arguments.results, result)
    run.finish()
    draw_learning_curve(run.history, run.best_epoch, run.folder / "learning_curve.png")
    print_files(run.folder, arguments.results)
    return result
