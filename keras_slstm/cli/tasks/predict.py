"""Prediction with saved models."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterable

import keras

from keras_slstm.cli.options import check_not_given
from keras_slstm.cli.tasks.saved import load_model
from keras_slstm.cli.tasks.show import show_labels, show_pairs, show_tags, show_translations, tokenize
from keras_slstm.cli.training_options import SEARCH_OPTIONS
from keras_slstm.datasets.pair_readers import Pair
from keras_slstm.errors import DataError
from keras_slstm.models.sentence_pair_classifier import SentencePairClassifier
from keras_slstm.models.seq2seq import Seq2Seq
from keras_slstm.models.sequence_tagger import SequenceTagger
from keras_slstm.models.text_model import TextModel
from keras_slstm.text.lines import text_lines

FEW = 64  # predicting fewer texts than this eagerly takes less time than tracing a graph first
INPUT = "standard input"


def predict(arguments: argparse.Namespace) -> int:
    """Print the predictions of a saved model for texts; return the exit status."""
    model = load_model(arguments.model)
    if not isinstance(model, Seq2Seq):
        check_not_given(arguments, SEARCH_OPTIONS, f"needs a translation model, but {arguments.model} is another model")
    if isinstance(model, SentencePairClassifier):
        pairs = read_pairs(arguments)
        avoid_graph_for_few(model, len(pairs))
        show_pairs(model, pairs)
    elif isinstance(model, Seq2Seq):
        show_translations(model, read_texts(arguments), **search_options(arguments))
    else:
        texts = read_texts(arguments)
        avoid_graph_for_few(model, len(texts))
        if isinstance(model, SequenceTagger):
            show_tags(model, [tokenize(text) for text in texts])
        else:
            show_labels(model, texts)
    return 0


def avoid_graph_for_few(model: TextModel, items: int) -> None:
    """Let a model on TensorFlow predict eagerly if there are few texts or pairs."""
    if keras.backend.backend() == "tensorflow" and items < FEW:
        model.run_eagerly = True


def search_options(arguments: argparse.Namespace) -> dict[str, float | None]:
    """The options of the search for the best translation."""
    return {name: vars(arguments)[name] for name in SEARCH_OPTIONS}


def read_texts(arguments: argparse.Namespace) -> list[str]:
    """The texts of the command line and the file, or of standard input.

    An empty line is a text, too: line i of the output belongs to line i of the input.
    """
    return [*arguments.text, *(line for _, line in read_lines(arguments))]


def read_pairs(arguments: argparse.Namespace) -> list[Pair]:
    """The pairs of the command line and the file, or of standard input.

    Raises:
        ValueError: If a text has no second one.
    """
    if len(arguments.text) % 2:
        raise ValueError(f"The model takes pairs: pass an even number of texts, not {len(arguments.text)}")
    pairs: list[Pair] = list(zip(arguments.text[::2], arguments.text[1::2]))
    path = arguments.file or INPUT
    empty = []
    for number, line in read_lines(arguments):
        texts = line.split("\t")
        if not line.strip():
            empty.append(number)
        elif len(texts) != 2 or not all(text.strip() for text in texts):
            raise DataError(path, number, f"expected two texts separated by a tab, found {line[:60]!r}")
        else:
            pairs.append((texts[0], texts[1]))
    if not pairs:
        raise DataError(path, 1, "expected two texts separated by a tab, found only empty lines")
    if empty:
        warnings.warn(f"{path}: empty lines left out: {len(empty)}. The first: line {empty[0]}", stacklevel=2)
    return pairs


def read_lines(arguments: argparse.Namespace) -> Iterable[tuple[int, str]]:
    """The lines of the file or, without a file and texts, of standard input, with their numbers."""
    if arguments.file:
        return text_lines(arguments.file)
    return [] if arguments.text else text_lines(INPUT, sys.stdin.buffer)
