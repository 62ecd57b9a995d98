"""Hyperparameter searches."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path
from typing import Any

from keras_slstm.cli.search_workers import MEMBER
from keras_slstm.cli.tasks.jobs import check_labels, limited
from keras_slstm.cli.tasks.search_report import write_report
from keras_slstm.datasets.corpus import load_corpus
from keras_slstm.datasets.pair_corpus import load_pair_corpus
from keras_slstm.datasets.tagged_corpus import load_tagged_corpus
from keras_slstm.datasets.tokenised import tokenizer_of
from keras_slstm.files import read_json
from keras_slstm.printable import printable
from keras_slstm.text.text_vectorizer import TextVectorizer
from keras_slstm.text.token_vectorizer import TokenVectorizer
from keras_slstm.text.word_vectors import WordVectors, load_word_vectors
from keras_slstm.tuning import STUDIES, ClassificationHyperModel, PairHyperModel, Search, TaggingHyperModel, confirm
from keras_slstm.tuning.records import BEST_MODEL, BEST_RECORD, SEARCH, format_scores

# The loader and the hypermodel of each task.
TASKS: dict[str, tuple[Any, Any]] = {
    "classification": (load_corpus, ClassificationHyperModel),
    "tagging": (load_tagged_corpus, TaggingHyperModel),
    "pairs": (load_pair_corpus, PairHyperModel),
}


def search(arguments: argparse.Namespace) -> int:
    """Start or resume a search, confirm the result if asked for, and report; return the exit status."""
    if arguments.imports:
        sys.path.insert(0, os.getcwd())  # as for a script
    for module in arguments.imports:
        importlib.import_module(module)
    corpus = load_examples(arguments)
    made = make_search(arguments, corpus)
    member = os.environ.get(MEMBER, "chief") != "chief"
    if not member:
        describe(arguments, corpus, made)
    try:
        made.search()
        if not member and (made.folder / BEST_RECORD).exists():
            show_best(made.folder)
            if arguments.confirm is not None:
                show_confirmation(confirm(made, corpus.test, arguments.confirm))
            show_report(made.folder)
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    return 0


def load_examples(arguments: argparse.Namespace) -> Any:
    """Load the corpus that the options name."""
    load, _ = TASKS[arguments.task]
    files = {}
    if arguments.data:
        files = {"validation_path": arguments.dev_data, "test_path": arguments.test_data}
    scheme = {"scheme": arguments.scheme} if arguments.task == "tagging" and arguments.scheme else {}
    corpus = load(
        arguments.data or arguments.dataset[0],
        data_dir=arguments.data_dir,
        manual_dir=arguments.manual_dir,
        seed=arguments.split_seed,
        on_error=arguments.on_error,
        **files,
        **scheme,
    )
    if arguments.task != "tagging":
        check_labels(corpus)
    return limited(corpus, arguments.limit)


def make_search(arguments: argparse.Namespace, corpus: Any) -> Search:
    """Make the search that the options describe."""
    _, hypermodel = TASKS[arguments.task]
    study = STUDIES[arguments.study] if arguments.study else {}
    model_options = make_model_options(arguments, corpus)
    vectors = load_vectors(arguments, corpus, model_options["vectorizer"]) if arguments.vectors else None
    return Search(
        hypermodel(
            corpus,
            arguments.encoders or study.get("encoders") or [arguments.default_encoder],
            values={**study.get("values", {}), **dict(arguments.values)},
            only=arguments.only or study.get("only", False),
            rows=study.get("rows"),
            vectors=vectors,
            objective=arguments.objective,
            options=model_options,
            jit_compile=arguments.jit_compile,
        ),
        arguments.output,
        arguments.tuner,
        arguments.max_trials,
        epochs=arguments.epochs,
        patience=arguments.patience or None,
        seeds=arguments.seeds,
        seed=arguments.seed,
        factor=arguments.factor,
        resume=(arguments.output / SEARCH).exists() and not arguments.overwrite,
        overwrite=arguments.overwrite,
        strategy=arguments.strategy,
        modules=arguments.imports,
    )


def make_model_options(arguments: argparse.Namespace, corpus: Any) -> dict[str, Any]:
    """The arguments of the model that the search does not vary."""
    options: dict[str, Any] = {"dtype": arguments.dtype, "vectorizer": {"lowercase": not arguments.cased}}
    if arguments.task != "tagging":
        options["vectorizer"]["tokenizer"] = arguments.tokenizer or tokenizer_of(corpus.name)
    if arguments.task == "pairs":
        options["features"] = arguments.features or ("inference" if corpus.label_names else "paraphrase")
    return options


def load_vectors(arguments: argparse.Namespace, corpus: Any, vectorizer: dict[str, Any]) -> WordVectors:
    """Load the word vectors of the corpus."""
    parts = (corpus.train, corpus.validation, corpus.test)
    if arguments.task == "tagging":
        counts = TokenVectorizer(**vectorizer).count(tokens for part in parts for tokens in part.tokens)
        return load_word_vectors(arguments.vectors, counts)
    examples = [example for part in parts for example in part.texts]
    texts = examples if arguments.task == "classification" else [text for pair in examples for text in pair]
    return load_word_vectors(arguments.vectors, TextVectorizer(**vectorizer).look_ups(texts))


def describe(arguments: argparse.Namespace, corpus: Any, made: Search) -> None:
    """Print the size of the search."""
    print(
        f"{printable(corpus.name)}: {len(corpus.train):,} / {len(corpus.validation):,} training / development examples"
    )
    trials = "trials" if arguments.max_trials is None else count(arguments.max_trials, "trial")
    several = [] if len(arguments.seeds) == 1 else [f"{len(arguments.seeds)} runs each"]
    budget = ", ".join([trials, *several, f"at most {count(arguments.epochs, 'epoch')} per run"])
    direction = {"max": "largest", "min": "smallest"}[made.hypermodel.direction]
    print(f"{arguments.tuner} search for the {direction} {made.hypermodel.objective}: {budget}", flush=True)


def count(number: int, what: str) -> str:
    """A number of things.

    >>> count(1, "trial"), count(3, "epoch")
    ('1 trial', '3 epochs')
    """
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def show_best(folder: Path) -> None:
    """Print the best hyperparameters and the path of the model."""
    best = read_json(folder / BEST_RECORD)
    values = " ".join(f"{name}={value}" for name, value in best["values"].items() if not name.startswith("tuner/"))
    print(f"\nBest: trial {best['trial']}, {best['score']:.4f}, {best['parameters']:,} parameters\n{values}")
    print(f"Saved {folder / BEST_MODEL} (its hyperparameters are next to it)")


def show_report(folder: Path) -> None:
    """Write the report and print its path."""
    try:
        print(f"\nWrote {write_report(folder)}")
    except Exception as error:  # a search should not be lost for its report
        print(f"The report could not be written: {' '.join(str(error).split())}", file=sys.stderr)


def show_confirmation(found: dict[str, Any]) -> None:
    """Print the scores of the best settings and the defaults on the test part."""
    seeds = ", ".join(map(str, found["seeds"]))
    print(f"\n{found['objective'].removeprefix('val_')}, trained again with seeds {seeds}:")
    for each in found["configurations"]:
        scores = [f"{part} {format_scores(each[part])}" for part in ("development", "test")]
        print(f"{each['name']:8} {'  '.join(scores)}  ({each['parameters']:,} parameters)")
    if len(found["configurations"]) == 1:
        print("No trial was better than the defaults.")
