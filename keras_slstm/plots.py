"""Plots (extra: `plots`).

Every function returns the matplotlib figure, which notebooks display, and saves it if given a path.
"""

from __future__ import annotations

import functools
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_slstm.extras import require
from keras_slstm.files import complete_file
from keras_slstm.ops.label_schemes import allowed_transitions
from keras_slstm.printable import printable

__all__ = [
    "check_picture_name",
    "confusion_matrix",
    "depth_histogram",
    "gate_histograms",
    "learning_curve",
    "transition_matrix",
    "word_depths",
]

PathLike = str | os.PathLike[str]
_LONGEST_NAME = 40
_MOST_LABELS = 25  # a confusion matrix merges labels beyond this number
_FORBIDDEN = "0.85"  # grey; a score of zero is white


def check_picture_name(path: PathLike) -> None:
    """Check the file name of a plot, before computing anything expensive for it.

    Args:
        path: The file.

    Raises:
        ValueError: If the suffix is not a supported format.
        ImportError: If matplotlib is missing.
    """
    known = require("matplotlib.backend_bases", "plots").FigureCanvasBase.get_supported_filetypes()
    if Path(path).suffix.removeprefix(".").lower() not in known:
        endings = ", ".join(f".{ending}" for ending in sorted(known))
        raise ValueError(f"The name of a picture must end in one of {endings}, but got {str(path)!r}.")


def confusion_matrix(counts: Any, labels: Sequence[str], path: PathLike | None = None) -> Any:
    """Draw a confusion matrix: a row for each true label, coloured by its share of the row.

    With more than 25 labels, it shows the 24 that are confused most often and merges the others.

    Args:
        counts: `(labels, labels)` non-negative integers, [true label, predicted label].
        labels: The label names.
        path: The file to write, if any; its suffix selects the format (`.png`, `.pdf`, `.svg`).

    Returns:
        The figure.

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
    title = f"{np.trace(counts):,} of {counts.sum():,} right"
    counts, labels = _most_confused(counts, labels)
    n = len(labels)

    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    side = max(3.0, 1.6 + 0.45 * n)
    figure = _new_figure(side + 0.8, side)
    axes = figure.add_subplot()
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    figure.colorbar(image, ax=axes, label="share of the true label", fraction=0.046, pad=0.03)
    _name_ticks(axes.xaxis, labels, rotation=45, ha="right", rotation_mode="anchor")
    _name_ticks(axes.yaxis, labels)
    axes.set(xlabel="predicted", ylabel="true", title=title)
    for row, column in zip(*np.nonzero(counts)):
        color = "white" if shares[row, column] > 0.55 else "black"
        axes.text(column, row, f"{counts[row, column]:,}", ha="center", va="center", color=color, size=8)
    _write(figure, path, dpi=150, bbox_inches="tight")
    return figure


def _most_confused(counts: np.ndarray, labels: Sequence[str]) -> tuple[np.ndarray, Sequence[str]]:
    """Keep the labels with the most errors and merge the others."""
    if len(labels) <= _MOST_LABELS:
        return counts, labels
    errors = counts.sum(axis=0) + counts.sum(axis=1) - 2 * counts.diagonal()
    shown = np.sort(np.argsort(-errors, kind="stable")[: _MOST_LABELS - 1])
    place = np.full(len(labels), _MOST_LABELS - 1)
    place[shown] = np.arange(len(shown))
    merged = np.zeros((_MOST_LABELS, _MOST_LABELS), counts.dtype)
    np.add.at(merged, (place[:, None], place[None, :]), counts)
    return merged, [*(labels[i] for i in shown), f"{len(labels) - len(shown)} others"]


def transition_matrix(
    scores: Any, labels: Sequence[str], path: PathLike | None = None, scheme: str | None = None
) -> Any:
    """Draw the transition scores of a CRF, from row label to column label.

    Labels of the same span type are adjacent. White means a score of zero, grey a forbidden transition.

    Args:
        scores: `(labels, labels)`: the weight `chain_kernel` of a `CRF` layer.
        labels: The label names.
        path: The file to write, if any; its suffix selects the format (`.png`, `.pdf`, `.svg`).
        scheme: A scheme of `CRF`, such as `"BIO"` or `"BIOES"`: transitions that it rules out are grey.

    Returns:
        The figure.

    Raises:
        ValueError: If `scores` does not fit `labels`, or the labels do not belong to the scheme.
        ImportError: If matplotlib is missing.

    Example:

    ```python
    transition_matrix(model.head_layer.chain_kernel, model.labels, "transitions.png", model.scheme)
    ```
    """
    scores = np.array(scores, dtype=float)
    n = len(labels)
    if scores.shape != (n, n):
        raise ValueError(f"`scores` must have shape ({n}, {n}) for {n} labels, but has {scores.shape}.")
    groups = [""] * n
    if scheme is not None:
        scores[~allowed_transitions(labels, scheme).transitions] = np.nan
        types = [label.partition("-")[2] for label in labels]
        order = sorted(range(n), key=lambda i: (types[i], i))
        scores, labels, groups = scores[np.ix_(order, order)], [labels[i] for i in order], [types[i] for i in order]
    many = n > 20
    side = max(3.0, 1.6 + (0.19 if many else 0.32) * n)
    figure = _new_figure(side + 0.8, side)
    axes = figure.add_subplot()
    axes.set_facecolor(_FORBIDDEN)
    limit = np.nanmax(np.abs(scores), initial=1e-6)
    image = axes.imshow(scores, cmap="RdBu", vmin=-limit, vmax=limit)
    figure.colorbar(image, ax=axes, label="score", fraction=0.046, pad=0.03)
    _name_ticks(axes.xaxis, labels, rotation=90 if many else 45, ha="center" if many else "right", size=8)
    _name_ticks(axes.yaxis, labels, size=8)
    axes.set(xlabel="to", ylabel="from")
    for place in (i for i in range(1, n) if groups[i] != groups[i - 1]):
        axes.axhline(place - 0.5, color="0.5", linewidth=0.5)
        axes.axvline(place - 0.5, color="0.5", linewidth=0.5)
    if np.isnan(scores).any():
        axes.set_title("grey: forbidden", size=9, loc="right")
    if not many:  # more numbers would be illegible
        for row, column in zip(*np.nonzero(~np.isnan(scores))):
            color = "white" if abs(scores[row, column]) > 0.6 * limit else "black"
            axes.text(column, row, f"{scores[row, column]:.1f}", ha="center", va="center", color=color, size=6)
    _write(figure, path, dpi=150, bbox_inches="tight")
    return figure


def gate_histograms(layers: Mapping[int, Sequence[Any]], path: PathLike | None = None) -> Any:
    """Draw histograms of the vertical gates of a CAS-LSTM (Figure 4 of Choi, Kim and Lee, 2019), one column per layer.

    From top to bottom: the values of the vertical forget gate g, their range over the units of a word, and how far
    they are from the output gate o of the layer below.

    Args:
        layers: Maps each layer number to three rows of counts `(bins,)` over equal bins of [0, 1]: the attribute
            `layers` of `GateHistograms`.
        path: The file to write, if any; its suffix selects the format (`.png`, `.pdf`, `.svg`).

    Returns:
        The figure.

    Raises:
        ValueError: If there is no layer, or a layer does not have three rows of counts.
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
    figure = _new_figure(3.4 * len(counts) + 0.6, 7.0)
    grid = figure.subplots(3, len(counts), squeeze=False, sharex=True, sharey="row")
    for column, (layer, rows) in enumerate(sorted(counts.items())):
        names = (
            f"vertical gate of layer {layer}, $g^{{{layer}}}$",
            "its range over the units of a word",
            f"its distance from the output gate below, $|g^{{{layer}}} - o^{{{layer - 1}}}|$",
        )
        for axes, values, name in zip(grid[:, column], rows, names):
            width = 1 / len(values)
            axes.bar(width * np.arange(len(values)), 100 * values / max(values.sum(), 1), width, align="edge")
            axes.set_title(name, size=9)
            axes.set_xlim(0, 1)
            if column == 0:
                axes.set_ylabel("percent")
    _write(figure, path, dpi=150)
    return figure


def word_depths(
    sentences: Sequence[tuple[Sequence[str], Any]],
    max_depth: int,
    path: PathLike | None = None,
    words_per_line: int = 25,
    *,
    words_a_line: int | None = None,
) -> Any:
    """Draw the depths of words (Figure 4 of Liu et al., 2020): one column per word, one cell per layer.

    Args:
        sentences: The words of each sentence and their depths, as returned by `read_depths`.
        max_depth: The largest depth.
        path: The file to write, if any; its suffix selects the format (`.png`, `.pdf`, `.svg`).
        words_per_line: The number of words per line; longer sentences wrap.
        words_a_line: The former name of `words_per_line`.

    Returns:
        The figure.

    Raises:
        ValueError: If there is no sentence, or a sentence does not have one depth per word.
        ImportError: If matplotlib is missing.

    Example:

    ```python
    word_depths([(["a", "twisted", "thriller"], [1, 7, 9])], 9, "depths.png")
    ```
    """
    words_per_line = words_a_line or words_per_line
    lines: list[tuple[Sequence[str], np.ndarray]] = []
    for words, depths in sentences:
        depths = np.asarray(depths)
        if depths.shape != (len(words),):
            raise ValueError(f"Pass one depth per word: got {len(words)} words with depths of shape {depths.shape}.")
        starts = range(0, len(words), words_per_line)
        lines += [(words[i : i + words_per_line], depths[i : i + words_per_line]) for i in starts]
    if not lines:
        raise ValueError(f"`sentences` must contain at least one sentence, but got {sentences!r}.")
    colours = require("matplotlib", "plots").colormaps["viridis_r"].resampled(max_depth)
    width = max(len(words) for words, _ in lines)
    figure = _new_figure(2.3 + 0.4 * width, 1.8 * len(lines))
    grid = np.ravel(figure.subplots(len(lines), 1, squeeze=False))
    for axes, (words, depths) in zip(grid, lines):
        cells = np.full((max_depth, width), np.nan)
        for column, depth in enumerate(depths):
            cells[:depth, column] = depth
        image = axes.imshow(
            cells, cmap=colours, vmin=0.5, vmax=max_depth + 0.5, origin="lower", aspect="auto", interpolation="nearest"
        )
        _name_ticks(axes.xaxis, words, rotation=45, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(max_depth), [str(n) if n in (1, max_depth) else "" for n in _up_to(max_depth)])
        axes.set_ylabel("layer")
        axes.spines[["top", "right"]].set_visible(False)
    bar = figure.colorbar(image, ax=list(grid), label="depth of the word", ticks=_up_to(max_depth), pad=0.01)
    bar.ax.minorticks_off()
    _write(figure, path, dpi=120)
    return figure


def depth_histogram(counts: Any, path: PathLike | None = None) -> Any:
    """Draw a histogram of the depths of words.

    Args:
        counts: `(max_depth,)`: the attribute `counts` of `DepthCounts`.
        path: The file to write, if any; its suffix selects the format (`.png`, `.pdf`, `.svg`).

    Returns:
        The figure.

    Raises:
        ValueError: If `counts` is not a non-empty vector.
        ImportError: If matplotlib is missing.

    Example:

    ```python
    depth_histogram(counts.counts, "depths.png")
    ```
    """
    counts = np.asarray(counts)
    if counts.ndim != 1 or not len(counts):
        raise ValueError(f"`counts` must have shape (max_depth,), but has {counts.shape}.")
    figure = _new_figure(4.5, 3.0)
    axes = figure.add_subplot()
    axes.bar(_up_to(len(counts)), 100 * counts / max(counts.sum(), 1))
    axes.set_xticks(_up_to(len(counts)))
    axes.set(xlabel="depth", ylabel="percent of the words", title=f"{counts.sum():,} words")
    _write(figure, path, dpi=150)
    return figure


def learning_curve(history: Mapping[str, Sequence[float]], best_epoch: int = 0, path: PathLike | None = None) -> Any:
    """Draw learning curves by epoch: losses on the left, scores on the right.

    Args:
        history: Maps each name to its values, one per epoch. Names that contain `loss` are losses; `learning rate` is
            left out.
        best_epoch: The epoch whose weights are kept, counted from 1; 0 for none.
        path: The file to write, if any; its suffix selects the format (`.png`, `.pdf`, `.svg`).

    Returns:
        The figure.

    Raises:
        ValueError: If there is no epoch.
        ImportError: If matplotlib is missing.

    Example:

    ```python
    learning_curve({"loss": [0.9, 0.5], "development accuracy": [0.7, 0.8]}, 2, "learning_curve.png")
    ```
    """
    curves = {name: values for name, values in history.items() if name != "learning rate" and len(values)}
    if not curves:
        raise ValueError("`history` has no epoch.")
    losses = {name: values for name, values in curves.items() if "loss" in name}
    scores = {name: values for name, values in curves.items() if "loss" not in name}
    panels = [panel for panel in (losses, scores) if panel]
    figure = _new_figure(4.6 * len(panels), 3.4)
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels):
        for name, values in panel.items():
            axes.plot(range(1, len(values) + 1), values, marker="o", markersize=3, label=name)
        if best_epoch:
            axes.axvline(best_epoch, color="gray", linestyle=":", label="best epoch")
        axes.set_xlabel("epoch")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2, frameon=False)  # below the data
    _write(figure, path, dpi=150, bbox_inches="tight")
    return figure


def _up_to(last: int) -> list[int]:
    return list(range(1, last + 1))


def _name_ticks(axis: Any, names: Sequence[str], **options: Any) -> None:
    """Label the ticks of an axis, shortening long names; dollar signs do not start a formula."""
    short = [name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…" for name in map(printable, names)]
    axis.set_ticks(range(len(names)), short, parse_math=False, usetex=False, **options)


def _new_figure(width: float, height: float) -> Any:
    """Create a figure without pyplot, which would keep it in memory and might open a window."""
    figure = require("matplotlib.figure", "plots").Figure(figsize=(width, height), layout="constrained")
    figure._repr_png_ = functools.partial(_png, figure)  # notebooks display it
    return figure


def _png(figure: Any) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=100, bbox_inches="tight")
    return file.getvalue()


def _write(figure: Any, path: PathLike | None, **options: Any) -> None:
    if path is not None:
        check_picture_name(path)
        with complete_file(path) as unfinished:
            figure.savefig(unfinished, **options)
