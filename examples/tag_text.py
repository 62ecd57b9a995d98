"""Train a sequence tagger, evaluate it, save it, and use it.

The slots of the embedded corpus of travel-desk requests (no download), then a sentence of yours with the saved model:

    python examples/tag_text.py
    python examples/tag_text.py --model runs/travel_desk-slots-slstm-crf/model.keras --predict "I need a car in Rome"

Named entities (`eng.train`, `eng.testa`, `eng.testb` in PATH) and parts of speech, your own column file, another
encoder and head, the settings of the S-LSTM paper:

    python examples/tag_text.py --task ner --manual-dir PATH --vectors glove.6B.300d.txt --seed 0 1
    python examples/tag_text.py --task pos --tag-column xpos --encoder bilstm --head softmax
    python examples/tag_text.py --task ner --data mails.conll --test-data more.conll --preset small

A training that was interrupted goes on when the same command is run again. A finished one is kept: choose another
`--output`, or say `--overwrite`. Every run appends a line to `results.jsonl` beside its folder.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # TensorFlow is talkative

import keras
from _common import (
    FAILURES,
    Parser,
    add_preset_options,
    check_dimension,
    check_prediction_options,
    command,
    draw,
    fail,
    option,
    options_named,
    report_best,
    short_name,
    train_seeds,
    write_result,
)

from keras_slstm.datasets.conll import Column
from keras_slstm.datasets.readers import read_lines
from keras_slstm.datasets.tagged_corpus import TaggedCorpus, TaggedSentences, load_tagged_corpus
from keras_slstm.extras import require
from keras_slstm.layers.character_vectors import CHARACTERS
from keras_slstm.metrics.summaries import mean_and_spread, right_by_length
from keras_slstm.models.development_score import DevelopmentScore
from keras_slstm.models.encoders import ENCODERS
from keras_slstm.models.sequence_tagger import HEADS, FoundSpan, SequenceTagger
from keras_slstm.plots import transition_matrix
from keras_slstm.printable import printable
from keras_slstm.text.tag_schemes import span_scores
from keras_slstm.text.text_vectorizer import TextVectorizer
from keras_slstm.text.token_batches import TokenBatches
from keras_slstm.text.token_vectorizer import TokenVectorizer
from keras_slstm.text.word_vectors import WordVectors, load_word_vectors
from keras_slstm.training.fingerprint import fingerprint
from keras_slstm.training.stopwatch import Stopwatch
from keras_slstm.training.training_run import TrainingRun

# For each task: the data set, and the scheme of its tags.
TASKS: dict[str, tuple[str, str | None]] = {
    "slots": ("travel_desk", "BIOES"),
    "ner": ("conll2003", "BIOES"),
    "pos": ("ud_ewt", None),
}
PRESETS: dict[str, dict[str, Any]] = {
    # Minutes on two cores.
    "small": {
        "units": 64, "embedding_dim": 64, "steps": 4, "window": 1, "sentence_nodes": 1,
        "dropout": 0.2, "word_dropout": 0.05, "l2": 0.0,
        "learning_rate": 4e-3, "decay": 0.85, "clip": 3.0,
        "batch_size": 32, "epochs": 7, "patience": 3,
    },
    # Zhang, Liu, Song (ACL 2018). The gradient's global norm is clipped, as in the authors' code. The paper does not
    # say what its L2 of 0.001 acts on: here on the weights that give the scores of labels.
    "paper": {
        "units": 300, "embedding_dim": 300, "steps": 9, "window": 1, "sentence_nodes": 1,
        "dropout": 0.5, "word_dropout": 0.0, "l2": 1e-3,
        "learning_rate": 1e-3, "decay": 0.97, "clip": 3.0,
        "batch_size": 10, "epochs": 30, "patience": 8,
    },
}  # fmt: skip
POS_STEPS = 7  # of the paper, where the task is pos
SLSTM_OPTIONS = ("steps", "window", "sentence_nodes")
COLORS = (36, 33, 35, 32, 34, 31)  # of a terminal, one for each type of span in turn

# For the embedded corpus: worded otherwise than its grammar would.
TRAVEL_SENTENCES = [
    "Could you please book me a flight from Oslo to Rome on Friday?",
    "My friend Maria Rossi needs a hotel in New York for three nights.",
    "We do not want the car in Berlin for four people, we want one for two people.",
]


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
    """Train once for each seed."""
    try:
        require("seqeval.metrics", "examples")
        require("matplotlib", "plots")
        corpus = load_data(args)
        vectors = load_vectors(args, corpus)
        check_dimension(args.embedding_dim, vectors)
    except (ValueError, OSError, ImportError) as error:
        return fail(error)
    try:
        results = train_seeds(args, lambda seed, folder: train(args, corpus, vectors, seed, folder))
    except FAILURES as error:
        return fail(error)
    if len(results) > 1:
        print_summary(results)
    return 0


def load_data(args: argparse.Namespace) -> TaggedCorpus:
    """The corpus that the command line asks for."""
    if args.data and not Path(args.data).is_file():
        raise FileNotFoundError(f"There is no file {args.data}")  # else its name could be taken for a data set's
    corpus = load_tagged_corpus(
        args.data or args.dataset,
        data_dir=args.data_dir,
        manual_dir=args.manual_dir,
        seed=args.split_seed,
        validation_path=args.dev_data,
        test_path=args.test_data,
        token_column=args.token_column,
        tag_column=args.tag_column,
        scheme=args.scheme,
        on_error=args.on_error,
    )
    if args.limit is None:
        return corpus
    return TaggedCorpus(**{**vars(corpus), "train": corpus.train.take(range(min(args.limit, len(corpus.train))))})


def load_vectors(args: argparse.Namespace, corpus: TaggedCorpus) -> WordVectors | None:
    """The word vectors that the sentences can use."""
    if not args.vectors:
        return None
    normalize = make_vectorizer(args).normalize
    parts = (corpus.train, corpus.validation, corpus.test)
    return load_word_vectors(args.vectors, {normalize(t) for part in parts for tokens in part.tokens for t in tokens})


def train(
    args: argparse.Namespace, corpus: TaggedCorpus, vectors: WordVectors | None, seed: int, folder: Path
) -> dict[str, Any]:
    """Train, evaluate on the development and the test set, save, and tag a few sentences; what was found."""
    settings = choose_settings(args, seed)
    with options_named("--encoder-option", "--head-option"):
        model, batches = build_model(args, settings, corpus, vectors)
    parts = (corpus.train, corpus.validation)
    columns = (map(" ".join, column) for part in parts for column in (part.tokens, part.tags))
    # With the vocabulary, which has the words of the test part that have a vector.
    settings["data"] = fingerprint(*columns, model.vectorizer.vocabulary)
    run = TrainingRun(folder, settings, overwrite=args.overwrite)
    describe(corpus, model, run)
    coverage = None
    if vectors is not None:
        words = Counter(model.vectorizer.normalize(t) for tokens in corpus.train.tokens for t in tokens)
        coverage = vectors.coverage(words)
        print(f"Word vectors: {coverage}")

    monitor = "val_f1" if corpus.scheme else "val_accuracy"
    stopwatch = Stopwatch(batches)
    history = run.fit(
        model,
        batches,
        epochs=args.epochs or PRESETS[settings["preset"]]["epochs"],
        monitor=monitor,
        patience=settings["patience"],
        callbacks=[stopwatch, DevelopmentScore(corpus.validation.tokens, corpus.validation.tags)],
        verbose=1 if sys.stdout.isatty() else 2,
    )
    run.save(model, finish=False)

    report_best(run, monitor, monitor)
    development, _ = evaluate(model, corpus.validation, "Development")
    started = time.perf_counter()
    test, right = evaluate(model, corpus.test, "Test")
    seconds = time.perf_counter() - started
    result = {
        "data": Path(args.data).name if args.data else corpus.name,
        "task": args.task,
        "tags": args.tag_column,
        "split": {"seed": args.split_seed, "sizes": [len(p) for p in (corpus.train, corpus.validation, corpus.test)]},
        "encoder": settings["encoder"],
        "head": settings["head"],
        "characters": settings["characters"],
        "vectors": Path(args.vectors).name.removesuffix(".gz") if args.vectors else None,
        "coverage": coverage and [coverage.known_tokens / coverage.tokens, coverage.known_types / coverage.types],
        "seed": seed,
        "development": development,
        "test": test,
        "best_epoch": run.best_epoch,
        "epochs": run.epochs_done,
        "parameters": model.count_params(),
        "seconds_per_epoch": stopwatch.seconds_per_epoch,
        "test_seconds": seconds,
        "right_by_length": right,
        "seconds_by_length": stopwatch.seconds_by_length,
        "command": command("tag_text.py", make_parser(), args),
        "settings": settings,
        "history": history,
    }
    result = write_result(run, args.results, result)
    run.finish()
    print(f"Saved {run.model_path}\n")
    if settings["head"] == "crf":
        scores = keras.ops.convert_to_numpy(model.head.chain_kernel)
        draw(
            run.folder / "transitions.png",
            lambda path: transition_matrix(scores, model.labels, path, corpus.scheme),
        )
    own = [tokenize(text) for text in TRAVEL_SENTENCES] if corpus.name == "travel_desk" else corpus.test.tokens[:3]
    show(model, [tokenize(text) for text in args.predict] or own)
    return result


def evaluate(model: SequenceTagger, part: TaggedSentences, name: str) -> tuple[dict[str, Any], dict[str, list[int]]]:
    """Print and return how well a part is tagged, and how many words of sentences of each length."""
    found = model.tag(part.tokens)
    true_words = [tag for tags in part.tags for tag in tags]
    found_words = [tag for tags in found for tag in tags]
    right = [wanted == got for wanted, got in zip(true_words, found_words)]
    by_length = right_by_length([len(tags) for tags in part.tags for _ in tags], right)
    scores: dict[str, Any] = {"accuracy": sum(right) / len(right)}
    if model.scheme:
        seqeval, schemes = require("seqeval.metrics", "examples"), require("seqeval.scheme", "examples")
        scheme = {"BIO": schemes.IOB2, "BIOES": schemes.IOBES}[model.scheme]
        options = {"mode": "strict", "scheme": scheme, "zero_division": 0}
        scores["types"] = seqeval.classification_report(part.tags, found, output_dict=True, **options)
        scores["precision"], scores["recall"], scores["f1"] = span_scores(part.tags, found, model.scheme)
        names = ([[printable(tag) for tag in tags] for tags in sentences] for sentences in (part.tags, found))
        report = seqeval.classification_report(*names, digits=4, **options)
        title = f"F1 {scores['f1']:.4f}, accuracy {scores['accuracy']:.4f}"
    else:
        metrics = require("sklearn.metrics", "examples")
        words = ([printable(tag) for tag in tags] for tags in (true_words, found_words))
        report = metrics.classification_report(*words, digits=4, zero_division=0)
        title = f"accuracy {scores['accuracy']:.4f}"
    print(f"\n{name} {title}\n\n{report}")
    return json.loads(json.dumps(scores, default=float)), by_length


def print_summary(results: list[dict[str, Any]]) -> None:
    """Mean and spread over the seeds."""
    for part in ("development", "test"):
        for measure in ("f1", "accuracy"):
            if measure in results[0][part]:
                mean, spread = mean_and_spread(100 * result[part][measure] for result in results)
                print(f"{part:12} {measure:9} {mean:6.2f} ± {spread:4.2f}  ({len(results)} seeds)")


def build_model(
    args: argparse.Namespace, settings: dict[str, Any], corpus: TaggedCorpus, vectors: WordVectors | None
) -> tuple[SequenceTagger, TokenBatches]:
    """The compiled model with its vocabulary, and the batches to train it on."""
    keras.utils.set_random_seed(settings["seed"])
    options = {name: settings[name] for name in SLSTM_OPTIONS if name in settings}
    model = SequenceTagger(
        corpus.label_names,
        scheme=corpus.scheme,
        encoder=settings["encoder"],
        units=settings["units"],
        encoder_options={**options, **settings["encoder_options"]},
        head=settings["head"],
        head_options={"kernel_regularizer": keras.regularizers.L2(settings["l2"]), **settings["head_options"]},
        characters=settings["characters"],
        embedding_dim=settings["embedding_dim"] if vectors is None else vectors.dim,
        dropout=settings["dropout"],
        word_dropout=settings["word_dropout"],
        trainable_embeddings=not settings["fixed_vectors"],
        vectorizer=make_vectorizer(args),
        dtype=settings["dtype"],
    )
    model.adapt(corpus.train.tokens, vectors)
    batches = model.batches(
        corpus.train.tokens, corpus.train.tags, batch_size=settings["batch_size"], seed=settings["seed"]
    )
    learning_rate = keras.optimizers.schedules.ExponentialDecay(
        settings["learning_rate"], decay_steps=len(batches), decay_rate=settings["decay"], staircase=True
    )
    optimizer = keras.optimizers.Adam(learning_rate, global_clipnorm=settings["clip"])
    # The accuracy of training sentences would take a search for the best sequence of each.
    model.compile(optimizer, metrics=[], jit_compile=settings["jit_compile"])
    return model, batches


def make_vectorizer(args: argparse.Namespace) -> TokenVectorizer:
    """How words are looked up."""
    return TokenVectorizer(lowercase=not args.cased, zero_digits=args.zero_digits)


def choose_settings(args: argparse.Namespace, seed: int) -> dict[str, Any]:
    """The preset with the options given; all that a resumed training must have in common."""
    name = args.preset or ("small" if args.data or args.dataset == "travel_desk" else "paper")
    preset = PRESETS[name]
    settings = {name: preset[name] if vars(args)[name] is None else vars(args)[name] for name in preset}
    if name == "paper" and args.task == "pos" and args.steps is None:
        settings["steps"] = POS_STEPS
    if args.encoder != "slstm":
        settings = {name: value for name, value in settings.items() if name not in SLSTM_OPTIONS}
    settings.pop("epochs")  # a resumed training may run longer
    for name_of_option in ("encoder", "head", "fixed_vectors", "cased", "zero_digits", "dtype"):
        settings[name_of_option] = vars(args)[name_of_option]
    settings["preset"] = name
    settings["characters"] = None if args.chars == "none" else args.chars
    settings["encoder_options"] = dict(args.encoder_option)
    settings["head_options"] = dict(args.head_option)
    settings["vectors"] = args.vectors and Path(args.vectors).name
    settings["seed"] = seed
    settings["backend"] = keras.backend.backend()
    # Compiling by XLA takes seconds for every length of sentence; it pays in long trainings.
    settings["jit_compile"] = settings["backend"] == "jax" if args.jit_compile is None else args.jit_compile
    return settings


def describe(corpus: TaggedCorpus, model: SequenceTagger, run: TrainingRun) -> None:
    """Say what is trained on what."""
    sizes = f"{len(corpus.train):,} / {len(corpus.validation):,} / {len(corpus.test):,}"
    labels = f"{len(corpus.label_names)} labels" + (f" ({corpus.scheme})" if corpus.scheme else "")
    print(f"{printable(corpus.name)}: {sizes} sentences to train / develop / test, {labels}")
    words = model.vectorizer.vocabulary_size
    print(f"{model.encoder.name}: {model.count_params():,} parameters, {words:,} words in the vocabulary")
    if run.epochs_done:
        print(f"Going on after epoch {run.epochs_done} of an interrupted training in {run.folder}")


def predict(args: argparse.Namespace) -> int:
    """Tag texts with a saved model."""
    try:
        model = keras.saving.load_model(args.model)
        if not isinstance(model, SequenceTagger):
            raise ValueError(f"{args.model} holds a {type(model).__name__}, not a SequenceTagger")
        texts = args.predict + (list(read_lines(args.predict_file)) if args.predict_file else [])
    except (ValueError, OSError, TypeError) as error:  # TypeError: Keras, of a class that it does not know
        return fail(error)
    show(model, [tokenize(text) for text in texts])
    return 0


def tokenize(text: str) -> list[str]:
    """The tokens of a text: words and symbols, as they are written."""
    return TextVectorizer(lowercase=False).tokenize(text)


def show(model: SequenceTagger, sentences: list[list[str]]) -> None:
    """Print each sentence with its spans, or with the label of each word."""
    colored = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    if model.scheme is None:
        labels, confidence = model.tag(sentences, return_confidence=True)
        for tokens, names, sure in zip(sentences, labels, confidence):
            print(" ".join(f"{token}/{printable(name)}" for token, name in zip(tokens, names)), end="")
            print(f"  (least sure: {sure.min():.2f})" if len(sure) else "")
        return
    types = sorted({label[2:] for label in model.labels if label != "O"})
    for tokens, spans in zip(sentences, model.find_spans(sentences)):
        print(mark(tokens, spans, {kind: COLORS[i % len(COLORS)] for i, kind in enumerate(types)} if colored else {}))


def mark(tokens: list[str], spans: list[FoundSpan], colors: dict[str, int]) -> str:
    """A sentence with its spans in brackets: `a car in [Rome: city 0.99]`, in the colours of their types."""
    words = []
    position = 0
    for kind, start, end, confidence in spans:
        words += tokens[position:start]
        text = " ".join(tokens[start:end])
        span = f"[{text}: {printable(kind)} {confidence:.2f}]"
        words.append(f"\033[1;{colors[kind]}m{span}\033[0m" if kind in colors else span)
        position = end
    return " ".join(words + tokens[position:])


def column(text: str) -> Column:
    """A column by its number, or by its name."""
    try:
        return int(text)
    except ValueError:
        return text


def make_parser() -> argparse.ArgumentParser:
    """All options."""
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    data = parser.add_argument_group("data")
    data.add_argument("--task", default="slots", choices=tuple(TASKS), help="what to tag: says the data set and more")
    source = data.add_mutually_exclusive_group()
    source.add_argument("--dataset", help="(travel_desk, conll2003 or ud_ewt, as the task wants), or any of TFDS")
    source.add_argument("--data", help="your own column file or .conllu file, instead of --dataset")
    data.add_argument("--dev-data", help="development set of --data (default: a tenth of it)")
    data.add_argument("--test-data", help="test set of --data (default: a tenth of it)")
    data.add_argument("--token-column", type=column, help="column of the words (default: the first)")
    data.add_argument("--tag-column", type=column, help="column or feature of the tags (default: the last)")
    data.add_argument("--scheme", choices=("BIO", "BIOES", "none"), help="(BIOES for slots and ner, none for pos)")
    data.add_argument("--on-error", default="raise", choices=("raise", "skip"), help="what a malformed line does")
    data.add_argument("--data-dir", help="where TFDS keeps its data")
    data.add_argument("--manual-dir", help="folder with original files that were downloaded by hand")
    data.add_argument("--split-seed", type=int, default=0, help="seed of the parts that are drawn at random")
    data.add_argument("--limit", type=int, help="train on so many sentences only")
    data.add_argument("--cased", action="store_true", help="keep upper and lower case of words apart")
    data.add_argument("--zero-digits", action="store_true", help="look words up with 0 for every digit")
    data.add_argument("--vectors", help="word vectors in GloVe's text format")
    data.add_argument("--fixed-vectors", action="store_true", help="do not train them")

    model = parser.add_argument_group("model")
    model.add_argument("--encoder", default="slstm", choices=tuple(ENCODERS))
    model.add_argument("--head", default="crf", choices=HEADS)
    model.add_argument("--chars", default="cnn", choices=(*CHARACTERS, "none"), help="vectors from characters")
    for name in ("encoder", "head"):
        model.add_argument(f"--{name}-option", nargs="+", default=[], type=option, metavar="NAME=VALUE",
                           help=f"further arguments of the {name}")  # fmt: skip
    model.add_argument("--preset", choices=tuple(PRESETS), help="(small for travel_desk and --data, else paper)")
    model.add_argument("--dtype", default="float32", help="such as mixed_bfloat16")
    add_preset_options(parser, PRESETS, model, ("units", "embedding_dim", "dropout", *SLSTM_OPTIONS))

    run = parser.add_argument_group("run")
    run.add_argument("--seed", type=int, nargs="+", default=[0], help="one training for each")
    run.add_argument("--jit-compile", action=argparse.BooleanOptionalAction, help="compile by XLA")
    run.add_argument("--output", type=Path, help="folder of the run (default: runs/DATA-TASK-ENCODER-HEAD)")
    run.add_argument("--results", type=Path, help="file that gets a line (default: results.jsonl beside --output)")
    run.add_argument("--overwrite", action="store_true", help="delete what an earlier run left there")

    use = parser.add_argument_group("prediction")
    use.add_argument("--model", help="a saved .keras file: no training, only predictions")
    use.add_argument("--predict", action="append", default=[], metavar="TEXT", help="may be repeated")
    use.add_argument("--predict-file", metavar="FILE", help="one text a line")
    return parser


def parse_arguments() -> argparse.Namespace:
    """The command line, with the defaults that depend on other options."""
    parser = make_parser()
    args = parser.parse_args()
    for name in ("dev_data", "test_data"):
        if vars(args)[name] and not args.data:
            parser.error(f"--{name.replace('_', '-')} goes with --data, a file")
    for name in SLSTM_OPTIONS:
        if vars(args)[name] is not None and args.encoder != "slstm":
            parser.error(f"--{name.replace('_', '-')} belongs to --encoder slstm, not {args.encoder}")
    if args.fixed_vectors and not args.vectors:
        parser.error("--fixed-vectors needs --vectors")
    check_prediction_options(parser, args)
    dataset, scheme = TASKS[args.task]
    args.dataset = args.dataset or (None if args.data else dataset)
    args.scheme = None if args.scheme == "none" else args.scheme or scheme
    if args.output is None:
        words = [short_name(args.data or args.dataset), args.task, args.encoder, args.head]
        args.output = Path("runs", "-".join(words))
    args.results = args.results or args.output.parent / "results.jsonl"
    return args


if __name__ == "__main__":
    sys.exit(main())
