"""Train a classifier of pairs of sentences, evaluate it, save it, and use it.

Inference (what does the first sentence say about the second?), paraphrases (do both say the same?) and relatedness (a
score): SICK, from a folder with its files or downloaded, then a pair of your own with the saved model:

    python examples/match_sentences.py --dataset sick/entailment --manual-dir PATH --vectors glove.840B.300d.txt
    python examples/match_sentences.py --model runs/sick-entailment-bi_caslstm/model.keras --predict "A man" "A dog"

Other data sets, encoders and settings; your own data (columns `text_a`, `text_b` and `label`; with
`--task relatedness` the label is a number); several seeds (a table at the end):

    python examples/match_sentences.py --dataset sick/relatedness --encoder stacked_bilstm --pooling max --seed 0 1 2
    python examples/match_sentences.py --dataset snli --vectors glove.840B.300d.txt --encoder-option num_layers=3
    python examples/match_sentences.py --dataset mrpc --vectors glove.840B.300d.txt
    python examples/match_sentences.py --data pairs.tsv --task paraphrase --output runs/pairs

The variants of the vertical gate that the paper of CAS-LSTM compares in its Table 6, a training for each:

    python examples/match_sentences.py --dataset sick/entailment --vectors glove.840B.300d.txt \
        --variants lam=0.5 lam=0.25 lam=0.75 lam=trainable lam=null peephole=true

The models that the paper of the SuBiLSTM puts it into, each with the settings of its paper, and five of them that
decide together (Table 4):

    python examples/match_sentences.py --model esim --encoder subilstm --vectors glove.840B.300d.txt
    python examples/match_sentences.py --model esim --encoder bilstm --seed 0 1 2 3 4 --ensemble
    python examples/match_sentences.py --model infersent --encoder bilstm --dataset snli --vectors glove.840B.300d.txt
    python examples/match_sentences.py --model siamese --dataset qqp --encoder subilstm_untied

Its ways to combine prefixes and suffixes, a training for each:

    python examples/match_sentences.py --encoder subilstm \
        --variants combine=max combine=mean combine=concat combine=gate

A training that was interrupted goes on when the same command is run again. A finished one is kept: choose another
`--output`, or say `--overwrite`. Every run appends a line to `results.jsonl` beside its folder.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # TensorFlow is talkative

import keras
import numpy as np
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

from keras_slstm.datasets.pair_corpus import PairCorpus, Pairs, load_pair_corpus
from keras_slstm.datasets.pair_readers import Pair, read_pair_lines
from keras_slstm.datasets.readers import file_kind
from keras_slstm.metrics.correlations import pearson, spearman
from keras_slstm.metrics.summaries import right_by_length
from keras_slstm.models.esim import ESIM
from keras_slstm.models.sentence_pair_classifier import SentencePairClassifier
from keras_slstm.printable import printable
from keras_slstm.text.pair_batches import PairBatches
from keras_slstm.text.word_vectors import WordVectors
from keras_slstm.training.fingerprint import fingerprint
from keras_slstm.training.training_run import TrainingRun

# The features of the classifier. Relatedness takes those of paraphrases, as the order does not matter.
FEATURES = {"inference": "inference", "paraphrase": "paraphrase", "relatedness": "paraphrase"}
# Data sets with labels that are about paraphrases; of all others, the labels are taken for inference.
PARAPHRASE_SETS = ("qqp", "mrpc", "glue/qqp", "glue/mrpc", "paws_wiki", "paws_x_wiki")
PRESETS: dict[str, dict[str, Any]] = {
    # Minutes on two cores.
    "small": {
        "units": 64, "embedding_dim": 64, "mlp_units": 128, "mlp_layers": 1,
        "dropout": 0.1, "mlp_dropout": 0.1, "word_dropout": 0.02,
        "learning_rate": 2e-3, "decay": 0.5, "plateau": 2, "clip": 5.0, "weight_decay": 0.0,
        "batch_size": 32, "epochs": 20, "patience": 6,
    },
    # Choi, Kim, Lee (ACML 2019); dropout, batch normalisation, optimizer and batches from the authors' code. The
    # learning rate is halved after two epochs that are no better than those before.
    "paper": {
        "units": 300, "embedding_dim": 300, "mlp_units": 1024, "mlp_layers": 1,
        "dropout": 0.1, "mlp_dropout": 0.1, "word_dropout": 0.0,
        "learning_rate": 1e-3, "decay": 0.5, "plateau": 2, "clip": 5.0, "weight_decay": 0.0,
        "batch_size": 128, "epochs": 30, "patience": 6,
    },
    # Conneau et al. (2017), as in Brahma (2018): two layers without an activation. (Theirs are trained by plain SGD.)
    "infersent": {
        "units": 2048, "embedding_dim": 300, "mlp_units": 512, "mlp_layers": 2,
        "dropout": 0.0, "mlp_dropout": 0.0, "word_dropout": 0.0,
        "learning_rate": 1e-3, "decay": 0.2, "plateau": 1, "clip": 5.0, "weight_decay": 0.0,
        "batch_size": 64, "epochs": 20, "patience": 5,
    },
    # Brahma (2018), paraphrases; the paper does not give the rates of dropout.
    "siamese": {
        "units": 600, "embedding_dim": 300, "mlp_units": 600, "mlp_layers": 1,
        "dropout": 0.2, "mlp_dropout": 0.2, "word_dropout": 0.0,
        "learning_rate": 1e-3, "decay": 0.5, "plateau": 2, "clip": 5.0, "weight_decay": 0.0,
        "batch_size": 64, "epochs": 20, "patience": 5,
    },
    # Chen et al. (2017), which Brahma (2018) follows.
    "esim": {
        "units": 300, "embedding_dim": 300, "mlp_units": 300, "mlp_layers": 1,
        "dropout": 0.5, "mlp_dropout": 0.5, "word_dropout": 0.0,
        "learning_rate": 4e-4, "decay": 0.5, "plateau": 1, "clip": 10.0, "weight_decay": 0.0,
        "batch_size": 32, "epochs": 20, "patience": 5,
    },
}  # fmt: skip
# The models beside that of the CAS-LSTM paper, with what each changes besides its preset.
MODELS: dict[str, dict[str, Any]] = {
    "infersent": {"pooling": "max", "features": "inference", "batch_norm": False, "mlp_activation": "linear"},
    "siamese": {"pooling": "max", "features": "inference", "batch_norm": False, "fixed_vectors": False},
    "esim": {"fixed_vectors": False},
}


def main() -> int:
    """Train, or predict with a saved model; the exit status."""
    return run_script(parse_arguments(), train_all, predict, MODELS)


def train_all(args: argparse.Namespace, further_texts: Iterable[str] = ()) -> int:
    """Train once for each data set, variant and seed; words of the further texts get their vectors, too."""
    given = command("match_sentences.py", make_parser(), args)
    return train_jobs(args, plan, texts_of, train, given, further_texts)


def texts_of(part: Pairs) -> Iterator[str]:
    """Both texts of all pairs."""
    return (text for pair in part.texts for text in pair)


def plan(args: argparse.Namespace) -> list[Job]:
    """All trainings that the command line asks for."""
    if args.data:
        file_kind(args.data)  # else the name of a missing file could be taken for that of a data set
    return plan_jobs(args, [(load_data(args, name), None) for name in ([args.data] if args.data else args.dataset)])


def load_data(args: argparse.Namespace, name: str) -> PairCorpus:
    """A corpus that the command line asks for."""
    of_file = {"validation_path": args.dev_data, "test_path": args.test_data, "scores": args.task == "relatedness"}
    corpus = load_pair_corpus(
        name,
        data_dir=args.data_dir,
        manual_dir=args.manual_dir,
        seed=args.split_seed,
        first_column=args.first_column,
        second_column=args.second_column,
        label_column=args.label_column,
        score_range=tuple(args.score_range) if args.score_range else None,
        on_error=args.on_error,
        **(of_file if args.data else {}),
    )
    if args.task and (args.task == "relatedness") != (not corpus.label_names):
        raise ValueError(
            f"--task {args.task} does not fit {name}, which has {'labels' if corpus.label_names else 'scores'}"
        )
    if args.limit is None:
        return corpus
    return PairCorpus(**{**vars(corpus), "train": corpus.train.take(range(min(args.limit, len(corpus.train))))})


def task_of(args: argparse.Namespace, corpus: PairCorpus) -> str:
    """The one asked for, or what the data set is about."""
    if args.task:
        return args.task
    if not corpus.label_names:
        return "relatedness"
    paraphrases = (
        corpus.name.startswith(tuple(f"{name}/" for name in PARAPHRASE_SETS)) or corpus.name in PARAPHRASE_SETS
    )
    return "paraphrase" if paraphrases else "inference"


def train(args: argparse.Namespace, job: Job, vectors: WordVectors | None) -> Results:
    """Train, evaluate on the test set, save, and match a few pairs; what was found."""
    corpus = job.corpus
    task = task_of(args, corpus)
    preset = args.preset or ("small" if args.data else args.model or "paper")
    settings = choose_settings(args, job, preset, PRESETS[preset], "limit")
    defaults = {"features": FEATURES[task], "batch_norm": True, "fixed_vectors": True, "pooling": None}
    defaults |= MODELS.get(args.model, {})
    for name, value in defaults.items():
        settings[name] = value if vars(args).get(name) is None else vars(args)[name]
    settings["fixed_vectors"] &= vectors is not None
    if args.model:
        settings["model"] = args.model
    with options_named("--encoder-option", "--variants"):
        model, batches = build_model(settings, job, vectors)
    parts = (corpus.train, corpus.validation)
    columns = (map(str, column) for part in parts for column in (texts_of(part), part.labels))
    # With the vocabulary, which has the words of the test part that have a vector.
    settings["data"] = fingerprint(*columns, model.vectorizer.vocabulary)
    run = TrainingRun(job.folder, settings, overwrite=args.overwrite)
    describe(job, model, run, f"pairs ({task})")
    coverage = describe_coverage(model, vectors, texts_of(corpus.train))
    monitor = "val_accuracy" if corpus.label_names else "val_pearson"
    trained = fit(args, run, model, batches, job, settings, PRESETS[preset]["epochs"], monitor)
    run.save(model, finish=False)
    measures, labels = evaluate(model, corpus.test)
    found = {
        "task": task,
        **trained,
        **measures,
        "parameters": model.count_params(),
        "settings": settings,
    }
    encoder = " + ".join(word for word in (args.encoder, args.pooling, args.model) if word)
    result = keep_result(args, run, job, encoder, coverage, "match_sentences.py", make_parser(), found)
    run.finish()
    print(f"Saved {run.model_path}{' (confusion matrix beside it)' if model.labels else ''}\n")
    if model.labels:
        draw_confusion(corpus.test.labels, labels, model.labels, run.folder)
    show(model, [(first, second) for first, second in args.predict] or corpus.test.texts[:3])
    return result


def build_model(
    settings: dict[str, Any], job: Job, vectors: WordVectors | None
) -> tuple[SentencePairClassifier, PairBatches]:
    """The compiled model with its vocabulary, and the batches to train it on."""
    keras.utils.set_random_seed(job.seed)
    corpus: PairCorpus = job.corpus
    of_all = {
        "labels": corpus.label_names or None,
        "score_range": corpus.score_range,
        **model_options(settings, vectors),
        "encoder_options": settings["encoder_options"],
    }
    if settings.get("model") == "esim":
        of_all.pop("mlp_dropout")  # one rate for all
        model = ESIM(**of_all)
    else:
        model = SentencePairClassifier(
            features=settings["features"],
            pooling=settings["pooling"],
            mlp_batch_norm=settings["batch_norm"] and "mlp_units" in settings,
            mlp_activation=settings.get("mlp_activation", "relu"),
            **of_all,
        )
    model.adapt(corpus.train.texts, vectors)
    batches = model.batches(
        corpus.train.texts, corpus.train.labels, batch_size=settings["batch_size"], seed=settings["seed"]
    )
    model.compile(make_optimizer(settings, batches), jit_compile=settings["jit_compile"])
    return model, batches


def evaluate(model: SentencePairClassifier, part: Pairs) -> tuple[Results, list[str]]:
    """Print and return how well the pairs of a part are matched, and the labels found."""
    if model.labels:
        found, seconds = timed(model.classify, part.texts)
        lengths = [max(len(model.vectorizer.tokenize(text)) for text in pair) for pair in part.texts]
        right = right_by_length(lengths, [wanted == got for wanted, got in zip(part.labels, found)])
        report = report_labels(part.labels, found, model.labels)
        return {**report, "test_seconds": seconds, "right_by_length": right}, found
    scores, seconds = timed(model.score, part.texts)
    measures = {
        "test_pearson": pearson(part.labels, scores),
        "test_spearman": spearman(part.labels, scores),
        "test_squared_error": float(np.mean((np.array(part.labels) - scores) ** 2)),
    }
    print("Test " + ", ".join(f"{name.removeprefix('test_')} {value:.4f}" for name, value in measures.items()))
    return {**measures, "test_seconds": seconds}, []


def predict(args: argparse.Namespace) -> int:
    """Match pairs with a saved model."""
    try:
        model = keras.saving.load_model(args.model)
        if not isinstance(model, SentencePairClassifier):
            raise ValueError(f"{args.model} holds a {type(model).__name__}, not a SentencePairClassifier")
        pairs = [(first, second) for first, second in args.predict]
        pairs += read_pair_lines(args.predict_file) if args.predict_file else []
    except (ValueError, OSError, TypeError) as error:  # TypeError: Keras, of a class that it does not know
        return fail(error)
    show(model, pairs)
    return 0


def show(model: SentencePairClassifier, pairs: Sequence[Pair]) -> None:
    """Print label and probability, or the score, and the texts of each pair, separated by tabs."""
    if model.labels:
        labels, probabilities = model.classify(pairs, return_probabilities=True)
        found = [f"{printable(label)}\t{row.max():.3f}" for label, row in zip(labels, probabilities)]
    else:
        found = [f"{score:.2f}" for score in model.score(pairs)]
    for text, (first, second) in zip(found, pairs):
        print(f"{text}\t{printable(first)}\t{printable(second)}")


def make_parser() -> argparse.ArgumentParser:
    """All options."""
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    add_training_options(parser)
    use = parser.add_argument_group("prediction")
    use.add_argument("--model", metavar="FILE", help="a saved .keras file: no training, only predictions;"
                     f" or what to train: {', '.join(MODELS)}")  # fmt: skip
    use.add_argument("--predict", action="append", nargs=2, default=[], metavar=("A", "B"), help="may be repeated")
    use.add_argument("--predict-file", metavar="FILE", help="two texts a line, separated by a tab")
    return parser


def add_training_options(parser: argparse.ArgumentParser) -> None:
    """Data, model and run."""
    data = parser.add_argument_group("data")
    data.add_argument("--task", choices=tuple(FEATURES), help="(as the data set wants; inference for labels of --data)")
    source = data.add_mutually_exclusive_group()
    source.add_argument(
        "--dataset",
        nargs="+",
        default=["sick/entailment"],
        metavar="NAME",
        help="snli, multi_nli/matched, sick/entailment, sick/relatedness, stsb, mrpc, qqp, any of TFDS ...",
    )
    source.add_argument("--data", help="your own .tsv, .csv or .jsonl file, instead of --dataset")
    data.add_argument("--first-column", help="column of the first text (default: text_a, premise, sentence1 ...)")
    data.add_argument("--second-column", help="column of the second (default: text_b, hypothesis, sentence2 ...)")
    data.add_argument("--score-range", nargs=2, type=int, metavar=("LOW", "HIGH"), help="(that of the training part)")
    data.add_argument("--limit", type=int, help="train on so many pairs only")
    add_data_options(data)
    data.add_argument("--fixed-vectors", action=argparse.BooleanOptionalAction, help="do not train them"
                      " (default, but of --model siamese and esim)")  # fmt: skip

    of_model = ("units", "embedding_dim", "mlp_units", "mlp_layers", "dropout", "mlp_dropout")
    model = add_model_options(
        parser, "bi_caslstm", PRESETS, of_model, "small for --data, else that of --model, else paper"
    )
    model.add_argument("--features", choices=("inference", "paraphrase"), help="eq. 15 or 16 (as the task wants)")
    model.add_argument(
        "--batch-norm", action=argparse.BooleanOptionalAction, help="in the MLP (default without --model)"
    )
    add_run_options(parser, "runs/DATA-ENCODER")


def parse_arguments() -> argparse.Namespace:
    """The command line, with a default for `--output`."""
    parser = make_parser()
    args = parser.parse_args()
    complete_arguments(parser, args)
    return args


def complete_arguments(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """End the program where options do not make sense; say where the run is kept."""
    check_options(parser, args, MODELS)
    if args.model == "esim" and (args.pooling or args.features or args.batch_norm or args.mlp_dropout is not None):
        parser.error("--model esim has no --pooling, --features, --batch-norm or --mlp-dropout of its own")
    if args.output is None:
        source = "-".join(map(short_name, [args.data] if args.data else args.dataset))
        args.output = Path("runs", "-".join(word for word in (source, args.encoder, args.pooling, args.model) if word))
    args.results = args.results or args.output.parent / "results.jsonl"


if __name__ == "__main__":
    sys.exit(main())
