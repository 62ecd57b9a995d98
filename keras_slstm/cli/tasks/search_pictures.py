"""Pictures of a search."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from keras_slstm.cli.tasks import progress
from keras_slstm.extras import require
from keras_slstm.files import complete_file

Records = Sequence[dict[str, Any]]
FEW = 12  # up to this many values of a hyperparameter get equal spacing on the axis


def draw(about: dict[str, Any], trials: Records, folder: Path) -> list[tuple[str, Path]]:
    """Draw the successful trials to files; return the title and the file of each picture."""
    done = [trial for trial in trials if "score" in trial]
    pictures = []
    for title, name, picture in _PICTURES:
        figure = picture(about, done)
        if figure is not None:
            with complete_file(folder / name) as unfinished:
                figure.savefig(unfinished, dpi=120)
            pictures.append((title, folder / name))
    return pictures


def searched(trials: Records) -> list[str]:
    """The hyperparameters that differ among the trials, in the order of the space."""
    found: dict[str, set[str]] = defaultdict(set)
    for trial in trials:
        for name, value in trial["values"].items():
            found[name].add(repr(value))
    return [name for name, values in found.items() if not name.startswith("tuner/") and len(values) > 1]


def readable(name: str) -> str:
    """A hyperparameter or metric in words.

    >>> readable("slstm/sentence_nodes"), readable("val_f1"), readable("learning_rate")
    ('sentence nodes (slstm)', 'development F1', 'learning rate')
    """
    encoder, _, option = name.rpartition("/")
    return progress.readable(option) + (f" ({encoder})" if encoder else "")


def text_of(value: Any) -> str:
    """A value of a hyperparameter."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _figure(plots: int, width: float = 3.6, height: float = 3.0) -> tuple[Any, list[Any]]:
    """A figure with this number of plots, at most three in a row."""
    figure_module = require("matplotlib.figure", "plots")
    columns = min(plots, 3)
    lines = -(-plots // columns)
    figure = figure_module.Figure(figsize=(width * columns, height * lines), layout="constrained")
    axes = [figure.add_subplot(lines, columns, i + 1) for i in range(plots)]
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _hyperparameters(about: dict[str, Any], done: Records) -> Any:
    """The objective of all trials against each hyperparameter, with the mean of each value."""
    names = searched(done)
    if not names:
        return None
    figure, all_axes = _figure(len(names))
    for name, axes in zip(names, all_axes):
        points = [(trial["values"][name], trial["score"]) for trial in done if name in trial["values"]]
        numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value, _ in points)
        values = sorted({value for value, _ in points}, key=lambda value: value if numbers else str(value))
        if numbers and (len(values) > FEW or name in _continuous(about)):
            _scatter(axes, points)
        else:
            places = {value: i for i, value in enumerate(values)}
            axes.scatter([places[value] for value, _ in points], [score for _, score in points], s=14, alpha=0.6)
            means = [statistics.fmean(score for value, score in points if value == each) for each in values]
            axes.plot(range(len(values)), means, color="C1", marker="_", ms=12, lw=1.2 if numbers else 0)
            turned = not numbers and max(len(str(value)) for value in values) > 6
            axes.set_xticks(range(len(values)), [text_of(value) for value in values], rotation=30 if turned else 0,
                            ha="right" if turned else "center")  # fmt: skip
        axes.set_xlabel(readable(name))
        axes.set_ylabel(readable(about["objective"]))
    return figure


def _cost(about: dict[str, Any], done: Records) -> Any:
    """The objective against the number of parameters and the time of an epoch."""
    figure, all_axes = _figure(2, width=4.6)
    for axes, key, label in zip(all_axes, ("parameters", "seconds_per_epoch"), ("parameters", "seconds per epoch")):
        points = [(trial[key], trial["score"]) for trial in done if trial[key] is not None]
        if points:
            _scatter(axes, points)
            axes.xaxis.set_major_formatter(require("matplotlib.ticker", "plots").EngFormatter(sep=""))
        axes.set_xlabel(label)
        axes.set_ylabel(readable(about["objective"]))
    return figure


def _course(about: dict[str, Any], done: Records) -> Any:
    """The objective of each trial in turn, and the best so far."""
    figure, (axes,) = _figure(1, width=6.0)
    better = max if about["direction"] == "max" else min
    scores = [trial["score"] for trial in done]
    numbers = [int(trial["trial"]) for trial in done]
    axes.scatter(numbers, scores, s=16, alpha=0.7, label="trial")
    best = [better(scores[: i + 1]) for i in range(len(scores))]
    axes.step(numbers, best, where="post", color="C1", lw=1.2, label="best so far")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("trial")
    axes.set_ylabel(readable(about["objective"]))
    figure.legend(loc="outside upper right", ncols=2, frameon=False)
    return figure


def _steps_and_windows(about: dict[str, Any], done: Records) -> Any:
    """Figure 2 of the S-LSTM paper, if the search varied only steps and window."""
    if {*searched(done)} != {"slstm/steps", "slstm/window"}:
        return None
    figure, (axes,) = _figure(1, width=6.0, height=3.8)
    for window in sorted({trial["values"]["slstm/window"] for trial in done}):
        line = sorted(
            (trial["values"]["slstm/steps"], [run["score"] for run in trial["runs"].values()])
            for trial in done
            if trial["values"]["slstm/window"] == window
        )
        steps, scores = [each[0] for each in line], [each[1] for each in line]
        means = [statistics.fmean(each) for each in scores]
        axes.plot(steps, means, marker="o", ms=4, label=f"window {window}")
        if all(len(each) > 1 for each in scores):  # a band of one standard deviation over the seeds
            spreads = [statistics.stdev(each) for each in scores]
            axes.fill_between(steps, [m - s for m, s in zip(means, spreads)], [m + s for m, s in zip(means, spreads)],
                              alpha=0.15)  # fmt: skip
    axes.set_xlabel("steps")
    axes.set_ylabel(readable(about["objective"]))
    figure.legend(loc="outside right upper", frameon=False)
    return figure


_PICTURES: tuple[tuple[str, str, Callable[[dict[str, Any], Records], Any]], ...] = (
    ("Hyperparameters", "hyperparameters.png", _hyperparameters),
    ("Parameters and time", "cost.png", _cost),
    ("Course of the search", "course.png", _course),
    ("Steps and windows", "figure2.png", _steps_and_windows),
)


def _scatter(axes: Any, points: Sequence[tuple[float, float]]) -> None:
    """Draw points, on a logarithmic axis if their range is wide."""
    axes.scatter(*zip(*points), s=16, alpha=0.7)
    least, most = min(x for x, _ in points), max(x for x, _ in points)
    if least > 0 and most / least >= 20:
        axes.set_xscale("log")


def _continuous(about: dict[str, Any]) -> set[str]:
    """The hyperparameters with continuous values, which trials rarely share."""
    found = [each["config"] for each in about["hypermodel"]["space"] if each["class_name"] == "Float"]
    return {config["name"] for config in found if config["step"] is None}
