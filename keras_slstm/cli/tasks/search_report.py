"""The report on a search: a table, pictures, and an HTML page that contains both."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_slstm.cli.tasks.search_pictures import Records, draw, readable, searched, text_of
from keras_slstm.files import complete_file
from keras_slstm.tuning.records import format_scores, read_confirmation, read_search, read_trials

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


def report(folder: Path) -> int:
    """Print the trials of a search, even if it is still running, and write the report; return exit status 0.

    Raises:
        FileNotFoundError: If the folder holds no search.
        ValueError: If no trial has succeeded yet.
    """
    page = write_report(folder)
    print_trials(read_search(folder), read_trials(folder))
    confirmation = read_confirmation(folder)
    if confirmation is not None:
        print("\nOn the test part:")
        print_rows(confirmed_rows(confirmation))
    print(f"\nWrote {page}")
    return 0


def write_report(folder: Path) -> Path:
    """Write the pictures and `report.html`, which contains them, into the folder of a search; return the page."""
    about, trials = read_search(folder), read_trials(folder)
    if not any("score" in trial for trial in trials):
        raise ValueError(f"{folder}: none of the {len(trials)} ended trials has succeeded yet")
    pictures = draw(about, trials, folder)
    page = html_page(folder.name, about, trials, pictures, read_confirmation(folder))
    with complete_file(folder / "report.html") as unfinished:
        unfinished.write_text(page, encoding="utf-8")
    return folder / "report.html"


def ranked(about: dict[str, Any], trials: Records) -> list[dict[str, Any]]:
    """The trials, best first, and failed ones last."""
    sign = -1 if about["direction"] == "max" else 1
    done = [trial for trial in trials if "score" in trial]
    failed = [trial for trial in trials if "score" not in trial]
    return sorted(done, key=lambda trial: sign * trial["score"]) + failed


def trial_rows(about: dict[str, Any], trials: Records) -> list[list[str]]:
    """The table of trials, with a header row."""
    names = searched(trials)
    table = [["trial", about["objective"], *names, "parameters", "s / epoch", "epochs", "seconds"]]
    for trial in ranked(about, trials):
        values = [text_of(trial["values"].get(name, "")) for name in names]
        if "score" in trial:
            score = format_scores([run["score"] for run in trial["runs"].values()])
            seconds = trial["seconds_per_epoch"]
            rest = [f"{trial['parameters']:,}", "" if seconds is None else f"{seconds:.1f}", str(trial["epochs"])]
        else:
            score, rest = "failed", ["", "", ""]
        table.append([str(trial["trial"]), score, *values, *rest, f"{trial['seconds']:.0f}"])
    return table


def confirmed_rows(confirmation: dict[str, Any]) -> list[list[str]]:
    """The table of the best settings and the defaults, with a header row."""
    table = [["settings", "development", "test", "parameters", "s / epoch"]]
    for each in confirmation["configurations"]:
        name = each["name"] if each["trial"] is None else f"{each['name']} (trial {each['trial']})"
        scores = [format_scores(each["development"]), format_scores(each["test"])]
        seconds = each["seconds_per_epoch"]
        table.append([name, *scores, f"{each['parameters']:,}", "" if seconds is None else f"{seconds:.1f}"])
    return table


def print_trials(about: dict[str, Any], trials: Records) -> None:
    """Print the trials, the reasons of failures, and the best settings."""
    print_rows(trial_rows(about, trials))
    for trial in trials:
        if "failure" in trial:
            print(f"trial {trial['trial']} failed: {trial['failure']}")
    best = ranked(about, trials)[0]
    print(f"\nBest: trial {best['trial']}, {about['objective']} {best['score']:.4f}")
    print(json.dumps(best["settings"], indent=1, ensure_ascii=False))


def print_rows(table: Sequence[Sequence[str]]) -> None:
    """Print rows in columns."""
    widths = [max(map(len, column)) for column in zip(*table)]
    for row in table:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths)))


def html_page(
    name: str,
    about: dict[str, Any],
    trials: Records,
    pictures: Sequence[tuple[str, Path]],
    confirmation: dict[str, Any] | None,
) -> str:
    """The report as one HTML file."""
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
        f"<h2>Best: {escape(readable(about['objective']))} {best['score']:.4f} (trial {best['trial']})</h2>",
        f"<pre>{escape(json.dumps(best['settings'], indent=1, ensure_ascii=False))}</pre>",
    ]
    if confirmation is not None:
        new = ", ".join(map(str, confirmation["seeds"]))
        parts.append(
            f"<h2>On the test part: {escape(readable(confirmation['objective'].removeprefix('val_')))}</h2>\n"
            f"<p>Trained with seeds {new}, which the search did not use; mean and standard deviation.</p>\n"
            f"{html_table(confirmed_rows(confirmation))}"
        )
    for title, path in pictures:
        data = base64.b64encode(path.read_bytes()).decode("ascii")
        parts.append(f'<h2>{escape(title)}</h2>\n<img alt="{escape(title)}" src="data:image/png;base64,{data}">')
    kinds = {str(best["trial"]): "best", **dict.fromkeys(failures, "failed")}
    parts.append(f"<h2>Trials</h2>\n{html_table(trial_rows(about, trials), kinds)}")
    if failures:
        reasons = [["trial", "reason"], *([trial, reason] for trial, reason in failures.items())]
        parts.append(f"<h2>Failures</h2>\n{html_table(reasons, kind='reasons')}")
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(name)}</title>\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def html_table(table: Sequence[Sequence[str]], kinds: Mapping[str, str] | None = None, kind: str = "") -> str:
    """A table whose first row is its header; `kinds` maps first cells to the CSS classes of their rows."""
    head, *others = table
    lines = ["<tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in head) + "</tr>"]
    for row in others:
        cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in row)
        lines.append(f'<tr class="{(kinds or {}).get(row[0], "")}">{cells}</tr>')
    return f'<div class="wide"><table class="{kind}">\n{chr(10).join(lines)}\n</table></div>'
