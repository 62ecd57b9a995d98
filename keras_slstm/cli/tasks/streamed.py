"""Corpora whose training part stays on disk."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keras_slstm.cli.presets import Settings
from keras_slstm.cli.settings import settings_of
from keras_slstm.cli.tasks import texts
from keras_slstm.cli.tasks.training import without_model_defaults
from keras_slstm.cli.training_options import short_name
from keras_slstm.datasets.loading import Sources
from keras_slstm.datasets.tokenised import tokenizer_of
from keras_slstm.distribute import is_chief
from keras_slstm.distribute.collectives import in_turn
from keras_slstm.streaming.prepared_corpus import PreparedCorpus
from keras_slstm.text.text_vectorizer import TextVectorizer

MAX_TOKENS = 100_000  # limits the vocabulary, which could otherwise take more memory than the texts


@dataclass(frozen=True)
class StreamedCorpus:
    """Like a `Corpus`, a `PairCorpus` or a `TaggedCorpus`, but the training part stays on disk."""

    name: str
    train: PreparedCorpus
    validation: Any
    test: Any
    label_names: list[str]
    scheme: str | None = None
    score_range: None = None


def load_streamed(
    arguments: argparse.Namespace,
    prepare: Callable[..., PreparedCorpus],
    vectorizer: Any,
    read: Callable[[str], Sources],
    kind: Callable[[list[Any], list[Any]], Any],
    **options: Any,
) -> StreamedCorpus:
    """Prepare `--data` in a folder next to `--output`, unless already done, and read the other parts.

    Args:
        arguments: The options.
        prepare: The function of `keras_slstm.streaming` that prepares the training part.
        vectorizer: The vectoriser of the training part.
        read: Reads a file into memory.
        kind: The class of the development and the test part.
        **options: Further arguments of `prepare`.

    Raises:
        DataError: If a file is malformed or has a label that the training part lacks.
    """
    folder = arguments.output.parent / f"{short_name(arguments.data)}-prepared"
    print(f"The training part is read from {folder}, which contains {Path(arguments.data).name} as word ids")
    found: list[PreparedCorpus] = []

    def prepare_once() -> None:
        options_of_all = {"on_error": arguments.on_error, "overwrite": True, **options}
        found.append(prepare(arguments.data, folder, vectorizer, **options_of_all))

    in_turn(is_chief(), prepare_once, str(folder))
    in_turn(not is_chief(), prepare_once, str(folder))
    train = found[0]
    parts = []
    for path in (arguments.dev_data, arguments.test_data):
        sources = read(path)
        sources.check_labels(train.labels, "tag" if train.kind == "sentences" else "label")
        parts.append(sources.parts["train"].part(kind))
    return StreamedCorpus(arguments.data, train, parts[0], parts[1], train.labels, train.scheme)


def text_vectorizer(arguments: argparse.Namespace, preset: Settings) -> TextVectorizer:
    """The vectoriser of the training texts."""
    settings = {"cased": arguments.cased, "tokenizer": arguments.tokenizer or tokenizer_of(arguments.data)}
    settings |= without_model_defaults(settings_of(arguments, preset))
    max_length = getattr(arguments, "max_length", None)
    return TextVectorizer(max_tokens=MAX_TOKENS, max_length=max_length, **texts.vectorizer_options(settings))


def columns_of(part: Any, read: Callable[[Any], Iterable[Iterable[str]]]) -> Iterable[Iterable[str]]:
    """The columns that identify a part, from `read`; for a prepared corpus, its fingerprint."""
    return [[part.fingerprint]] if isinstance(part, PreparedCorpus) else read(part)
