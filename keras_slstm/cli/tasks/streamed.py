"""The training part of a classifier as a prepared corpus on disk."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keras_slstm.cli.training_options import short_name
from keras_slstm.datasets.corpus import Texts, read_texts
from keras_slstm.distribute import is_chief
from keras_slstm.distribute.collectives import in_turn
from keras_slstm.streaming.preparation import prepare_corpus
from keras_slstm.streaming.prepared_corpus import PreparedCorpus
from keras_slstm.text.text_vectorizer import TextVectorizer

MAX_TOKENS = 100_000  # limits the vocabulary, which could otherwise take more memory than the texts


@dataclass(frozen=True)
class StreamedCorpus:
    """Like a `Corpus`, but the training part stays on disk."""

    name: str
    train: PreparedCorpus
    validation: Texts
    test: Texts
    label_names: list[str]


def load_streamed(arguments: argparse.Namespace, vectorizer_options: dict[str, Any]) -> StreamedCorpus:
    """Prepare `--data` in a folder next to `--output`, unless already done, and read the other parts.

    Args:
        arguments: The options.
        vectorizer_options: The arguments of the `TextVectorizer`.

    Raises:
        DataError: If a file is malformed, or has a label that the training part lacks.
    """
    folder = arguments.output.parent / f"{short_name(arguments.data)}-prepared"
    text, label = arguments.text_column or "text", arguments.label_column or "label"
    print(f"The training part is read from {folder}, which contains {Path(arguments.data).name} as word ids")
    found: list[PreparedCorpus] = []

    def prepare() -> None:
        vectorizer = TextVectorizer(max_tokens=MAX_TOKENS, **vectorizer_options)
        found.append(
            prepare_corpus(
                arguments.data,
                folder,
                vectorizer,
                text_column=text,
                label_column=label,
                on_error=arguments.on_error,
                overwrite=True,
            )
        )

    in_turn(is_chief(), prepare, str(folder))
    in_turn(not is_chief(), prepare, str(folder))
    train = found[0]
    parts = []
    for path in (arguments.dev_data, arguments.test_data):
        sources = read_texts(path, text_column=text, label_column=label, on_error=arguments.on_error)
        sources.check_labels(train.labels)
        parts.append(sources.parts["train"].part(Texts))
    return StreamedCorpus(arguments.data, train, parts[0], parts[1], train.labels)
