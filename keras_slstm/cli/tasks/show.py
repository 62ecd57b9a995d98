"""Predictions as lines: one per text, with tab-separated parts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from keras_slstm.datasets.pair_readers import Pair
from keras_slstm.models.sentence_classifier import SentenceClassifier
from keras_slstm.models.sentence_pair_classifier import SentencePairClassifier
from keras_slstm.models.seq2seq import Seq2Seq
from keras_slstm.models.sequence_tagger import FoundSpan, SequenceTagger
from keras_slstm.printable import printable
from keras_slstm.text.text_vectorizer import TextVectorizer

CHUNK = 1_000  # sentences tagged together: memory holds their probabilities
_COLORS = (36, 33, 35, 32, 34, 31)  # of a terminal, cycled over the span types


def show_labels(model: SentenceClassifier, texts: Sequence[str]) -> None:
    """Print label, probability and text of each text."""
    labels, probabilities = model.classify(texts, return_probabilities=True)
    for label, row, text in zip(labels, probabilities, texts):
        print(f"{printable(label)}\t{row.max():.3f}\t{printable(text)}")


def show_pairs(model: SentencePairClassifier, pairs: Sequence[Pair]) -> None:
    """Print label and probability, or the score, and the texts of each pair."""
    if model.labels:
        labels, probabilities = model.classify(pairs, return_probabilities=True)
        found = [f"{printable(label)}\t{row.max():.3f}" for label, row in zip(labels, probabilities)]
    else:
        found = [f"{score:.2f}" for score in model.score(pairs)]
    for text, (first, second) in zip(found, pairs):
        print(f"{text}\t{printable(first)}\t{printable(second)}")


def show_tags(model: SequenceTagger, sentences: Sequence[Sequence[str]]) -> None:
    """Print each sentence with its spans in brackets, or with the label of each word."""
    colored = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    types = sorted({label[2:] for label in model.labels if label != "O"})
    colors = {kind: _COLORS[i % len(_COLORS)] for i, kind in enumerate(types)} if colored else {}
    for part in with_progress(sentences):
        if model.scheme is None:
            labels, confidence = model.tag(part, return_confidence=True)
            for tokens, names, sure in zip(part, labels, confidence):
                print(" ".join(f"{printable(token)}/{printable(name)}" for token, name in zip(tokens, names)), end="")
                print(f"  (lowest confidence: {sure.min():.2f})" if len(sure) else "")
        else:
            for tokens, spans in zip(part, model.find_spans(part)):
                print(mark(tokens, spans, colors))


def with_progress(sentences: Sequence[Sequence[str]]) -> Iterator[Sequence[Sequence[str]]]:
    """Yield the sentences in parts.

    If standard output is a file and standard error a terminal, show the progress there.
    """
    is_shown = len(sentences) > CHUNK and sys.stderr.isatty() and not sys.stdout.isatty()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not is_shown) as bar:
        task = bar.add_task("Sentences", total=len(sentences))
        for start in range(0, len(sentences), CHUNK):
            yield sentences[start : start + CHUNK]
            bar.advance(task, CHUNK)


def mark(tokens: Sequence[str], spans: Sequence[FoundSpan], colors: Mapping[str, int]) -> str:
    """A sentence with its spans in brackets, coloured by type: `a car in [Rome: city 0.99]`."""
    tokens = [printable(token) for token in tokens]
    words: list[str] = []
    position = 0
    for kind, start, end, confidence in spans:
        words += tokens[position:start]
        span = f"[{' '.join(tokens[start:end])}: {printable(kind)} {confidence:.2f}]"
        words.append(f"\033[1;{colors[kind]}m{span}\033[0m" if kind in colors else span)
        position = end
    return " ".join([*words, *tokens[position:]])


def tokenize(text: str) -> list[str]:
    """The tokens of a text for a tagger: words and symbols in their original case."""
    return TextVectorizer(lowercase=False).tokenize(text)


def show_translations(model: Seq2Seq, texts: Sequence[str], **search: Any) -> None:
    """Print translation, score and text of each text; `search` goes to `translate`."""
    found, scores = model.translate(list(texts), return_scores=True, **search)
    for translation, score, text in zip(found, scores, texts):
        print(f"{printable(' '.join(translation.split()))}\t{score:.3f}\t{printable(text)}")
