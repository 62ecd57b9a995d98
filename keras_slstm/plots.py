"""Pictures (extra: `plots`)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_slstm.extras import require
from keras_slstm.files import complete_file
from keras_slstm.ops.label_schemes import allowed_transitions
from keras_slstm.printable import printable

_LONGEST_NAME = 40


def check_picture_name(path: str | os.PathLike[str]) -> None:
    """Check the name of a picture, before anything long is computed for it.

    Args:
        path: The file.

    Raises:
        ValueError: If its ending is not one of a picture format.
        ImportError: If matplotlib is missing.
    """
    known = require("matplotlib.backend_bases", "plots").FigureCanvasBase.get_supported_filetypes()
    if Path(path).suffix.removeprefix(".").lower() not in known:
        endings = ", ".join(f".{ending}" for ending in sorted(known))
        raise ValueError(f"The name of a picture must end in one of {endings}, but got {str(path)!r}.")


def _name_ticks(axis: Any, names: Sequence[str], **options: Any) -> None:
    """Write names beside an axis as they are: no dollar sign begins a formula, and each stays on one short line."""
    short = [name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…" for name in map(printable, names)]
    axis.set_ticks(range(len(names)), short, parse_math=False, usetex=False, **options)


def _write(figure: Any, path: str | os.PathLike[str], **options: Any) -> None:
    check_picture_name(path)
    with complete_file(path) as unfinished:
        figure.savefig(unfinished, **options)


def confusion_matrix(counts: Any, labels: Sequence[str], path: str | os.PathLike[str]) -> None:
    """Draw a confusion matrix: a row for each true label, coloured by its share of the row.

    Args:
        counts: `(labels, labels)` of non-negative integers: true label by predicted label.
        labels: The label names.
        path: Where to write the picture; the ending says the format (`.png`, `.pdf`, `.svg`).

    Raises:
        ValueError: If `counts` does not fit `labels`.
        ImportError: If matplotlib is missing.

    Example:

    ```python
    confusion_matrix([[8, 2], [1, 9]], ["cancel", "book"], "confusion.png")
    ```
    """
    counts = np.asarray(counts)
    n = len(labels)
    if counts.shape != (n, n):
        raise ValueError(f"`counts` must have shape ({n}, {n}) for {n} labels, but has {counts.shape}.")
    figure_module = require("matplotlib.figure", "plots")  # no pyplot: no state, no window

    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    side = max(3.0, 1.6 + 0.45 * n)
    figure = figure_module.Figure(figsize=(side + 0.8, side), layout="constrained")
    axes = figure.add_subplot()
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    figure.colorbar(image, ax=axes, label="share of the true label", fraction=0.046, pad=0.03)
    _name_ticks(axes.xaxis, labels, rotation=45, ha="right", rotation_mode="anchor")
    _name_ticks(axes.yaxis, labels)
    axes.set_xlabel("predicted")
    axes.set_ylabel("true")
    axes.set_title(f"{np.trace(counts):,} of {counts.sum():,} right")
    if n <= 30:  # beyond that the numbers would not be legible
        for row, column in zip(*np.nonzero(counts)):
            color = "white" if shares[row, column] > 0.55 else "black"
            axes.text(column, row, f"{counts[row, column]:,}", ha="center", va="center", color=color, size=8)
    _write(figure, path, dpi=150, bbox_inches="tight")


def transition_matrix(
    scores: Any, labels: Sequence[str], path: str | os.PathLike[str], scheme: str | None = None
) -> None:
    """Draw the transition scores of a CRF: from the label of a row to that of a column.

    Args:
        scores: `(labels, labels)`: the weight `chain_kernel` of a `CRF` layer.
        labels: The label names.
        path: Where to write the picture; the ending says the format (`.png`, `.pdf`, `.svg`).
        scheme: `"BIO"` or `"BIOES"`: transitions that it rules out are left blank.

    Raises:
        ValueError: If `scores` does not fit `labels`, or the labels do not belong to the scheme.
        ImportError: If matplotlib is missing.

    Example:

    ```python
    transition_matrix(model.head.chain_kernel, model.labels, "transitions.png", model.scheme)
    ```
    """
    scores = np.array(scores, dtype=float)
    n = len(labels)
    if scores.shape != (n, n):
        raise ValueError(f"`scores` must have shape ({n}, {n}) for {n} labels, but has {scores.shape}.")
    figure_module = require("matplotlib.figure", "plots")
    if scheme is not None:
        scores[~allowed_transitions(labels, scheme).transitions] = np.nan
    side = max(3.0, 1.6 + 0.32 * n)
    figure = figure_module.Figure(figsize=(side + 0.8, side), layout="constrained")
    axes = figure.add_subplot()
    limit = np.nanmax(np.abs(scores))
    image = axes.imshow(scores, cmap="RdBu", vmin=-limit, vmax=limit)
    figure.colorbar(image, ax=axes, label="score", fraction=0.046, pad=0.03)
    _name_ticks(axes.xaxis, labels, rotation=45, ha="right", rotation_mode="anchor")
    _name_ticks(axes.yaxis, labels)
    axes.set_xlabel("to")
    axes.set_ylabel("from")
    if n <= 20:  # beyond that the numbers would not be legible
        for row, column in zip(*np.nonzero(~np.isnan(scores))):
            color = "white" if abs(scores[row, column]) > 0.6 * limit else "black"
            axes.text(column, row, f"{scores[row, column]:.1f}", ha="center", va="center", color=color, size=6)
    _write(figure, path, dpi=150, bbox_inches="tight")


def gate_histograms(layers: Mapping[int, Sequence[Any]], path: str | os.PathLike[str]) -> None:
    """Draw histograms of the vertical gates of a CAS-LSTM (Figure 4 of Choi, Kim and Lee, 2019), a column per layer.

    From top to bottom: the values of the vertical forget gate g, their range over the units of a word, and how far
    they are from the output gate o of the layer below.

    Args:
        layers: Three counts `(bins,)` over equal parts of [0, 1] for each layer, by its number: the attribute `layers`
            of `GateHistograms`.
        path: Where to write the picture; the ending says the format (`.png`, `.pdf`, `.svg`).

    Raises:
        ValueError: If there is no layer, or a layer has not three rows of counts.
        ImportError: If matplotlib is missing.

    Example:

    ```python
    gate_histograms(histograms.layers, "gates.png")
    ```
    """
    counts = {layer: np.asarray(rows, float) for layer, rows in layers.items()}
    if not counts or any(rows.ndim != 2 or len(rows) != 3 for rows in counts.values()):
        shapes = [rows.shape for rows in counts.values()]
        raise ValueError(f"`layers` must have counts of shape (3, bins) for each layer, but has {shapes}.")
    figure_module = require("matplotlib.figure", "plots")
    figure = figure_module.Figure(figsize=(3.4 * len(counts) + 0.6, 7.0), layout="constrained")
    grid = figure.subplots(3, len(counts), squeeze=False, sharex=True)
    for column, (layer, rows) in enumerate(sorted(counts.items())):
        titles = (f"$g_i^{layer}$", f"$R(\\mathbf{{g}}^{layer})$", f"$|g_i^{layer} - o_i^{layer - 1}|$")
        for axes, values, title in zip(grid[:, column], rows, titles):
            width = 1 / len(values)
            axes.bar(width * np.arange(len(values)), 100 * values / max(values.sum(), 1), width, align="edge")
            axes.set_title(title)
            axes.set_xlim(0, 1)
            if column == 0:
                axes.set_ylabel("percent")
    _write(figure, path, dpi=150)


def word_depths(
    sentences: Sequence[tuple[Sequence[str], Any]],
    max_depth: int,
    path: str | os.PathLike[str],
    words_a_line: int = 25,
) -> None:
    """Draw the depths of words (Figure 4 of Liu et al., 2020): a column per word, with a cell for each layer.

    Args:
        sentences: The words of each sentence, and the depth of each word, such as `read_depths` returns.
        max_depth: The largest depth.
        path: Where to write the picture; the ending says the format (`.png`, `.pdf`, `.svg`).
        words_a_line: Longer sentences are continued below.

    Raises:
        ValueError: If there is no sentence, or one has not a depth for each word.
        ImportError: If matplotlib is missing.

    Example:

    ```python
    word_depths([(["a", "twisted", "thriller"], [1, 7, 9])], 9, "depths.png")
    ```
    """
    lines: list[tuple[Sequence[str], np.ndarray]] = []
    for words, depths in sentences:
        depths = np.asarray(depths)
        if depths.shape != (len(words),):
            raise ValueError(f"`sentences` has {len(words)} words with depths of shape {depths.shape}.")
        starts = range(0, len(words), words_a_line)
        lines += [(words[i : i + words_a_line], depths[i : i + words_a_line]) for i in starts]
    if not lines:
        raise ValueError("`sentences` is empty.")
    figure_module = require("matplotlib.figure", "plots")
    width = max(len(words) for words, _ in lines)
    figure = figure_module.Figure(figsize=(1.5 + 0.4 * width, 1.8 * len(lines)), layout="constrained")
    for axes, (words, depths) in zip(np.ravel(figure.subplots(len(lines), 1, squeeze=False)), lines):
        cells = np.full((max_depth, width), np.nan)
        for column, depth in enumerate(depths):
            cells[:depth, column] = depth
        axes.imshow(cells, cmap="viridis_r", vmin=1, vmax=max_depth, origin="lower", aspect="auto")
        _name_ticks(axes.xaxis, words, rotation=45, ha="right")
        axes.set_yticks([0, max_depth - 1], ["1", str(max_depth)])
        axes.set_ylabel("layer")
    _write(figure, path, dpi=120)


def depth_histogram(counts: Any, path: str | os.PathLike[str]) -> None:
    """Draw a histogram of the depths of words.

    Args:
        counts: `(max_depth,)`: the attribute `counts` of `DepthCounts`.
        path: Where to write the picture; the ending says the format (`.png`, `.pdf`, `.svg`).

    Raises:
        ValueError: If `counts` is not a row of numbers.
        ImportError: If matplotlib is missing.

    Example:

    ```python
    depth_histogram(counts.counts, "depths.png")
    ```
    """
    counts = np.asarray(counts)
    if counts.ndim != 1 or not len(counts):
        raise ValueError(f"`counts` must have shape (max_depth,), but has {counts.shape}.")
    figure_module = require("matplotlib.figure", "plots")
    figure = figure_module.Figure(figsize=(4.5, 3.0), layout="constrained")
    axes = figure.add_subplot()
    numbers = np.arange(1, len(counts) + 1)
    axes.bar(numbers, 100 * counts / max(counts.sum(), 1))
    axes.set_xticks(numbers)
    axes.set(xlabel="depth", ylabel="percent of the words", title=f"{counts.sum():,} words")
    _write(figure, path, dpi=150)
