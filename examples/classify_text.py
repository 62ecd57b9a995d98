"""Train a sentence classifier on labelled text, evaluate it, save it, and use it.

The embedded corpus of travel-desk requests (no download), then a sentence of your own with the saved model:

    python examples/classify_text.py
    python examples/classify_text.py --model runs/travel_desk-slstm/model.keras --predict "I need a car"

Your own data (columns `text` and `label`), another encoder, data sets of the papers with their settings, word
vectors, several seeds, ten folds, all domains one after the other (a table and the mean at the end):

    python examples/classify_text.py --data mails.tsv --output runs/mails
    python examples/classify_text.py --encoder bilstm --attention
    python examples/classify_text.py --dataset movie_review --vectors glove.6B.300d.txt --seed 0 1 2
    python examples/classify_text.py --dataset subj --folds 10
    python examples/classify_text.py --dataset fdu_mtl/all

A training that was interrupted goes on when the same command is run again. A finished one is kept: choose another
`--output`, or say `--overwrite`. Every run appends a line to `results.jsonl` beside its folder.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # TensorFlow is talkative

import keras
from _common import add_preset_options, check_prediction_options, command, fail, option, short_name

from keras_slstm.data.batches import TextBatches
from keras_slstm.data.corpus import Corpus, load_corpus, load_folds
from keras_slstm.data.readers import file_kind, read_lines
from keras_slstm.data.text import TextVectorizer
from keras_slstm.data.vectors import WordVectors, load_word_vectors
from keras_slstm.extras import require
from keras_slstm.files import write_json
from keras_slstm.models.encoders import ENCODERS
from keras_slstm.models.sentence_classifier import SentenceClassifier
from keras_slstm.plots import confusion_matrix
from keras_slstm.results import Stopwatch, append_result, mean_and_spread, right_by_length
from keras_slstm.training import TrainingRun, fingerprint

PRESETS: dict[str, dict[str, Any]] = {
    # Minutes on two cores.
    "small": {
        "units": 64, "embedding_dim": 64, "steps": 6, "window": 3, "sentence_nodes": 1,
        "dropout": 0.1, "word_dropout": 0.02, "l2": 0.0,
        "learning_rate": 4e-3, "decay": 0.9, "clip": 3.0,
        "batch_size": 32, "epochs": 6, "patience": 3,
    },
    # Zhang, Liu, Song (ACL 2018). The gradient's global norm is clipped, as in the authors' code. The paper
    # does not say what its L2 of 0.001 acts on: here on the classifier's W. On the word vectors, Adam would
    # turn it into a steady shrinking of all the words that a batch does not hold.
    "paper": {
        "units": 300, "embedding_dim": 300, "steps": 9, "window": 1, "sentence_nodes": 1,
        "dropout": 0.5, "word_dropout": 0.0, "l2": 1e-3,
        "learning_rate": 1e-3, "decay": 0.97, "clip": 3.0,
        "batch_size": 10, "epochs": 20, "patience": 5,
    },
}  # fmt: skip
SLSTM_OPTIONS = ("steps", "window", "sentence_nodes")
# Texts that are published tokenised.
TOKENISED = ("movie_review", "subj", "cr", "mpqa", "sst", "trec", "fdu_mtl")

# For the embedded corpus: worded otherwise than its grammar would.
TRAVEL_SENTENCES = [
    "Could you please book me a flight from Oslo to Rome on Friday?",
    "Cancel the hotel in Paris, but leave my flight as it is.",
    "We do not want to cancel the car, we want to change it.",
]


class Job(NamedTuple):
    """One training among those that a command asks for."""

    corpus: Corpus
    fold: int | None
    seed: int
    folder: Path


def main() -> int:
    """Train, or predict with a saved model; the exit status."""
    args = parse_arguments()
    try:
        return predict(args) if args.model else train_all(args)
    except KeyboardInterrupt:
        if not args.model:
            same = "same command without --overwrite" if args.overwrite else "same command"
            print(f"\nInterrupted. The {same} goes on after the last finished epoch.", file=sys.stderr)
        return 130


def train_all(args: argparse.Namespace) -> int:
    """Train once for each data set, fold and seed."""
    try:
        require("sklearn.metrics", "examples")
        require("matplotlib", "plots")
        jobs = plan(args)
        vectors = load_vectors(args, jobs)
    except (ValueError, OSError, ImportError) as error:
        return fail(error)
    results = []
    for job in jobs:
        if len(jobs) > 1:
            print(f"\n--- {job.folder.name}")
            if (job.folder / "model.keras").exists() and not args.overwrite:
                print("finished before")
                results.append(json.loads((job.folder / "results.json").read_text(encoding="utf-8")))
                continue
        try:
            results.append(train(args, job, vectors))
        except (ValueError, OSError) as error:
            return fail(error)
    if len(jobs) > 1:
        print_summary(results)
    return 0


def plan(args: argparse.Namespace) -> list[Job]:
    """All trainings that the command line asks for."""
    corpora: list[tuple[Corpus, int | None]] = []
    for name in data_names(args):
        options = {
            "data_dir": args.data_dir,
            "manual_dir": args.manual_dir,
            "seed": args.split_seed,
            "text_column": args.text_column,
            "label_column": args.label_column,
            "on_error": args.on_error,
        }
        if args.folds:
            corpora += [(corpus, i) for i, corpus in enumerate(load_folds(name, args.folds, **options), start=1)]
        else:
            files = {"validation_path": args.dev_data, "test_path": args.test_data} if args.data else {}
            corpora.append((load_corpus(name, **options, **files), None))
    several = len(corpora) * len(args.seed) > 1
    jobs = []
    for corpus, fold in corpora:
        for seed in args.seed:
            words = [short_name(corpus.name), f"fold{fold}" if fold else "", f"seed{seed}"]
            folder = args.output / "-".join(filter(None, words)) if several else args.output
            jobs.append(Job(corpus, fold, seed, folder))
    return jobs


def data_names(args: argparse.Namespace) -> list[str]:
    """The data sets, or the one file."""
    if args.data:
        file_kind(args.data)  # else the name of a missing file could be taken for that of a data set
        return [args.data]
    names = []
    for name in args.dataset:
        if name == "fdu_mtl/all":  # every domain is a data set of its own, as in the paper's Table 5
            from keras_slstm.data.builders.fdu_mtl import DOMAINS

            names += [f"fdu_mtl/{domain}" for domain in DOMAINS]
        else:
            names.append(name)
    return names


def load_vectors(args: argparse.Namespace, jobs: list[Job]) -> WordVectors | None:
    """The word vectors that the texts can use."""
    if not args.vectors:
        return None
    vectorizer = TextVectorizer(tokenizer=choose_tokenizer(args, jobs[0].corpus), lowercase=not args.cased)
    parts = [part for job in jobs for part in (job.corpus.train, job.corpus.validation, job.corpus.test)]
    words = {word for part in parts for text in part.texts for word in vectorizer.tokenize(text)}
    return load_word_vectors(args.vectors, words)


def train(args: argparse.Namespace, job: Job, vectors: WordVectors | None) -> dict[str, Any]:
    """Train, evaluate on the test set, save, and classify a few sentences; what was found."""
    metrics = require("sklearn.metrics", "examples")
    corpus = job.corpus
    settings = choose_settings(args, job)
    model, batches = build_model(settings, job, vectors)
    parts = (corpus.train, corpus.validation)
    settings["data"] = fingerprint(*(column for part in parts for column in (part.texts, part.labels)))
    run = TrainingRun(job.folder, settings, overwrite=args.overwrite)

    describe(corpus, model, run)
    coverage = None
    if vectors is not None:
        words = Counter(word for text in corpus.train.texts for word in model.vectorizer.tokenize(text))
        coverage = vectors.coverage(words)
        print(f"Word vectors: {coverage}")
    stopwatch = Stopwatch(batches)
    history = run.fit(
        model,
        batches,
        validation_data=(corpus.validation.texts, corpus.validation.labels),
        validation_batch_size=settings["batch_size"],
        epochs=args.epochs or PRESETS[settings["preset"]]["epochs"],
        patience=settings["patience"],
        callbacks=[stopwatch],
        verbose=1 if sys.stdout.isatty() else 2,
    )

    started = time.perf_counter()
    predicted = model.classify(corpus.test.texts)
    seconds = time.perf_counter() - started
    counts = metrics.confusion_matrix(corpus.test.labels, predicted, labels=corpus.label_names)
    accuracy = metrics.accuracy_score(corpus.test.labels, predicted)
    report = metrics.classification_report(
        corpus.test.labels, predicted, labels=corpus.label_names, digits=3, zero_division=0
    )
    best = run.best_epoch
    print(f"\nBest epoch {best}: development accuracy {history['val_accuracy'][best - 1]:.4f}")
    print(f"Test accuracy {accuracy:.4f}\n\n{report}")

    confusion_matrix(counts, corpus.label_names, run.folder / "confusion.png")
    lengths = [len(model.vectorizer.tokenize(text)) for text in corpus.test.texts]
    right = [wanted == found for wanted, found in zip(corpus.test.labels, predicted)]
    result = {
        "data": Path(args.data).name if args.data else corpus.name,
        "split": {"seed": args.split_seed, "sizes": [len(p) for p in (corpus.train, corpus.validation, corpus.test)]},
        "fold": job.fold,
        "encoder": args.encoder + (" + attention" if args.attention else ""),
        "vectors": Path(args.vectors).name.removesuffix(".gz") if args.vectors else None,
        "coverage": coverage and [coverage.known_tokens / coverage.tokens, coverage.known_types / coverage.types],
        "seed": job.seed,
        "development_accuracy": history["val_accuracy"][best - 1],
        "test_accuracy": accuracy,
        "best_epoch": best,
        "epochs": run.epochs_done,
        "parameters": model.count_params(),
        "seconds_per_epoch": stopwatch.seconds_per_epoch,
        "test_seconds": seconds,
        "right_by_length": right_by_length(lengths, right),
        "seconds_by_length": stopwatch.seconds_by_length,
        "command": command("classify_text.py", make_parser(), args),
        "settings": settings,
        "history": history,
    }
    write_json(run.folder / "results.json", result)
    append_result(args.results, result)
    print(f"Saved {run.save(model)} (confusion matrix beside it)\n")
    own = TRAVEL_SENTENCES if corpus.name == "travel_desk" else corpus.test.texts[:3]
    show(model, args.predict or own)
    return result


def print_summary(results: list[dict[str, Any]]) -> None:
    """A table of all data sets, over their folds and seeds, and the mean of the data sets."""
    by_data = defaultdict(list)
    for result in results:
        by_data[result["data"]].append(result)
    print(f"\n{'data':30} {'runs':>4} {'development':>13} {'test':>13}")
    means: dict[str, list[float]] = defaultdict(list)
    for name, runs in by_data.items():
        cells = []
        for key in ("development_accuracy", "test_accuracy"):
            mean, spread = mean_and_spread(100 * run[key] for run in runs)
            means[key].append(mean)
            cells.append(f"{mean:6.2f} ± {spread:4.2f}")
        print(f"{name:30} {len(runs):4} {cells[0]:>13} {cells[1]:>13}")
    if len(by_data) > 1:
        cells = [f"{mean_and_spread(values)[0]:6.2f}" for values in means.values()]
        print(f"{'mean':30} {len(results):4} {cells[0]:>13} {cells[1]:>13}")


def build_model(
    settings: dict[str, Any], job: Job, vectors: WordVectors | None
) -> tuple[SentenceClassifier, TextBatches]:
    """The compiled model with its vocabulary, and the batches to train it on."""
    keras.utils.set_random_seed(job.seed)
    options = {name: settings[name] for name in SLSTM_OPTIONS if name in settings}
    model = SentenceClassifier(
        job.corpus.label_names,
        encoder=settings["encoder"],
        units=settings["units"],
        encoder_options={**options, **settings["encoder_options"]},
        pooling="attention" if settings["attention"] else None,
        embedding_dim=settings["embedding_dim"] if vectors is None else vectors.dim,
        trainable_embeddings=not settings["fixed_vectors"],
        dropout=settings["dropout"],
        word_dropout=settings["word_dropout"],
        kernel_regularizer=keras.regularizers.L2(settings["l2"]),
        vectorizer={"tokenizer": settings["tokenizer"], "lowercase": not settings["cased"]},
        dtype=settings["dtype"],
    )
    texts, labels = job.corpus.train.texts, job.corpus.train.labels
    model.adapt(texts, vectors)
    batches = model.batches(texts, labels, batch_size=settings["batch_size"], seed=job.seed)
    learning_rate = keras.optimizers.schedules.ExponentialDecay(
        settings["learning_rate"], decay_steps=len(batches), decay_rate=settings["decay"], staircase=True
    )
    model.compile(
        keras.optimizers.Adam(learning_rate, global_clipnorm=settings["clip"]),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
        jit_compile=settings["jit_compile"],
    )
    return model, batches


def predict(args: argparse.Namespace) -> int:
    """Classify texts with a saved model."""
    try:
        model = keras.saving.load_model(args.model)
        if not isinstance(model, SentenceClassifier):
            raise ValueError(f"{args.model} holds a {type(model).__name__}, not a SentenceClassifier")
        texts = args.predict + (list(read_lines(args.predict_file)) if args.predict_file else [])
    except (ValueError, OSError, TypeError) as error:  # TypeError: Keras, of a class that it does not know
        return fail(error)
    show(model, texts)
    return 0


def show(model: SentenceClassifier, texts: list[str]) -> None:
    """Print label, probability and text of each text, separated by tabs."""
    labels, probabilities = model.classify(texts, return_probabilities=True)
    for label, row, text in zip(labels, probabilities, texts):
        print(f"{label}\t{row.max():.3f}\t{text}")


def describe(corpus: Corpus, model: SentenceClassifier, run: TrainingRun) -> None:
    """Say what is trained on what."""
    sizes = f"{len(corpus.train):,} / {len(corpus.validation):,} / {len(corpus.test):,}"
    print(f"{corpus.name}: {sizes} texts to train / develop / test, {len(corpus.label_names)} labels")
    words = model.vectorizer.vocabulary_size
    print(f"{model.encoder.name}: {model.count_params():,} parameters, {words:,} words in the vocabulary")
    if run.epochs_done:
        print(f"Going on after epoch {run.epochs_done} of an interrupted training in {run.folder}")


def choose_settings(args: argparse.Namespace, job: Job) -> dict[str, Any]:
    """The preset with the options given; all that a resumed training must have in common."""
    name = args.preset or ("small" if args.data or job.corpus.name == "travel_desk" else "paper")
    preset = PRESETS[name]
    settings = {name: preset[name] if vars(args)[name] is None else vars(args)[name] for name in preset}
    if args.encoder != "slstm":
        settings = {name: value for name, value in settings.items() if name not in SLSTM_OPTIONS}
    settings.pop("epochs")  # a resumed training may run longer
    for option_name in ("encoder", "attention", "fixed_vectors", "cased", "dtype"):
        settings[option_name] = vars(args)[option_name]
    settings["preset"] = name
    settings["encoder_options"] = dict(args.encoder_option)
    settings["vectors"] = args.vectors and Path(args.vectors).name
    settings["tokenizer"] = choose_tokenizer(args, job.corpus)
    settings["seed"] = job.seed
    settings["backend"] = keras.backend.backend()
    # Compiling by XLA takes seconds for every length of sentence; it pays in long trainings.
    settings["jit_compile"] = settings["backend"] == "jax" if args.jit_compile is None else args.jit_compile
    return settings


def choose_tokenizer(args: argparse.Namespace, corpus: Corpus) -> str:
    """The one asked for, or what fits the data set."""
    return args.tokenizer or ("whitespace" if corpus.name.split("/")[0] in TOKENISED else "words")


def make_parser() -> argparse.ArgumentParser:
    """All options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    data = parser.add_argument_group("data")
    data.add_argument(
        "--dataset",
        nargs="+",
        default=["travel_desk"],
        metavar="NAME",
        help="travel_desk, movie_review, any of TFDS ...",
    )
    data.add_argument("--data", help="your own .tsv, .csv or .jsonl file, instead of --dataset")
    data.add_argument("--dev-data", help="development set of --data (default: a tenth of it)")
    data.add_argument("--test-data", help="test set of --data (default: a tenth of it)")
    data.add_argument("--text-column", help="column of the text (default: text)")
    data.add_argument("--label-column", help="column of the label (default: label)")
    data.add_argument("--on-error", default="raise", choices=("raise", "skip"), help="what a malformed line does")
    data.add_argument("--data-dir", help="where TFDS keeps its data")
    data.add_argument("--manual-dir", help="folder with original files that were downloaded by hand")
    data.add_argument("--folds", type=int, help="cross-validation, for a data set without a test part")
    data.add_argument("--split-seed", type=int, default=0, help="seed of the parts that are drawn at random")
    data.add_argument("--tokenizer", choices=("words", "whitespace"), help="(whitespace for sets that are tokenised)")
    data.add_argument("--cased", action="store_true", help="keep upper and lower case apart")
    data.add_argument("--vectors", help="word vectors in GloVe's text format")
    data.add_argument("--fixed-vectors", action="store_true", help="do not train them")

    model = parser.add_argument_group("model")
    model.add_argument("--encoder", default="slstm", choices=tuple(ENCODERS))
    model.add_argument("--attention", action="store_true", help="attention over the words as sentence vector")
    model.add_argument("--encoder-option", nargs="+", default=[], type=option, metavar="NAME=VALUE",
                       help="further arguments of the encoder, such as num_layers=3")  # fmt: skip
    model.add_argument("--preset", choices=tuple(PRESETS), help="(small for travel_desk and --data, else paper)")
    model.add_argument("--dtype", default="float32", help="such as mixed_bfloat16")
    add_preset_options(parser, PRESETS, model, ("units", "embedding_dim", "dropout", *SLSTM_OPTIONS))

    run = parser.add_argument_group("run")
    run.add_argument("--seed", type=int, nargs="+", default=[0], help="one training for each")
    run.add_argument("--jit-compile", action=argparse.BooleanOptionalAction, help="compile by XLA")
    run.add_argument("--output", type=Path, help="folder of the run (default: runs/DATA-ENCODER)")
    run.add_argument("--results", type=Path, help="file that gets a line (default: results.jsonl beside --output)")
    run.add_argument("--overwrite", action="store_true", help="delete what an earlier run left there")

    use = parser.add_argument_group("prediction")
    use.add_argument("--model", help="a saved .keras file: no training, only predictions")
    use.add_argument("--predict", action="append", default=[], metavar="TEXT", help="may be repeated")
    use.add_argument("--predict-file", metavar="FILE", help="one text a line")

    return parser


def parse_arguments() -> argparse.Namespace:
    """The command line, with a default for `--output`."""
    parser = make_parser()
    args = parser.parse_args()
    if args.epochs is not None and args.epochs < 1:
        parser.error(f"--epochs must be at least 1, but got {args.epochs}")
    check_prediction_options(parser, args)
    for name in SLSTM_OPTIONS:
        if vars(args)[name] is not None and args.encoder != "slstm":
            parser.error(f"--{name.replace('_', '-')} belongs to --encoder slstm, not {args.encoder}")
    if args.folds is not None and args.folds < 2:
        parser.error(f"--folds must be at least 2, but got {args.folds}")
    if args.fixed_vectors and not args.vectors:
        parser.error("--fixed-vectors needs --vectors")
    if args.output is None:
        source = "-".join(map(short_name, [args.data] if args.data else args.dataset))
        args.output = Path("runs", f"{source}-{args.encoder}{'-attention' if args.attention else ''}")
    args.results = args.results or args.output.parent / "results.jsonl"
    return args


if __name__ == "__main__":
    sys.exit(main())
