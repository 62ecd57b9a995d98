"""Train a sentence classifier on labelled text, evaluate it, save it, and use it.

The embedded corpus of travel-desk requests (no download), then a sentence of your own with the saved model:

    python examples/classify_text.py
    python examples/classify_text.py --model runs/travel_desk-slstm/model.keras --predict "I need a car"

Your own data (columns `text` and `label`), another encoder, a data set of TFDS, the settings of the paper:

    python examples/classify_text.py --data mails.tsv --output runs/mails
    python examples/classify_text.py --encoder bilstm --attention
    python examples/classify_text.py --dataset ag_news_subset
    python examples/classify_text.py --dataset movie_review --tokenizer whitespace --preset paper

A training that was interrupted goes on when the same command is run again. A finished one is kept: choose
another `--output`, or say `--overwrite`.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # TensorFlow is talkative

import keras

from keras_slstm.data.batches import TextBatches
from keras_slstm.data.corpus import Corpus, load_corpus
from keras_slstm.data.readers import file_kind, read_lines
from keras_slstm.extras import require
from keras_slstm.files import write_json
from keras_slstm.models.encoders import ENCODERS
from keras_slstm.models.sentence_classifier import SentenceClassifier
from keras_slstm.plots import confusion_matrix
from keras_slstm.training import TrainingRun, fingerprint

PRESETS: dict[str, dict[str, Any]] = {
    # Minutes on two cores.
    "small": {
        "units": 64, "embedding_dim": 64, "steps": 4, "window": 2, "sentence_nodes": 1,
        "dropout": 0.1, "word_dropout": 0.02, "l2": 0.0,
        "learning_rate": 4e-3, "decay": 0.9, "clip": 3.0,
        "batch_size": 32, "epochs": 8, "patience": 3,
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
# What stands for a place on one machine: `command` shows PATH, or leaves it out.
FILE_OPTIONS = ("data", "dev_data", "test_data", "manual_dir")
LEFT_OUT = ("output", "data_dir", "overwrite")
SLSTM_OPTIONS = ("steps", "window", "sentence_nodes")

# For the embedded corpus: worded otherwise than its grammar would.
TRAVEL_SENTENCES = [
    "Could you please book me a flight from Oslo to Rome on Friday?",
    "Cancel the hotel in Paris, but leave my flight as it is.",
    "We do not want to cancel the car, we want to change it.",
]


def main() -> int:
    """Train, or predict with a saved model; the exit status."""
    args = parse_arguments()
    try:
        return predict(args) if args.model else train(args)
    except KeyboardInterrupt:
        if not args.model:
            same = "same command without --overwrite" if args.overwrite else "same command"
            print(f"\nInterrupted. The {same} goes on after the last finished epoch.", file=sys.stderr)
        return 130


def train(args: argparse.Namespace) -> int:
    """Train, evaluate on the test set, save, and classify a few sentences."""
    settings = choose_settings(args)
    try:
        metrics = require("sklearn.metrics", "examples")
        require("matplotlib", "plots")
        corpus = load_data(args)
        model, batches = build_model(args, settings, corpus)
        parts = (corpus.train, corpus.validation)
        settings["data"] = fingerprint(*(column for part in parts for column in (part.texts, part.labels)))
        run = TrainingRun(args.output, settings, overwrite=args.overwrite)
    except (ValueError, OSError, ImportError) as error:
        return fail(error)

    describe(corpus, model, run)
    history = run.fit(
        model,
        batches,
        validation_data=(corpus.validation.texts, corpus.validation.labels),
        validation_batch_size=settings["batch_size"],
        epochs=args.epochs or PRESETS[args.preset]["epochs"],
        patience=settings["patience"],
        verbose=1 if sys.stdout.isatty() else 2,
    )

    predicted = model.classify(corpus.test.texts)
    counts = metrics.confusion_matrix(corpus.test.labels, predicted, labels=corpus.label_names)
    accuracy = metrics.accuracy_score(corpus.test.labels, predicted)
    report = metrics.classification_report(
        corpus.test.labels, predicted, labels=corpus.label_names, digits=3, zero_division=0
    )
    best = run.best_epoch
    print(f"\nBest epoch {best}: development accuracy {history['val_accuracy'][best - 1]:.4f}")
    print(f"Test accuracy {accuracy:.4f}\n\n{report}")

    confusion_matrix(counts, corpus.label_names, run.folder / "confusion.png")
    write_json(
        run.folder / "results.json",
        {
            "data": Path(args.data).name if args.data else corpus.name,
            "encoder": args.encoder + (" + attention" if args.attention else ""),
            "development_accuracy": history["val_accuracy"][best - 1],
            "test_accuracy": accuracy,
            "best_epoch": best,
            "epochs": run.epochs_done,
            "parameters": model.count_params(),
            "command": command(args),
            "settings": settings,
            "history": history,
        },
    )
    print(f"Saved {run.save(model)} (confusion matrix beside it)\n")
    own = TRAVEL_SENTENCES if corpus.name == "travel_desk" else corpus.test.texts[:3]
    show(model, args.predict or own)
    return 0


def load_data(args: argparse.Namespace) -> Corpus:
    """The corpus that the command line asks for."""
    if args.data:
        file_kind(args.data)  # else the name of a missing file could be taken for that of a data set
    return load_corpus(
        args.data or args.dataset,
        data_dir=args.data_dir,
        manual_dir=args.manual_dir,
        seed=args.seed,
        validation_path=args.dev_data,
        test_path=args.test_data,
        text_column=args.text_column,
        label_column=args.label_column,
        on_error=args.on_error,
    )


def build_model(
    args: argparse.Namespace, settings: dict[str, Any], corpus: Corpus
) -> tuple[SentenceClassifier, TextBatches]:
    """The compiled model with its vocabulary, and the batches to train it on."""
    keras.utils.set_random_seed(args.seed)
    model = SentenceClassifier(
        corpus.label_names,
        encoder=args.encoder,
        units=settings["units"],
        encoder_options={name: settings[name] for name in SLSTM_OPTIONS if name in settings},
        pooling="attention" if args.attention else None,
        embedding_dim=settings["embedding_dim"],
        dropout=settings["dropout"],
        word_dropout=settings["word_dropout"],
        kernel_regularizer=keras.regularizers.L2(settings["l2"]),
        vectorizer={"tokenizer": args.tokenizer},
    )
    model.adapt(corpus.train.texts)
    batch_size = settings["batch_size"]
    batches = model.batches(corpus.train.texts, corpus.train.labels, batch_size=batch_size, seed=args.seed)
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


def choose_settings(args: argparse.Namespace) -> dict[str, Any]:
    """The preset with the options given; all that a resumed training must have in common."""
    preset = PRESETS[args.preset]
    settings = {name: preset[name] if vars(args)[name] is None else vars(args)[name] for name in preset}
    if args.encoder != "slstm":
        settings = {name: value for name, value in settings.items() if name not in SLSTM_OPTIONS}
    settings.pop("epochs")  # a resumed training may run longer
    for name in ("encoder", "attention", "tokenizer", "seed"):
        settings[name] = vars(args)[name]
    settings["backend"] = keras.backend.backend()
    # Compiling by XLA takes seconds for every length of sentence; it pays in long trainings.
    settings["jit_compile"] = settings["backend"] == "jax" if args.jit_compile is None else args.jit_compile
    return settings


def command(args: argparse.Namespace) -> str:
    """The command that was given, to be repeated elsewhere: without the places of one machine."""
    words = ["python", "examples/classify_text.py"]
    parser = make_parser()
    for name, value in vars(args).items():
        option = name.replace("_", "-")
        if name in LEFT_OUT or value == parser.get_default(name):
            continue
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        else:
            values = ["PATH"] if name in FILE_OPTIONS else value if isinstance(value, list) else [value]
            for each in values:
                words += [f"--{option}", str(each)]
    return shlex.join(words)


def fail(error: Exception) -> int:
    """Say what is wrong in one line; the exit status of bad input."""
    print(" ".join(str(error).replace("overwrite=True", "--overwrite").split()), file=sys.stderr)
    return 2


def make_parser() -> argparse.ArgumentParser:
    """All options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    data = parser.add_argument_group("data")
    data.add_argument("--dataset", default="travel_desk", help="travel_desk, movie_review, or any name of TFDS")
    data.add_argument("--data", help="your own .tsv, .csv or .jsonl file, instead of --dataset")
    data.add_argument("--dev-data", help="development set of --data (default: a tenth of it)")
    data.add_argument("--test-data", help="test set of --data (default: a tenth of it)")
    data.add_argument("--text-column", help="column of the text (default: text)")
    data.add_argument("--label-column", help="column of the label (default: label)")
    data.add_argument("--on-error", default="raise", choices=("raise", "skip"), help="what a malformed line does")
    data.add_argument("--data-dir", help="where TFDS keeps its data")
    data.add_argument("--manual-dir", help="folder with original files that were downloaded by hand")
    data.add_argument("--tokenizer", default="words", choices=("words", "whitespace"))

    model = parser.add_argument_group("model")
    model.add_argument("--encoder", default="slstm", choices=tuple(ENCODERS))
    model.add_argument("--attention", action="store_true", help="attention over the words as sentence vector")
    model.add_argument("--preset", default="small", choices=tuple(PRESETS))
    for name, value in PRESETS["small"].items():
        both = f"{value} small, {PRESETS['paper'][name]} paper"
        group = model if name in ("units", "embedding_dim", "dropout", *SLSTM_OPTIONS) else parser
        group.add_argument(f"--{name.replace('_', '-')}", type=type(value), help=f"({both})")

    run = parser.add_argument_group("run")
    run.add_argument("--seed", type=int, default=0)
    run.add_argument("--jit-compile", action=argparse.BooleanOptionalAction, help="compile by XLA")
    run.add_argument("--output", type=Path, help="folder of the run (default: runs/DATA-ENCODER)")
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
    if args.model and not (args.predict or args.predict_file):
        parser.error("--model needs --predict or --predict-file")
    if args.predict_file and not args.model:
        parser.error("--predict-file needs --model")
    for name in SLSTM_OPTIONS:
        if vars(args)[name] is not None and args.encoder != "slstm":
            parser.error(f"--{name.replace('_', '-')} belongs to --encoder slstm, not {args.encoder}")
    if args.output is None:
        source = Path(args.data or args.dataset).name.split(".")[0]
        args.output = Path("runs", f"{source}-{args.encoder}{'-attention' if args.attention else ''}")
    return args


if __name__ == "__main__":
    sys.exit(main())
