"""Train a sentence classifier on labelled text, evaluate it, save it, and use it.

The embedded corpus of travel-desk requests (no download), then a sentence of your own with the saved model:

    python examples/classify_text.py
    python examples/classify_text.py --model runs/travel_desk-slstm/model.keras --predict "I need a car"

Your own data (columns `text` and `label`), another encoder, data sets of the papers with their settings, word
vectors, several seeds, ten folds, all domains one after the other (a table and the mean at the end):

    python examples/classify_text.py --data mails.tsv --output runs/mails
    python examples/classify_text.py --encoder bilstm --pooling attention
    python examples/classify_text.py --dataset movie_review --vectors glove.6B.300d.txt --seed 0 1 2
    python examples/classify_text.py --dataset subj --folds 10
    python examples/classify_text.py --dataset fdu_mtl/all

Cell-aware stacked LSTMs on sentiment, trained on all phrases, with the settings of their paper:

    python examples/classify_text.py --dataset sst/phrases_2 --encoder bi_caslstm --vectors glove.840B.300d.txt

Questions, with the Biattentive Classification Network and the settings of the paper of the SuBiLSTM; its ways to
combine prefixes and suffixes, a training for each:

    python examples/classify_text.py --model bcn --encoder subilstm --dataset trec/fine --vectors glove.840B.300d.txt
    python examples/classify_text.py --encoder subilstm --variants combine=max combine=mean combine=concat combine=gate

The depth-adaptive GRN with the settings of its paper, and the ablations of the paper's Table 4 as one table:

    python examples/classify_text.py --dataset imdb_reviews --encoder depth_adaptive_grn --max-length 400 \
        --vectors glove.840B.300d.txt --cased
    python examples/classify_text.py --dataset imdb_reviews --encoder depth_adaptive_grn --max-length 400 \
        --vectors glove.840B.300d.txt --cased --seed 0 1 2 --variants selection=gumbel selection=full \
        sequential=null sequential=sinusoidal sequential=learned,max_length=400 selection=hard selection=soft

A training that was interrupted goes on when the same command is run again. A finished one is kept: choose another
`--output`, or say `--overwrite`. Every run appends a line to `results.jsonl` beside its folder.
"""

from __future__ import annotations

import argparse
import os
import random
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
    draw_confusion,
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
from _common import Parser, command, fail, options_named, short_name

from keras_slstm.datasets.corpus import Corpus, load_corpus, load_folds
from keras_slstm.datasets.readers import file_kind, read_lines
from keras_slstm.layers.character_vectors import CHARACTERS
from keras_slstm.losses import SmoothedCrossentropy
from keras_slstm.metrics.summaries import right_by_length
from keras_slstm.models.bcn import BCN
from keras_slstm.models.encoders import ENCODERS
from keras_slstm.models.sentence_classifier import SentenceClassifier
from keras_slstm.models.word_depths import DepthCounts, find_grn, read_depths
from keras_slstm.printable import printable
from keras_slstm.text.batches import TextBatches
from keras_slstm.text.word_vectors import WordVectors
from keras_slstm.training.fingerprint import fingerprint
from keras_slstm.training.stopwatch import texts_a_second
from keras_slstm.training.training_run import TrainingRun

# The models beside an encoder with a softmax.
MODELS = ("bcn",)
# The presets, or models, of papers that do not train the word vectors.
FIXED_VECTORS = {"bcn", "depth-adaptive-grn"}
PRESETS: dict[str, dict[str, Any]] = {
    # Minutes on two cores.
    "small": {
        "units": 64, "embedding_dim": 64, "steps": 6, "window": 3, "sentence_nodes": 1,
        "max_depth": 9, "characters": "none",
        "mlp_units": 0, "mlp_layers": 1, "dropout": 0.1, "mlp_dropout": 0.0, "word_dropout": 0.02, "l2": 0.0,
        "label_smoothing": 0.0,
        "learning_rate": 4e-3, "decay": 0.9, "plateau": 0, "clip": 3.0, "weight_decay": 0.0,
        "batch_size": 32, "epochs": 6, "patience": 3,
    },
    # Zhang, Liu, Song (ACL 2018). The gradient's global norm is clipped, as in the authors' code. The paper
    # does not say what its L2 of 0.001 acts on: here on the classifier's W. On the word vectors, Adam would
    # turn it into a steady shrinking of all the words that a batch does not hold.
    "paper": {
        "units": 300, "embedding_dim": 300, "steps": 9, "window": 1, "sentence_nodes": 1,
        "max_depth": 9, "characters": "none",
        "mlp_units": 0, "mlp_layers": 1, "dropout": 0.5, "mlp_dropout": 0.0, "word_dropout": 0.0, "l2": 1e-3,
        "label_smoothing": 0.0,
        "learning_rate": 1e-3, "decay": 0.97, "plateau": 0, "clip": 3.0, "weight_decay": 0.0,
        "batch_size": 10, "epochs": 20, "patience": 5,
    },
    # Choi, Kim, Lee (ACML 2019) on SST; dropout, optimizer and batches from the authors' code. The learning rate is
    # halved after an epoch that is no better than those before.
    "cas-lstm": {
        "units": 300, "embedding_dim": 300, "steps": 9, "window": 1, "sentence_nodes": 1,
        "max_depth": 9, "characters": "none",
        "mlp_units": 300, "mlp_layers": 1, "dropout": 0.5, "mlp_dropout": 0.5, "word_dropout": 0.0, "l2": 0.0,
        "label_smoothing": 0.0,
        "learning_rate": 1e-3, "decay": 0.5, "plateau": 1, "clip": 5.0, "weight_decay": 0.0,
        "batch_size": 128, "epochs": 20, "patience": 5,
    },
    # Brahma (2018), the BCN on SST and TREC; `mlp_dropout` is the dropout before the softmax. The paper gives no rate
    # of dropout or weight decay, and does not say what stops a training.
    "bcn": {
        "units": 300, "embedding_dim": 300, "steps": 9, "window": 1, "sentence_nodes": 1,
        "max_depth": 9, "characters": "none",
        "mlp_units": 0, "mlp_layers": 1, "dropout": 0.3, "mlp_dropout": 0.3, "word_dropout": 0.0, "l2": 0.0,
        "label_smoothing": 0.0,
        "learning_rate": 1e-3, "decay": 0.5, "plateau": 2, "clip": 5.0, "weight_decay": 0.01,
        "batch_size": 64, "epochs": 30, "patience": 6,
    },
    # Liu et al. (2020). Their word vectors are cased: say --cased for vectors that are. The dropout of 0.2 on states is
    # the encoder's default. How fast the learning rate falls, and the batches, the paper does not say.
    "depth-adaptive-grn": {
        "units": 400, "embedding_dim": 300, "steps": 9, "window": 1, "sentence_nodes": 1,
        "max_depth": 9, "characters": "cnn",
        "mlp_units": 0, "mlp_layers": 1, "dropout": 0.3, "mlp_dropout": 0.0, "word_dropout": 0.0, "l2": 0.0,
        "label_smoothing": 0.1,
        "learning_rate": 1e-3, "decay": 0.97, "plateau": 0, "clip": 5.0, "weight_decay": 0.0,
        "batch_size": 32, "epochs": 20, "patience": 5,
    },
}  # fmt: skip
GRN = ("depth_adaptive_grn", "full_depth_grn")
# Settings of some encoders only.
ENCODER_OPTIONS = {"steps": ("slstm",), "window": ("slstm",), "sentence_nodes": ("slstm",), "max_depth": GRN}

# For the embedded corpus: worded otherwise than its grammar would.
TRAVEL_SENTENCES = [
    "Could you please book me a flight from Oslo to Rome on Friday?",
    "Cancel the hotel in Paris, but leave my flight as it is.",
    "We do not want to cancel the car, we want to change it.",
]


def main() -> int:
    """Train, or predict with a saved model; the exit status."""
    return run_script(parse_arguments(), train_all, predict, MODELS)


def train_all(args: argparse.Namespace) -> int:
    """Train once for each data set, fold, variant and seed."""
    return train_jobs(args, plan, lambda part: part.texts, train, command("classify_text.py", make_parser(), args))


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
            from keras_slstm.datasets.builders.fdu_mtl import DOMAINS

            names += [f"fdu_mtl/{domain}" for domain in DOMAINS]
        else:
            names.append(name)
    return names


def train(args: argparse.Namespace, job: Job, vectors: WordVectors | None) -> Results:
    """Train, evaluate on the test set, save, and classify a few sentences; what was found."""
    job = limited(job, args.limit)
    corpus = job.corpus
    preset = args.preset or default_preset(args, corpus)
    settings = choose_settings(args, job, preset, PRESETS[preset], "pooling", "fixed_vectors", "max_length", "limit")
    settings["fixed_vectors"] = vectors is not None and (
        args.fixed_vectors if args.fixed_vectors is not None else bool({preset, args.model} & FIXED_VECTORS)
    )
    if args.model:
        settings["model"] = args.model
        settings["mlp_dropout"] = PRESETS[preset]["mlp_dropout"] if args.mlp_dropout is None else args.mlp_dropout
    settings = {name: value for name, value in settings.items() if args.encoder in ENCODER_OPTIONS.get(name, ENCODERS)}
    nothing = {"characters": "none", "label_smoothing": 0.0, "pooling": None, "max_length": None, "limit": None}
    for name, value in nothing.items():
        if settings[name] == value:  # as if there were no such setting
            del settings[name]
    with options_named("--encoder-option", "--variants"):
        model, batches = build_model(settings, job, vectors)
    parts = (corpus.train, corpus.validation)
    columns = (column for part in parts for column in (part.texts, part.labels))
    # With the vocabulary, which has the words of the test part that have a vector.
    settings["data"] = fingerprint(*columns, model.vectorizer.vocabulary)
    run = TrainingRun(job.folder, settings, overwrite=args.overwrite)
    describe(job, model, run, "texts")
    coverage = describe_coverage(model, vectors, corpus.train.texts)
    trained = fit(args, run, model, batches, job, settings, PRESETS[preset]["epochs"])
    run.save(model, finish=False)

    predicted, seconds = timed(model.classify, corpus.test.texts)
    report = report_labels(corpus.test.labels, predicted, corpus.label_names)
    lengths = [len(model.vectorizer.tokenize(text)) for text in corpus.test.texts]
    speed = {"texts_a_second": texts_a_second(model, corpus.test.texts)} if args.speed else {}
    if speed:
        print(f"{speed['texts_a_second']:.1f} texts a second")
    found = {
        **trained,
        **report,
        "parameters": model.count_params(),
        "test_seconds": seconds,
        **count_depths(args, model, corpus.test.texts),
        **speed,
        "right_by_length": right_by_length(lengths, [a == b for a, b in zip(corpus.test.labels, predicted)]),
        "settings": settings,
    }
    encoder = " + ".join(word for word in (args.encoder, args.pooling, args.model) if word)
    result = keep_result(args, run, job, encoder, coverage, "classify_text.py", make_parser(), found)
    run.finish()
    print(f"Saved {run.model_path} (confusion matrix beside it)\n")
    draw_confusion(corpus.test.labels, predicted, corpus.label_names, run.folder)
    own = TRAVEL_SENTENCES if corpus.name == "travel_desk" else corpus.test.texts[:3]
    show(model, args.predict or own)
    return result


def limited(job: Job, limit: int | None) -> Job:
    """The training with so many texts only, the same ones for every seed."""
    corpus = job.corpus
    if limit is None or limit >= len(corpus.train):
        return job
    chosen = sorted(random.Random(0).sample(range(len(corpus.train)), limit))
    return job._replace(corpus=Corpus(**{**vars(corpus), "train": corpus.train.take(chosen)}))


def count_depths(args: argparse.Namespace, model: SentenceClassifier, texts: list[str]) -> Results:
    """How deep the words of texts go, where they have depths."""
    if args.encoder not in GRN or args.model:  # a BCN has one inside, but is not all of it
        return {}
    counts = DepthCounts(find_grn(model).max_depth)
    for sentence in read_depths(model, texts):
        counts.add(sentence.depths)
    print(f"Mean depth of the words of the test part: {counts.mean:.2f}")
    return {"mean_depth": counts.mean, "depths": counts.counts.tolist()}


def default_preset(args: argparse.Namespace, corpus: Corpus) -> str:
    """The settings of the encoder's paper; on a corpus of another kind, what is done soon."""
    if args.data or corpus.name == "travel_desk":
        return "small"
    if args.model:
        return args.model
    if args.encoder in GRN:
        return "depth-adaptive-grn"
    return "cas-lstm" if args.encoder in ("caslstm", "bi_caslstm") else "paper"


def build_model(
    settings: dict[str, Any], job: Job, vectors: WordVectors | None
) -> tuple[SentenceClassifier, TextBatches]:
    """The compiled model with its vocabulary, and the batches to train it on."""
    keras.utils.set_random_seed(job.seed)
    options = {name: settings[name] for name in ENCODER_OPTIONS if name in settings}
    of_all = {
        **model_options(settings, vectors),
        "encoder_options": {**options, **settings["encoder_options"]},
        "kernel_regularizer": keras.regularizers.L2(settings["l2"]),
        "characters": settings.get("characters"),
    }
    if "max_length" in settings:
        of_all["vectorizer"]["max_length"] = settings["max_length"]
    if settings.get("model") == "bcn":
        of_bcn = {name: value for name, value in of_all.items() if not name.startswith("mlp_")}
        model = BCN(job.corpus.label_names, maxout_dropout=settings["mlp_dropout"], **of_bcn)
    else:
        model = SentenceClassifier(job.corpus.label_names, pooling=settings.get("pooling"), **of_all)
    texts, labels = job.corpus.train.texts, job.corpus.train.labels
    model.adapt(texts, vectors)
    batches = model.batches(texts, labels, batch_size=settings["batch_size"], seed=job.seed)
    smoothing = settings.get("label_smoothing")
    model.compile(
        make_optimizer(settings, batches),
        loss=SmoothedCrossentropy(smoothing) if smoothing else "sparse_categorical_crossentropy",
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
        print(f"{printable(label)}\t{row.max():.3f}\t{printable(text)}")


def make_parser() -> argparse.ArgumentParser:
    """All options."""
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    data = parser.add_argument_group("data")
    source = data.add_mutually_exclusive_group()
    source.add_argument(
        "--dataset",
        nargs="+",
        default=["travel_desk"],
        metavar="NAME",
        help="travel_desk, movie_review, any of TFDS ...",
    )
    source.add_argument("--data", help="your own .tsv, .csv or .jsonl file, instead of --dataset")
    data.add_argument("--text-column", help="column of the text (default: text)")
    data.add_argument("--limit", type=int, help="train on so many texts only, drawn at random")
    data.add_argument("--max-length", type=int, help="read only so many words of a text")
    data.add_argument("--folds", type=int, help="cross-validation, for a data set without a test part")
    add_data_options(data)
    data.add_argument(
        "--fixed-vectors", action=argparse.BooleanOptionalAction, help="do not train them (default of bcn and the GRN)"
    )

    of_model = (
        "units", "embedding_dim", "mlp_units", "mlp_layers", "dropout", "mlp_dropout", "characters", *ENCODER_OPTIONS,
    )  # fmt: skip
    when = (
        "small for travel_desk and --data, else that of model or encoder: bcn, cas-lstm, depth-adaptive-grn, or paper"
    )
    add_model_options(parser, "slstm", PRESETS, of_model, when)
    add_run_options(parser, "runs/DATA-ENCODER")
    parser.add_argument("--speed", action="store_true", help="measure texts a second, in batches of 100")

    use = parser.add_argument_group("prediction")
    use.add_argument("--model", metavar="FILE", help="a saved .keras file: no training, only predictions;"
                     " or bcn: a Biattentive Classification Network around the encoder")  # fmt: skip
    use.add_argument("--predict", action="append", default=[], metavar="TEXT", help="may be repeated")
    use.add_argument("--predict-file", metavar="FILE", help="one text a line")

    return parser


def parse_arguments(parser: argparse.ArgumentParser | None = None) -> argparse.Namespace:
    """The command line, with a default for `--output`."""
    parser = parser or make_parser()
    args = parser.parse_args()
    check_options(parser, args, MODELS)
    if args.model in MODELS and (args.pooling or args.mlp_units):
        parser.error(f"--model {args.model} pools and decides by itself: no --pooling, no --mlp-units")
    for name, encoders in ENCODER_OPTIONS.items():
        if vars(args)[name] is not None and args.encoder not in encoders:
            parser.error(
                f"--{name.replace('_', '-')} belongs to --encoder {' and '.join(encoders)}, not {args.encoder}"
            )
    if args.characters not in (None, "none", *CHARACTERS):
        parser.error(f"--characters must be none, {' or '.join(CHARACTERS)}, but got {args.characters}")
    if args.output is None:
        source = "-".join(map(short_name, [args.data] if args.data else args.dataset))
        args.output = Path("runs", "-".join(word for word in (source, args.encoder, args.pooling, args.model) if word))
    args.results = args.results or args.output.parent / "results.jsonl"
    return args


if __name__ == "__main__":
    sys.exit(main())
