"""Shared code of the classification scripts: options, trainings and reports."""

from __future__ import annotations

import argparse
import functools
import itertools
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
from _common import (
    FAILURES,
    add_preset_options,
    check_dimension,
    check_prediction_options,
    command,
    draw,
    fail,
    option,
    report_best,
    saved_model,
    short_name,
    write_result,
)

from keras_slstm.datasets.tokenised import tokenizer_of
from keras_slstm.distribute import is_chief
from keras_slstm.extras import require
from keras_slstm.files import read_json
from keras_slstm.metrics.summaries import mean_and_spread
from keras_slstm.models.encoders import ENCODERS
from keras_slstm.models.ensemble import Ensemble
from keras_slstm.models.text_model import POOLINGS, TextModel
from keras_slstm.plots import confusion_matrix
from keras_slstm.printable import printable
from keras_slstm.text.batches import Batches
from keras_slstm.text.text_vectorizer import TextVectorizer
from keras_slstm.text.word_vectors import Coverage, WordVectors, load_word_vectors
from keras_slstm.training.results import append_result
from keras_slstm.training.run_folder import RunFolder
from keras_slstm.training.schedules import decay_on_plateau
from keras_slstm.training.stopwatch import Stopwatch
from keras_slstm.training.training_run import TrainingRun

Results = dict[str, Any]
MLP_SETTINGS = ("mlp_units", "mlp_layers", "mlp_dropout")
# Columns of a table of several trainings beside the scores, shown if all trainings have them.
FURTHER = {"mean_depth": "mean depth", "texts_a_second": "texts a second"}


class Job(NamedTuple):
    """One training among those that a command asks for: `variant` names options of the encoder, such as `lam=0.25`."""

    corpus: Any
    fold: int | None
    variant: str
    seed: int
    folder: Path


# The course of a script.


def run_script(
    args: argparse.Namespace,
    train_all: Callable[[argparse.Namespace], int],
    predict: Callable[[argparse.Namespace], int],
    kinds: Collection[str],
) -> int:
    """Train one of the kinds of model, or predict with a saved one; the exit status."""
    saved = saved_model(args, kinds)
    try:
        return predict(args) if saved else train_all(args)
    except KeyboardInterrupt:
        if not saved:
            same = "same command without --overwrite" if args.overwrite else "same command"
            print(f"\nInterrupted. The {same} goes on after the last finished epoch.", file=sys.stderr)
        return 130


def plan_jobs(args: argparse.Namespace, corpora: Sequence[tuple[Any, int | None]]) -> list[Job]:
    """A training for each corpus (or fold of one), variant and seed."""
    variants = args.variants or [""]
    several = len(corpora) * len(variants) * len(args.seed) > 1
    jobs = []
    for corpus, fold in corpora:
        for variant in variants:
            for seed in args.seed:
                words = [short_name(corpus.name), f"fold{fold}" if fold else "", variant, f"seed{seed}"]
                name = "-".join(re.sub(r"[^\w.-]+", "_", word) for word in words if word)
                jobs.append(Job(corpus, fold, variant, seed, args.output / name if several else args.output))
    return jobs


def train_jobs(
    args: argparse.Namespace,
    plan: Callable[[argparse.Namespace], list[Job]],
    texts_of: Callable[[Any], Iterable[str]],
    train: Callable[[argparse.Namespace, Job, WordVectors | None], Results],
    given: str,
    further_texts: Iterable[str] = (),
) -> int:
    """Do all trainings that have not been done before; the exit status.

    Args:
        args: The command line.
        plan: Gives the trainings.
        texts_of: All texts of a part of a corpus.
        train: Does one of them.
        given: The command, as `keep_result` writes it.
        further_texts: What the models are to read beside the corpora: its words get their vectors, too.
    """
    try:
        require("sklearn.metrics", "examples")
        require("matplotlib", "plots")
        jobs = plan(args)
        vectors = load_vectors(args, jobs, texts_of, further_texts)
        check_dimension(args.embedding_dim, vectors)
    except (ValueError, OSError, ImportError) as error:
        return fail(error)
    results = []
    for job in jobs:
        try:
            if len(jobs) > 1:
                print(f"\n--- {job.folder.name}")
                if not args.overwrite and RunFolder(job.folder).is_finished():
                    results.append(finished_before(args, job.folder, given))
                    print("finished before")
                    continue
            results.append(train(args, job, vectors))
        except FAILURES as error:
            return fail(error)
    if args.ensemble:
        results += average_models(args, jobs, results)
    if len(jobs) > 1:
        print_summary(results)
    return 0


def finished_before(args: argparse.Namespace, folder: Path, given: str) -> Results:
    """The results of a finished training.

    Raises:
        ValueError: If they are damaged, or those of another command.
    """
    path = folder / "results.json"
    before = read_json(path)
    if not {"command", "vectors"} <= set(before):
        raise ValueError(f"{path} does not hold the results of a training: choose another --output, or say --overwrite")
    # A table may get further variants, or an ensemble; what files there were, the command does not say.
    comparable = (re.sub(r" --(variants|ensemble)( (?!--)\S+)*", "", one) for one in (before["command"], given))
    vectors = Path(args.vectors).name.removesuffix(".gz") if args.vectors else None
    if len(set(comparable)) > 1 or before["vectors"] != vectors:
        raise ValueError(
            f"{folder} holds what another command has found ({before['command']}, vectors {before['vectors']}): choose "
            "another --output, or say --overwrite."
        )
    return before


def average_models(args: argparse.Namespace, jobs: Sequence[Job], results: Sequence[Results]) -> list[Results]:
    """The results of the models of all seeds together, for each data set, fold and variant; one line for each."""
    found = []
    for start in range(0, len(jobs), len(args.seed)):  # as `plan_jobs` has them, the seeds of a kind stand together
        alike, first = jobs[start : start + len(args.seed)], results[start]
        ensemble = Ensemble([job.folder / "model.keras" for job in alike])
        measures = {}
        for name, part in (("development", alike[0].corpus.validation), ("test", alike[0].corpus.test)):
            if ensemble.labels:
                right = [wanted == got for wanted, got in zip(part.labels, ensemble.classify(part.texts))]
                measures[f"{name}_accuracy"] = float(np.mean(right))
            else:
                scores = ensemble.score(part.texts)
                measures[f"{name}_pearson"] = float(np.corrcoef(part.labels, scores)[0, 1])
        of_one = ("data", "split", "fold", "variant", "vectors", "coverage", "task", "command")
        result = {
            **{name: first[name] for name in of_one if name in first},
            "encoder": f"{first['encoder']} (ensemble of {len(alike)})",
            "seed": list(args.seed),
            "settings": {name: value for name, value in first["settings"].items() if name != "seed"},
            **measures,
        }
        members = results[start : start + len(args.seed)]
        if all("run" in member for member in members):  # former versions have written the line before
            append_result(args.results, {"run": "+".join(member["run"] for member in members), **result})
        result["variant"] = f"{first['variant']} ensemble of {len(alike)}".strip()  # a line of its own in the summary
        found.append(result)
    return found


def load_vectors(
    args: argparse.Namespace,
    jobs: Sequence[Job],
    texts_of: Callable[[Any], Iterable[str]],
    further_texts: Iterable[str] = (),
) -> WordVectors | None:
    """The word vectors that the texts can use."""
    if not args.vectors:
        return None
    vectorizer = TextVectorizer(tokenizer=choose_tokenizer(args, jobs[0].corpus), lowercase=not args.cased)
    parts = [part for job in jobs for part in (job.corpus.train, job.corpus.validation, job.corpus.test)]
    texts = itertools.chain(further_texts, *map(texts_of, parts))
    words = {word for text in texts for word in vectorizer.tokenize(text)}
    return load_word_vectors(args.vectors, words)


def choose_tokenizer(args: argparse.Namespace, corpus: Any) -> str:
    """The one asked for, or what fits the data set."""
    return args.tokenizer or tokenizer_of(corpus.name)


# One training.


def choose_settings(
    args: argparse.Namespace, job: Job, preset_name: str, preset: dict[str, Any], *further: str
) -> dict[str, Any]:
    """The preset with the options given; all that a resumed training must have in common."""
    settings = {name: preset[name] if vars(args)[name] is None else vars(args)[name] for name in preset}
    settings.pop("epochs")  # a resumed training may run longer
    if not settings["mlp_units"]:
        settings = {name: value for name, value in settings.items() if name not in MLP_SETTINGS}
    for name in ("plateau", "weight_decay"):
        if not settings.get(name):
            settings.pop(name, None)
    for name in ("encoder", "cased", "dtype", *further):
        settings[name] = vars(args)[name]
    settings["preset"] = preset_name
    settings["encoder_options"] = {**dict(args.encoder_option), **variant_options(job.variant)}
    settings["vectors"] = args.vectors and Path(args.vectors).name
    settings["tokenizer"] = choose_tokenizer(args, job.corpus)
    settings["seed"] = job.seed
    settings["backend"] = keras.backend.backend()
    # Compiling by XLA takes seconds for every length of sentence; it pays in long trainings.
    settings["jit_compile"] = settings["backend"] == "jax" if args.jit_compile is None else args.jit_compile
    return settings


def variant_options(variant: str) -> dict[str, Any]:
    """`lam=0.25,peephole=true` as options of the encoder."""
    return dict(option(part) for part in variant.split(",")) if variant else {}


def model_options(settings: dict[str, Any], vectors: WordVectors | None) -> dict[str, Any]:
    """The arguments that all models take."""
    return {
        "encoder": settings["encoder"],
        "units": settings["units"],
        "embedding_dim": settings["embedding_dim"] if vectors is None else vectors.dim,
        "trainable_embeddings": not settings["fixed_vectors"],
        "dropout": settings["dropout"],
        "word_dropout": settings["word_dropout"],
        "mlp_units": [settings["mlp_units"]] * settings["mlp_layers"] if "mlp_units" in settings else [],
        "mlp_dropout": settings.get("mlp_dropout", 0.0),
        "vectorizer": {"tokenizer": settings["tokenizer"], "lowercase": not settings["cased"]},
        "dtype": settings["dtype"],
    }


def make_optimizer(settings: dict[str, Any], batches: Batches) -> keras.optimizers.Optimizer:
    """Adam, whose learning rate falls by the factor `decay` every epoch, or on a plateau (see `fit`)."""
    rate = settings["learning_rate"]
    if "plateau" not in settings:
        rate = keras.optimizers.schedules.ExponentialDecay(
            rate, decay_steps=len(batches), decay_rate=settings["decay"], staircase=True
        )
    return keras.optimizers.Adam(rate, global_clipnorm=settings["clip"], weight_decay=settings.get("weight_decay"))


def fit(
    args: argparse.Namespace,
    run: TrainingRun,
    model: TextModel,
    batches: Batches,
    job: Job,
    settings: dict[str, Any],
    epochs: int,
    monitor: str = "val_accuracy",
) -> Results:
    """Train as the settings say, from where an interrupted training stood; what is to be kept of that."""
    stopwatch = Stopwatch(batches)
    callbacks: list[keras.callbacks.Callback] = [stopwatch]
    if "plateau" in settings:
        rate, factor = settings["learning_rate"], settings["decay"]
        callbacks.append(decay_on_plateau(run, rate, settings["plateau"], factor, monitor))
    validation = job.corpus.validation
    history = run.fit(
        model,
        batches,
        validation_data=(validation.texts, validation.labels),
        validation_batch_size=settings["batch_size"],
        epochs=args.epochs or epochs,
        monitor=monitor,
        patience=settings["patience"],
        save_every=getattr(args, "save_every", None),
        callbacks=callbacks,
        verbose=1 if sys.stdout.isatty() else 2,
    )
    measure = monitor.removeprefix("val_")
    best = report_best(run, monitor, f"development {measure}")
    return {
        f"development_{measure}": best,
        "best_epoch": run.best_epoch,
        "epochs": run.epochs_done,
        "seconds_per_epoch": stopwatch.seconds_per_epoch,
        "seconds_by_length": stopwatch.seconds_by_length,
        "history": history,
    }


def describe(job: Job, model: TextModel, run: TrainingRun, what: str) -> None:
    """Say what is trained on what."""
    corpus = job.corpus
    sizes = f"{len(corpus.train):,} / {len(corpus.validation):,} / {len(corpus.test):,}"
    labels = (
        f"{len(corpus.label_names)} labels"
        if corpus.label_names
        else "scores from {} to {}".format(*corpus.score_range)
    )
    print(f"{printable(corpus.name)}: {sizes} {what} to train / develop / test, {labels}")
    words = model.vectorizer.vocabulary_size
    print(f"{model.encoder.name}: {model.count_params():,} parameters, {words:,} words in the vocabulary")
    if run.epochs_done:
        print(f"Going on after epoch {run.epochs_done} of an interrupted training in {run.folder}")


def describe_coverage(model: TextModel, vectors: WordVectors | None, texts: Iterable[str]) -> Coverage | None:
    """Say how many of the words have a vector."""
    if vectors is None:
        return None
    coverage = vectors.coverage(Counter(word for text in texts for word in model.vectorizer.tokenize(text)))
    print(f"Word vectors: {coverage}")
    return coverage


def timed(function: Callable[..., Any], *arguments: Any, **options: Any) -> tuple[Any, float]:
    """Call a function; return its result and the seconds it took."""
    started = time.perf_counter()
    return function(*arguments, **options), time.perf_counter() - started


def report_labels(wanted: Sequence[str], found: Sequence[str], names: Sequence[str]) -> Results:
    """Print and return how well each label is found."""
    metrics = require("sklearn.metrics", "examples")
    accuracy = float(metrics.accuracy_score(wanted, found))
    options = {"labels": names, "zero_division": 0}
    report = metrics.classification_report(
        wanted, found, digits=3, target_names=[printable(name) for name in names], **options
    )
    print(f"Test accuracy {accuracy:.4f}\n\n{report}")
    columns = metrics.precision_recall_fscore_support(wanted, found, **options)
    measures = ("precision", "recall", "f1-score", "support")
    of_labels = {name: dict(zip(measures, map(float, row))) for name, row in zip(names, zip(*columns))}
    return {"test_accuracy": accuracy, "test_labels": of_labels}


def draw_confusion(wanted: Sequence[str], found: Sequence[str], names: Sequence[str], folder: Path) -> None:
    """Draw which labels are taken for which."""
    if is_chief():
        counts = require("sklearn.metrics", "examples").confusion_matrix(wanted, found, labels=names)
        draw(folder / "confusion.png", functools.partial(confusion_matrix, counts, names))


def keep_result(
    args: argparse.Namespace,
    run: TrainingRun,
    job: Job,
    encoder: str,
    coverage: Coverage | None,
    script: str,
    parser: argparse.ArgumentParser,
    found: Results,
) -> Results:
    """Write the results into the folder of the run, and as a line into the file of all results."""
    corpus = job.corpus
    result = {
        "data": Path(args.data).name if args.data else corpus.name,
        "split": {"seed": args.split_seed, "sizes": [len(p) for p in (corpus.train, corpus.validation, corpus.test)]},
        "fold": job.fold,
        "encoder": encoder + (f" ({job.variant})" if job.variant else ""),
        "variant": job.variant,
        "vectors": Path(args.vectors).name.removesuffix(".gz") if args.vectors else None,
        "coverage": coverage and [coverage.known_tokens / coverage.tokens, coverage.known_types / coverage.types],
        "seed": job.seed,
        "command": command(script, parser, args),
        **found,
    }
    return write_result(run, args.results, result)


def print_summary(results: Sequence[Results]) -> None:
    """A table of all data sets and variants, over their folds and seeds, and the mean of the data sets."""
    rows = defaultdict(list)
    for result in results:
        rows[result["data"], result.get("variant") or ""].append(result)
    measures = ["accuracy" if "test_accuracy" in runs[0] else "pearson" for runs in rows.values()]
    further = {name: head for name, head in FURTHER.items() if all(name in result for result in results)}
    heads = "".join(f" {head:>16}" for head in further.values())
    print(f"\n{'data':30} {'runs':>4} {'development':>13} {'test':>13}{heads}")
    means: dict[str, list[float]] = defaultdict(list)
    for ((data, variant), runs), measure in zip(rows.items(), measures):
        cells = []
        for part in ("development", "test"):
            mean, spread = mean_and_spread(100 * run[f"{part}_{measure}"] for run in runs)
            means[part].append(mean)
            cells.append(f"{mean:6.2f} ± {spread:4.2f}")
        more = (mean_and_spread(run[name] for run in runs) for name in further)
        ends = "".join(f"  {mean:8.2f} ± {spread:4.2f}" for mean, spread in more)
        print(f"{printable(f'{data} {variant}'.strip()):30} {len(runs):4} {cells[0]:>13} {cells[1]:>13}{ends}")
    alike = len(set(measures)) == 1 and len({variant for _, variant in rows}) == 1
    if len(rows) > 1 and alike:
        cells = [f"{mean_and_spread(values)[0]:6.2f}" for values in means.values()]
        print(f"{'mean':30} {len(results):4} {cells[0]:>13} {cells[1]:>13}")


# The command line.


def add_data_options(group: Any) -> None:
    """How the data is read, whatever it is."""
    group.add_argument("--dev-data", help="development set of --data (default: a tenth of it)")
    group.add_argument("--test-data", help="test set of --data (default: a tenth of it)")
    group.add_argument("--label-column", help="column of the label (default: label)")
    group.add_argument("--on-error", default="raise", choices=("raise", "skip"), help="what a malformed line does")
    group.add_argument("--data-dir", help="where TFDS keeps its data")
    group.add_argument("--manual-dir", help="folder with original files that were downloaded by hand")
    group.add_argument("--split-seed", type=int, default=0, help="seed of the parts that are drawn at random")
    group.add_argument("--tokenizer", choices=("words", "whitespace"), help="(whitespace for sets that are tokenised)")
    group.add_argument("--cased", action="store_true", help="keep upper and lower case apart")
    group.add_argument("--vectors", help="word vectors in GloVe's text format")


def add_model_options(
    parser: argparse.ArgumentParser,
    encoder: str,
    presets: dict[str, dict[str, Any]],
    of_model: Sequence[str],
    when: str,
) -> Any:
    """The model and its settings; `when` says which preset is the default."""
    group = parser.add_argument_group("model")
    group.add_argument("--encoder", default=encoder, choices=tuple(ENCODERS))
    group.add_argument("--encoder-option", nargs="+", default=[], type=option, metavar="NAME=VALUE",
                       help="further arguments of the encoder, such as num_layers=3")  # fmt: skip
    group.add_argument("--pooling", choices=tuple(POOLINGS), help="of the words, to a sentence vector (default: what"
                       " the encoder is known for)")  # fmt: skip
    group.add_argument("--variants", nargs="+", default=[], metavar="NAME=VALUE[,...]",
                       help="one training with each of these arguments of the encoder")  # fmt: skip
    group.add_argument("--preset", choices=tuple(presets), help=f"({when})")
    group.add_argument("--dtype", default="float32", help="such as mixed_bfloat16")
    add_preset_options(parser, presets, group, of_model)
    return group


def add_run_options(parser: argparse.ArgumentParser, folder: str) -> None:
    """The trainings and where they are kept."""
    run = parser.add_argument_group("run")
    run.add_argument("--seed", type=int, nargs="+", default=[0], help="one training for each")
    run.add_argument("--ensemble", action="store_true", help="average the models of all seeds as well")
    run.add_argument("--jit-compile", action=argparse.BooleanOptionalAction, help="compile by XLA")
    run.add_argument("--output", type=Path, help=f"folder of the run (default: {folder})")
    run.add_argument("--results", type=Path, help="file that gets a line (default: results.jsonl beside --output)")
    run.add_argument("--overwrite", action="store_true", help="delete what an earlier run left there")


def check_options(parser: argparse.ArgumentParser, args: argparse.Namespace, kinds: Collection[str]) -> None:
    """End the program where options do not make sense."""
    check_prediction_options(parser, args, kinds)
    for name in ("dev_data", "test_data"):
        if vars(args)[name] and not args.data:
            parser.error(f"--{name.replace('_', '-')} goes with --data, a file")
    if args.fixed_vectors and not args.vectors:
        parser.error("--fixed-vectors needs --vectors")
    if args.ensemble and len(args.seed) < 2:
        parser.error("--ensemble needs several seeds")
    for variant in args.variants:
        try:
            variant_options(variant)
        except argparse.ArgumentTypeError as error:
            parser.error(f"--variants: {error}")
