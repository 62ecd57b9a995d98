"""Prediction with saved models."""

from __future__ import annotations

import argparse
import sys

import keras

from keras_slstm.cli.options import check_not_given
from keras_slstm.cli.tasks.saved import load_model
from keras_slstm.cli.tasks.show import show_labels, show_pairs, show_tags, show_translations, tokenize
from keras_slstm.cli.training_options import SEARCH_OPTIONS
from keras_slstm.datasets.pair_readers import Pair, read_pair_lines
from keras_slstm.datasets.readers import read_lines
from keras_slstm.models.sentence_pair_classifier import SentencePairClassifier
from keras_slstm.models.seq2seq import Seq2Seq
from keras_slstm.models.sequence_tagger import SequenceTagger
from keras_slstm.models.text_model import TextModel

FEW = 64  # predicting fewer texts than this eagerly takes less time than tracing a graph first


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
    """The texts of the command line and the file, or of standard input."""
    if arguments.text or arguments.file:
        return [*arguments.text, *(read_lines(arguments.file) if arguments.file else [])]
    return [line for _, line in lines_of_input()]


def read_pairs(arguments: argparse.Namespace) -> list[Pair]:
    """The pairs of the command line and the file, or of standard input.

    Raises:
        ValueError: If a text has no second one.
    """
    if len(arguments.text) % 2:
        raise ValueError(f"The model takes pairs: pass an even number of texts, not {len(arguments.text)}")
    pairs: list[Pair] = list(zip(arguments.text[::2], arguments.text[1::2]))
    if arguments.file:
        pairs += read_pair_lines(arguments.file)
    if arguments.text or arguments.file:
        return pairs
    for number, line in lines_of_input():
        texts = line.split("\t")
        if len(texts) != 2 or not all(text.strip() for text in texts):
            raise ValueError(f"standard input:{number}: expected two texts separated by a tab, found {line[:40]!r}")
        pairs.append((texts[0], texts[1]))
    return pairs


def lines_of_input() -> list[tuple[int, str]]:
    """The non-empty lines of standard input with their numbers; as in files, only a line feed ends a line."""
    lines = enumerate(sys.stdin.read().split("\n"), start=1)
    return [(number, line.removesuffix("\r")) for number, line in lines if line.strip()]
