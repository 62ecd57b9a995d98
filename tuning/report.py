"""Say what a search has found: a table, pictures, and a page to open in a browser.

    python tuning/report.py runs/travel_desk-random

writes `report.html`, one file with all pictures in it, and the pictures by themselves, into the folder of the search.
Of a search that still runs it shows what there is.
"""

from __future__ import annotations

import argparse
import base64
import html
import json
import os
import statistics
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # TensorFlow is talkative

from keras_slstm.extras import require
from keras_slstm.files import complete_file
from keras_slstm.tuning import read_confirmation, read_search, read_trials
from keras_slstm.tuning.records import format_scores

Records = Sequence[dict[str, Any]]
FEW = 12  # values of a hyperparameter that are drawn one by one
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 68rem; padding: 0 1rem; color: #1b1f24; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
table { border-collapse: collapse; font-size: 13px; } .wide { overflow-x: auto; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid #d8dee4; white-space: nowrap; }
th { background: #f3f5f7; } td:first-child, th:first-child { text-align: left; }
tr.best td { background: #e7f5ea; font-weight: 600; } tr.failed td { color: #a40e26; }
table.reasons td { text-align: left; white-space: normal; }
img { max-width: 100%; } pre { background: #f3f5f7; padding: .8rem; overflow-x: auto; }
"""


def main() -> int:
    """Write the report; the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("folder", type=Path, help="folder of a search")
    args = parser.parse_args()
    try:
        about, trials = read_search(args.folder), read_trials(args.folder)
        if not any("score" in trial for trial in trials):
            raise ValueError(f"{args.folder}: no trial has succeeded yet, of {len(trials)} that have ended.")
        pictures = draw(about, trials, args.folder)
        print_table(about, trials)
        confirmation = read_confirmation(args.folder)
        if confirmation is not None:
            print("\nOn the test set:")
            print_rows(confirmed_rows(confirmation))
        with complete_file(args.folder / "report.html") as unfinished:
            unfinished.write_text(page(args.folder.name, about, trials, pictures, confirmation), encoding="utf-8")
    except (ValueError, OSError, ImportError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"\nWrote {args.folder / 'report.html'}")
    return 0


# The columns of the trials.


def searched(trials: Records) -> list[str]:
    """The hyperparameters that differ among the trials, in the order of the space."""
    found: dict[str, set[str]] = defaultdict(set)
    for trial in trials:
        for name, value in trial["values"].items():
            found[name].add(repr(value))
    return [name for name, values in found.items() if not name.startswith("tuner/") and len(values) > 1]


def ranked(about: dict[str, Any], trials: Records) -> list[dict[str, Any]]:
    """The trials, best first; those that have failed at the end."""
    sign = -1 if about["direction"] == "max" else 1
    done = [trial for trial in trials if "score" in trial]
    failed = [trial for trial in trials if "score" not in trial]
    return sorted(done, key=lambda trial: sign * trial["score"]) + failed


def rows(about: dict[str, Any], trials: Records) -> tuple[list[str], list[list[str]]]:
    """The head and the rows of the table of trials."""
    names = searched(trials)
    head = ["trial", about["objective"], *names, "parameters", "s / epoch", "epochs", "seconds"]
    table = []
    for trial in ranked(about, trials):
        values = [_text(trial["values"].get(name, "")) for name in names]
        if "score" in trial:
            score = format_scores([run["score"] for run in trial["runs"].values()])
            seconds = trial["seconds_per_epoch"]
            rest = [f"{trial['parameters']:,}", "" if seconds is None else f"{seconds:.1f}", str(trial["epochs"])]
        else:
            score, rest = "failed", ["", "", ""]
        table.append([str(trial["trial"]), score, *values, *rest, f"{trial['seconds']:.0f}"])
    return head, table


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def print_table(about: dict[str, Any], trials: Records) -> None:
    """The table, the reasons of failures, and the best configuration."""
    head, table = rows(about, trials)
    print_rows([head, *table])
    for trial in trials:
        if "failure" in trial:
            print(f"trial {trial['trial']} failed: {trial['failure']}")
    best = ranked(about, trials)[0]
    print(f"\nBest: trial {best['trial']}, {about['objective']} {best['score']:.4f}")
    print(json.dumps(best["settings"], indent=1, ensure_ascii=False))


def print_rows(table: Sequence[Sequence[str]]) -> None:
    """Rows of cells, in columns."""
    widths = [max(map(len, column)) for column in zip(*table)]
    for row in table:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths)))


# Pictures.


def draw(about: dict[str, Any], trials: Records, folder: Path) -> list[tuple[str, Path]]:
    """The pictures, as files: what each shows, and where it is."""
    done = [trial for trial in trials if "score" in trial]
    pictures = []
    for title, name, figure in (
        ("Against each hyperparameter", "hyperparameters.png", draw_hyperparameters(about, done)),
        ("Against parameters and time", "cost.png", draw_cost(about, done)),
        ("In the course of the search", "course.png", draw_course(about, done)),
        ("Against steps, for each window", "figure2.png", draw_windows(about, done)),
    ):
        if figure is not None:
            with complete_file(folder / name) as unfinished:
                figure.savefig(unfinished, dpi=120)
            pictures.append((title, folder / name))
    return pictures


def make_figure(plots: int, width: float = 3.6, height: float = 3.0) -> tuple[Any, list[Any]]:
    """A figure of so many plots, three in a row at most."""
    figure_module = require("matplotlib.figure", "plots")
    columns = min(plots, 3)
    lines = -(-plots // columns)
    figure = figure_module.Figure(figsize=(width * columns, height * lines), layout="constrained")
    axes = [figure.add_subplot(lines, columns, i + 1) for i in range(plots)]
    return figure, axes


def draw_hyperparameters(about: dict[str, Any], done: Records) -> Any:
    """The objective of all trials against the value of each hyperparameter; a line through the means of each value."""
    names = searched(done)
    if not names:
        return None
    figure, all_axes = make_figure(len(names))
    for name, axes in zip(names, all_axes):
        points = [(trial["values"][name], trial["score"]) for trial in done if name in trial["values"]]
        numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value, _ in points)
        values = sorted({value for value, _ in points}, key=lambda v: v if numbers else str(v))
        if numbers and (len(values) > FEW or name in drawn_from_ranges(about)):
            scatter(axes, points)
        else:
            places = {value: i for i, value in enumerate(values)}
            axes.scatter([places[value] for value, _ in points], [score for _, score in points], s=14, alpha=0.6)
            means = [statistics.fmean(score for value, score in points if value == v) for v in values]
            axes.plot(range(len(values)), means, color="C1", marker="_", ms=12, lw=1.2 if numbers else 0)
            turned = not numbers and max(len(str(v)) for v in values) > 6
            axes.set_xticks(range(len(values)), [_text(v) for v in values], rotation=30 if turned else 0,
                            ha="right" if turned else "center")  # fmt: skip
        axes.set_xlabel(name)
        axes.set_ylabel(about["objective"])
    return figure


def draw_cost(about: dict[str, Any], done: Records) -> Any:
    """The objective against the number of parameters and the seconds an epoch."""
    figure, all_axes = make_figure(2, width=4.6)
    for axes, key, label in zip(all_axes, ("parameters", "seconds_per_epoch"), ("parameters", "seconds an epoch")):
        points = [(trial[key], trial["score"]) for trial in done if trial[key] is not None]
        if points:
            scatter(axes, points)
            axes.xaxis.set_major_formatter(require("matplotlib.ticker", "plots").EngFormatter(sep=""))
        axes.set_xlabel(label)
        axes.set_ylabel(about["objective"])
    return figure


def scatter(axes: Any, points: Sequence[tuple[float, float]]) -> None:
    """Points, on a logarithmic axis where they reach far."""
    axes.scatter(*zip(*points), s=16, alpha=0.7)
    least, most = min(x for x, _ in points), max(x for x, _ in points)
    if least > 0 and most / least >= 20:
        axes.set_xscale("log")


def drawn_from_ranges(about: dict[str, Any]) -> set[str]:
    """The hyperparameters that may have any value of a range, so that hardly two trials share one."""
    found = [p["config"] for p in about["hypermodel"]["space"] if p["class_name"] == "Float"]
    return {config["name"] for config in found if config["step"] is None}


def draw_course(about: dict[str, Any], done: Records) -> Any:
    """The objective of each trial in turn, and the best so far."""
    figure, (axes,) = make_figure(1, width=6.0)
    better = max if about["direction"] == "max" else min
    scores = [trial["score"] for trial in done]
    numbers = [int(trial["trial"]) for trial in done]
    axes.scatter(numbers, scores, s=16, alpha=0.7)
    axes.step(numbers, [better(scores[: i + 1]) for i in range(len(scores))], where="post", color="C1", lw=1.2)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("trial")
    axes.set_ylabel(about["objective"])
    return figure


def draw_windows(about: dict[str, Any], done: Records) -> Any:
    """Figure 2 of the S-LSTM's paper, where a search has tried several steps and windows, and nothing else."""
    if {*searched(done)} != {"slstm/steps", "slstm/window"}:
        return None
    figure, (axes,) = make_figure(1, width=6.0, height=3.8)
    for window in sorted({trial["values"]["slstm/window"] for trial in done}):
        points = sorted(
            (trial["values"]["slstm/steps"], trial["score"])
            for trial in done
            if trial["values"]["slstm/window"] == window
        )
        axes.plot(*zip(*points), marker="o", ms=4, label=f"window {window}")
    axes.set_xlabel("steps")
    axes.set_ylabel(about["objective"])
    axes.legend()
    return figure


# The page.


def page(
    name: str,
    about: dict[str, Any],
    trials: Records,
    pictures: Sequence[tuple[str, Path]],
    confirmation: dict[str, Any] | None = None,
) -> str:
    """The report as one HTML file, with the pictures in it."""
    escape = html.escape
    best = ranked(about, trials)[0]
    failures = {str(trial["trial"]): trial["failure"] for trial in trials if "failure" in trial}
    hours = sum(trial["seconds"] for trial in trials) / 3600
    seeds = ", ".join(map(str, about["seeds"]))
    parts = [
        f"<h1>{escape(name)}</h1>",
        f"<p>{escape(about['hypermodel']['task'])}, tuner {escape(about['tuner'])}, on {escape(about['backend'])}: "
        f"{len(trials)} trials, {len(failures)} of which failed, in {hours:.2f} hours of training; at most "
        f"{about['epochs']} epochs, seeds {seeds}.</p>",
        f"<h2>Best: {escape(about['objective'])} {best['score']:.4f} (trial {best['trial']})</h2>",
        f"<pre>{escape(json.dumps(best['settings'], indent=1, ensure_ascii=False))}</pre>",
    ]
    if confirmation is not None:
        anew = ", ".join(map(str, confirmation["seeds"]))
        parts.append(
            f"<h2>On the test set: {escape(confirmation['objective'].removeprefix('val_'))}</h2>\n"
            f"<p>Trained anew with seeds {anew}, which the search has not used; mean and standard deviation.</p>\n"
            f"{html_table(confirmed_rows(confirmation))}"
        )
    for title, path in pictures:
        data = base64.b64encode(path.read_bytes()).decode("ascii")
        parts.append(f'<h2>{escape(title)}</h2>\n<img alt="{escape(title)}" src="data:image/png;base64,{data}">')
    head, table = rows(about, trials)
    kinds = {str(best["trial"]): "best", **dict.fromkeys(failures, "failed")}
    parts.append(f"<h2>Trials</h2>\n{html_table([head, *table], kinds)}")
    if failures:
        reasons = [[trial, reason] for trial, reason in failures.items()]
        parts.append(f"<h2>Failures</h2>\n{html_table([['trial', 'reason'], *reasons], kind='reasons')}")
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(name)}</title>\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def confirmed_rows(confirmation: dict[str, Any]) -> list[list[str]]:
    """A table, with its head, of the best settings beside the defaults."""
    table = [["settings", "development", "test", "parameters", "s / epoch"]]
    for each in confirmation["configurations"]:
        name = each["name"] if each["trial"] is None else f"{each['name']} (trial {each['trial']})"
        scores = [format_scores(each["development"]), format_scores(each["test"])]
        seconds = each["seconds_per_epoch"]
        table.append([name, *scores, f"{each['parameters']:,}", "" if seconds is None else f"{seconds:.1f}"])
    return table


def html_table(table: Sequence[Sequence[str]], kinds: Mapping[str, str] | None = None, kind: str = "") -> str:
    """A table whose first row is its head; the kinds of rows by their first cells."""
    head, *others = table
    lines = ["<tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in head) + "</tr>"]
    for row in others:
        cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in row)
        lines.append(f'<tr class="{(kinds or {}).get(row[0], "")}">{cells}</tr>')
    return f'<div class="wide"><table class="{kind}">\n{chr(10).join(lines)}\n</table></div>'


if __name__ == "__main__":
    sys.exit(main())
