"""Test reports: metrics, pictures, and a file of predictions."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_slstm.cli.tasks.progress import readable
from keras_slstm.datasets.corpus import Texts
from keras_slstm.datasets.pair_corpus import Pairs
from keras_slstm.distribute import is_chief
from keras_slstm.extras import require
from keras_slstm.files import complete_file
from keras_slstm.metrics.correlations import pearson, spearman
from keras_slstm.metrics.summaries import correct_by_length
from keras_slstm.models.sentence_classifier import SentenceClassifier
from keras_slstm.models.sentence_pair_classifier import SentencePairClassifier
from keras_slstm.plots import confusion_matrix, learning_curve
from keras_slstm.printable import printable
from keras_slstm.training.diagnosis import diagnose_labels

Results = dict[str, Any]
PREDICTIONS = "predictions.tsv"


def report_texts(model: SentenceClassifier, part: Texts, folder: Path | None = None, title: str = "Test") -> Results:
    """Classify texts; print and return the metrics.

    Args:
        model: The model.
        part: The texts with their labels.
        folder: Where to write the predictions and the confusion matrix. None: nowhere.
        title: Name of the part.
    """
    (found, probabilities), seconds = timed(model.classify, part.texts, return_probabilities=True)
    measures = report_labels(part.labels, found, model.labels, title)
    lengths = [len(model.vectorizer.tokenize(text)) for text in part.texts]
    if folder is not None:
        rows = zip(part.labels, found, (f"{row.max():.4f}" for row in probabilities), part.texts)
        write_predictions(folder / PREDICTIONS, ("label", "prediction", "probability", "text"), rows)
        draw_confusion(part.labels, found, model.labels, folder / "confusion.png")
    return {**measures, "test_seconds": seconds, "right_by_length": _correct_by_length(lengths, part.labels, found)}


def report_pairs(
    model: SentencePairClassifier, part: Pairs, folder: Path | None = None, title: str = "Test"
) -> Results:
    """Label or score pairs; print and return the metrics; see `report_texts`."""
    heads = ("first text", "second text")
    if not model.labels:
        scores, seconds = timed(model.score, part.texts)
        if folder is not None:
            scored = zip(part.labels, (f"{score:.4f}" for score in scores), *zip(*part.texts))
            write_predictions(folder / PREDICTIONS, ("score", "prediction", *heads), scored)
        return {**report_scores(part.labels, scores, title), "test_seconds": seconds}
    (found, probabilities), seconds = timed(model.classify, part.texts, return_probabilities=True)
    measures = report_labels(part.labels, found, model.labels, title)
    lengths = [max(len(model.vectorizer.tokenize(text)) for text in pair) for pair in part.texts]
    if folder is not None:
        sure = (f"{row.max():.4f}" for row in probabilities)
        rows = zip(part.labels, found, sure, *zip(*part.texts))
        write_predictions(folder / PREDICTIONS, ("label", "prediction", "probability", *heads), rows)
        draw_confusion(part.labels, found, model.labels, folder / "confusion.png")
    return {**measures, "test_seconds": seconds, "right_by_length": _correct_by_length(lengths, part.labels, found)}


def _correct_by_length(lengths: Sequence[int], wanted: Sequence[str], found: Sequence[str]) -> dict[str, list[int]]:
    return correct_by_length(lengths, [one == other for one, other in zip(wanted, found)])


def timed(function: Callable[..., Any], *arguments: Any, **options: Any) -> tuple[Any, float]:
    """Call a function; return its result and the seconds it took."""
    started = time.perf_counter()
    return function(*arguments, **options), time.perf_counter() - started


def report_labels(wanted: Sequence[str], found: Sequence[str], names: Sequence[str], title: str = "Test") -> Results:
    """Print and return the metrics of each label."""
    metrics = require("sklearn.metrics", "examples")
    accuracy = float(metrics.accuracy_score(wanted, found))
    options = {"labels": names, "zero_division": 0}
    report = metrics.classification_report(
        wanted, found, digits=3, target_names=[printable(name) for name in names], **options
    )
    print(f"{title} accuracy {accuracy:.4f}\n\n{report}")
    if (advice := diagnose_labels(wanted, found)) is not None:
        print(printable(advice))
    columns = metrics.precision_recall_fscore_support(wanted, found, **options)
    measures = ("precision", "recall", "f1-score", "support")
    by_label = {name: dict(zip(measures, map(float, row))) for name, row in zip(names, zip(*columns))}
    return {"test_accuracy": accuracy, "test_labels": by_label}


def report_scores(wanted: Sequence[float], found: Any, title: str = "Test") -> Results:
    """Print and return the metrics of scores."""
    measures = {
        "test_pearson": pearson(wanted, found),
        "test_spearman": spearman(wanted, found),
        "test_squared_error": float(np.mean((np.array(wanted) - found) ** 2)),
    }
    print(f"{title} " + ", ".join(f"{name.removeprefix('test_')} {value:.4f}" for name, value in measures.items()))
    return measures


def write_predictions(path: Path, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a tab-separated table with one line per example; escape control characters."""
    if is_chief():
        lines = ["\t".join(printable(str(cell)) for cell in row) for row in (heads, *rows)]
        with complete_file(path) as unfinished:
            unfinished.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="backslashreplace")


def draw_confusion(wanted: Sequence[str], found: Sequence[str], names: Sequence[str], path: Path) -> None:
    """Draw the confusion matrix."""
    counts = require("sklearn.metrics", "examples").confusion_matrix(wanted, found, labels=names)
    draw(path, functools.partial(confusion_matrix, counts, names))


def draw_learning_curve(history: dict[str, list[float]], best_epoch: int, path: Path) -> None:
    """Draw losses and scores by epoch."""
    draw(path, functools.partial(learning_curve, {readable(name): row for name, row in history.items()}, best_epoch))


def draw(path: Path, picture: Callable[[Path], None]) -> None:
    """Draw a picture; if that fails, only print a message, because a finished run should not be lost for it."""
    if not is_chief():
        return
    try:
        picture(path)
    except Exception as error:
        print(f"{path} could not be drawn: {' '.join(str(error).split())}", file=sys.stderr)


def print_files(folder: Path, results: Path) -> None:
    """Print the files that a run has written."""
    own = {"run.json", "progress.json", "settings.json", "results.json", "model.keras"}
    beside = sorted(path.name for path in folder.iterdir() if path.name not in own and path.suffix != ".h5")
    print(f"Saved {folder / 'model.keras'} (next to it: {', '.join(['results.json', *beside])})")
    print(f"Added a line of results to {results}. Use the model: keras-slstm predict {folder / 'model.keras'} TEXT\n")
