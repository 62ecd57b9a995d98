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

Cell-aware stacked LSTMs on sentiment, trained on all phrases, with the settings of their paper:

    python examples/classify_text.py --dataset sst/phrases_2 --encoder bi_caslstm --vectors glove.840B.300d.txt

A training that was interrupted goes on when the same command is run again. A finished one is kept: choose another
`--output`, or say `--overwrite`. Every run appends a line to `results.jsonl` beside its folder.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # TensorFlow is talkative

import keras
from _classification import (
    Job,
    Results,
    add_data_options,
    add_model_options,
    add_run_options,
    check_options,
    choose_settings,
    describe,
    describe_coverage,
    fit,
    keep_result,
    make_optimizer,
    model_options,
    plan_jobs,
    report_labels,
    run_script,
    timed,
    train_jobs,
)
from _common import fail, short_name

from keras_slstm.data.batches import TextBatches
from keras_slstm.data.corpus import Corpus, load_corpus, load_folds
from keras_slstm.data.readers import file_kind, read_lines
from keras_slstm.data.vectors import WordVectors
from keras_slstm.models.sentence_classifier import SentenceClassifier
from keras_slstm.results import right_by_length
from keras_slstm.training import TrainingRun, fingerprint

PRESETS: dict[str, dict[str, Any]] = {
    # Minutes on two cores.
    "small": {
        "units": 64, "embedding_dim": 64, "steps": 6, "window": 3, "sentence_nodes": 1,
        "mlp_units": 0, "mlp_layers": 1, "dropout": 0.1, "mlp_dropout": 0.0, "word_dropout": 0.02, "l2": 0.0,
        "learning_rate": 4e-3, "decay": 0.9, "plateau": 0, "clip": 3.0,
        "batch_size": 32, "epochs": 6, "patience": 3,
    },
    # Zhang, Liu, Song (ACL 2018). The gradient's global norm is clipped, as in the authors' code. The paper
    # does not say what its L2 of 0.001 acts on: here on the classifier's W. On the word vectors, Adam would
    # turn it into a steady shrinking of all the words that a batch does not hold.
    "paper": {
        "units": 300, "embedding_dim": 300, "steps": 9, "window": 1, "sentence_nodes": 1,
        "mlp_units": 0, "mlp_layers": 1, "dropout": 0.5, "mlp_dropout": 0.0, "word_dropout": 0.0, "l2": 1e-3,
        "learning_rate": 1e-3, "decay": 0.97, "plateau": 0, "clip": 3.0,
        "batch_size": 10, "epochs": 20, "patience": 5,
    },
    # Choi, Kim, Lee (ACML 2019) on SST; dropout, optimizer and batches from the authors' code. The learning rate is
    # halved after an epoch that is no better than those before.
    "cas-lstm": {
        "units": 300, "embedding_dim": 300, "steps": 9, "window": 1, "sentence_nodes": 1,
        "mlp_units": 300, "mlp_layers": 1, "dropout": 0.5, "mlp_dropout": 0.5, "word_dropout": 0.0, "l2": 0.0,
        "learning_rate": 1e-3, "decay": 0.5, "plateau": 1, "clip": 5.0,
        "batch_size": 128, "epochs": 20, "patience": 5,
    },
}  # fmt: skip
SLSTM_OPTIONS = ("steps", "window", "sentence_nodes")

# For the embedded corpus: worded otherwise than its grammar would.
TRAVEL_SENTENCES = [
    "Could you please book me a flight from Oslo to Rome on Friday?",
    "Cancel the hotel in Paris, but leave my flight as it is.",
    "We do not want to cancel the car, we want to change it.",
]


def main() -> int:
    """Train, or predict with a saved model; the exit status."""
    return run_script(parse_arguments(), train_all, predict)


def train_all(args: argparse.Namespace) -> int:
    """Train once for each data set, fold, variant and seed."""
    return train_jobs(args, plan, lambda part: part.texts, train)


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
    return plan_jobs(args, corpora)


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


def train(args: argparse.Namespace, job: Job, vectors: WordVectors | None) -> Results:
    """Train, evaluate on the test set, save, and classify a few sentences; what was found."""
    corpus = job.corpus
    preset = args.preset or default_preset(args, corpus)
    settings = choose_settings(args, job, preset, PRESETS[preset], "attention", "fixed_vectors")
    if args.encoder != "slstm":
        settings = {name: value for name, value in settings.items() if name not in SLSTM_OPTIONS}
    model, batches = build_model(settings, job, vectors)
    parts = (corpus.train, corpus.validation)
    settings["data"] = fingerprint(*(column for part in parts for column in (part.texts, part.labels)))
    run = TrainingRun(job.folder, settings, overwrite=args.overwrite)
    describe(job, model, run, "texts")
    coverage = describe_coverage(model, vectors, corpus.train.texts)
    trained = fit(args, run, model, batches, job, settings, PRESETS[preset]["epochs"])

    predicted, seconds = timed(model.classify, corpus.test.texts)
    report = report_labels(corpus.test.labels, predicted, corpus.label_names, run.folder)
    lengths = [len(model.vectorizer.tokenize(text)) for text in corpus.test.texts]
    found = {
        **trained,
        **report,
        "parameters": model.count_params(),
        "test_seconds": seconds,
        "right_by_length": right_by_length(lengths, [a == b for a, b in zip(corpus.test.labels, predicted)]),
        "settings": settings,
    }
    encoder = args.encoder + (" + attention" if args.attention else "")
    result = keep_result(args, run, job, encoder, coverage, "classify_text.py", make_parser(), found)
    print(f"Saved {run.save(model)} (confusion matrix beside it)\n")
    own = TRAVEL_SENTENCES if corpus.name == "travel_desk" else corpus.test.texts[:3]
    show(model, args.predict or own)
    return result


def default_preset(args: argparse.Namespace, corpus: Corpus) -> str:
    """The settings of the encoder's paper; on a corpus of another kind, what is done soon."""
    if args.data or corpus.name == "travel_desk":
        return "small"
    return "cas-lstm" if args.encoder in ("caslstm", "bi_caslstm") else "paper"


def build_model(
    settings: dict[str, Any], job: Job, vectors: WordVectors | None
) -> tuple[SentenceClassifier, TextBatches]:
    """The compiled model with its vocabulary, and the batches to train it on."""
    keras.utils.set_random_seed(job.seed)
    options = {name: settings[name] for name in SLSTM_OPTIONS if name in settings}
    model = SentenceClassifier(
        job.corpus.label_names,
        encoder_options={**options, **settings["encoder_options"]},
        pooling="attention" if settings["attention"] else None,
        kernel_regularizer=keras.regularizers.L2(settings["l2"]),
        **model_options(settings, vectors),
    )
    texts, labels = job.corpus.train.texts, job.corpus.train.labels
    model.adapt(texts, vectors)
    batches = model.batches(texts, labels, batch_size=settings["batch_size"], seed=job.seed)
    model.compile(
        make_optimizer(settings, batches),
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
    data.add_argument("--text-column", help="column of the text (default: text)")
    data.add_argument("--folds", type=int, help="cross-validation, for a data set without a test part")
    add_data_options(data)
    data.add_argument("--fixed-vectors", action="store_true", help="do not train them")

    of_model = ("units", "embedding_dim", "mlp_units", "mlp_layers", "dropout", "mlp_dropout", *SLSTM_OPTIONS)
    when = "small for travel_desk and --data, else that of the encoder: cas-lstm, or paper for all others"
    model = add_model_options(parser, "slstm", PRESETS, of_model, when)
    model.add_argument("--attention", action="store_true", help="attention over the words as sentence vector")
    add_run_options(parser, "runs/DATA-ENCODER")

    use = parser.add_argument_group("prediction")
    use.add_argument("--model", help="a saved .keras file: no training, only predictions")
    use.add_argument("--predict", action="append", default=[], metavar="TEXT", help="may be repeated")
    use.add_argument("--predict-file", metavar="FILE", help="one text a line")

    return parser


def parse_arguments(parser: argparse.ArgumentParser | None = None) -> argparse.Namespace:
    """The command line, with a default for `--output`."""
    parser = parser or make_parser()
    args = parser.parse_args()
    check_options(parser, args)
    for name in SLSTM_OPTIONS:
        if vars(args)[name] is not None and args.encoder != "slstm":
            parser.error(f"--{name.replace('_', '-')} belongs to --encoder slstm, not {args.encoder}")
    if args.folds is not None and args.folds < 2:
        parser.error(f"--folds must be at least 2, but got {args.folds}")
    if args.output is None:
        source = "-".join(map(short_name, [args.data] if args.data else args.dataset))
        args.output = Path("runs", f"{source}-{args.encoder}{'-attention' if args.attention else ''}")
    args.results = args.results or args.output.parent / "results.jsonl"
    return args


if __name__ == "__main__":
    sys.exit(main())
