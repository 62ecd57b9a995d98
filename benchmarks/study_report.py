"""Makes the tables of studies: the scores of each row, and its difference from the baseline if both are comparable."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import study_statistics
from benchmarks.sentence_vectors import different_vectors
from benchmarks.study import Line, Study, lines_of, read_study
from benchmarks.study_checks import chosen_runs, unfair
from benchmarks.study_seconds import seconds_of
from benchmarks.study_transfer import metric, on_task
from keras_slstm.metrics.summaries import mean_and_spread

STUDIES = Path(__file__).parent / "studies"
FEWEST_ITEMS = 30  # of a group of lengths: a score on two texts says nothing, and would count fully in an average


def tables() -> str:
    """Return all studies, each with its question, its table and its command."""
    return "\n\n".join(table(read_study(path)) for path in sorted(STUDIES.glob("*.toml")))


def table(study: Study) -> str:
    """Return the table of a study, without the rows that have no training."""
    lines = lines_of(study)
    searched = "setting"
    if study.searched:
        seeds = f", {study.search_seeds} seeds each" if study.search_seeds > 1 else ""
        searched = f"{study.searched} (of {len(study.search[study.searched])}{seeds})"
    heads = ["data", "row", searched, "development", "test", f"against {study.baseline} [95%]", "McNemar's p"]
    heads += ["seeds", "best epoch of", "parameters", "s a thousand"]
    depths = any("mean_depth" in line for line in lines)
    heads += ["mean depth"] if depths else []
    rows = ["| " + " | ".join(heads) + " |", "| --- | --- |" + " ---: |" * (len(heads) - 2)]
    for data in study.data:
        for row in study.rows:
            if runs := chosen_runs(study, lines, row, data):
                cells = [data, row, *_cells(study, lines, data, row, runs), *([_depth(runs)] if depths else [])]
                rows.append("| " + " | ".join(cells) + " |")
    text = [f"**{study.question}**", "", *(rows if len(rows) > 2 else ["Not measured yet."])]
    if (vectors := different_vectors(study)) is not None:
        text += ["", vectors]
    if (over_data := _over_data(study, lines)) is not None:
        text += ["", over_data]
    for row, other in study.pairs:
        found = [f"{_compare(study, lines, data, row, other)[0]} on {data}" for data in study.data]
        if (average := _average(study, lines, row, other)) is not None:
            found.append(average)
        text += ["", f"{row} against {other}: {', '.join(found)}."]
    if len(by_length := _by_length(study, lines)) > 2:
        text += ["", *by_length]
    if len(by_task := _by_task(study, lines)) > 2:
        text += ["", *by_task]
    return "\n".join([*text, "", f"`python -m benchmarks.study benchmarks/studies/{study.name}.toml --root PATH`"])


def difference(*pairs: Sequence[dict[int, Line]]) -> tuple[float, float, float]:
    """Return the mean difference of the paired test scores, and its interval over seeds and test items.

    Args:
        pairs: The trainings of the row and of the baseline, for each of the data sets over which to average.
    """
    by_seed = [
        statistics.fmean(one[seed]["test_score"] - other[seed]["test_score"] for one, other in pairs)
        for seed in sorted(pairs[0][0])
    ]
    counts = [(_counts(one), _counts(other)) for one, other in pairs]
    if any(one is None or other is None for one, other in counts):
        return statistics.fmean(by_seed), *study_statistics.interval_over_seeds(by_seed)
    return statistics.fmean(by_seed), *study_statistics.paired_interval(*counts)


def verdict(interval: tuple[float, float], expects: str = "better") -> str:
    """Return whether the interval confirms what a paper expects: "better", "worse" or "no difference"."""
    low, high = interval
    if math.isnan(low):
        return "not significant"
    found = "better" if low > 0 else "worse" if high < 0 else "no difference"
    if found == "no difference":  # which does not show that the two are equal
        return "not contradicted" if expects == found else "not significant"
    return "holds" if found == expects else f"does not hold: {found} here"


def claims() -> str:
    """Return a table of the papers' claims and the findings of the studies."""
    rows = ["| paper | claim | data | difference here [95%] | verdict |", "| --- | --- | --- | ---: | --- |"]
    for path in sorted(STUDIES.glob("*.toml")):
        study = read_study(path)
        lines = lines_of(study)
        for claim in study.claims:
            names = [claim["data"]] if "data" in claim else list(study.data)
            transfer = f", then {len(study.tasks)} tasks" if claim.get("transfer") else ""
            if not lines:
                rows.append(
                    f"| {claim['paper']} | {claim['says']} | {', '.join(names)}{transfer} |  | not measured yet |"
                )
                continue
            for data in [names] if claim.get("average") else [[name] for name in names]:
                cells = _finding(study, lines, claim, data)
                rows.append(
                    "| " + " | ".join([claim["paper"], claim["says"], ", ".join(data) + transfer, *cells]) + " |"
                )
    return "\n".join(rows)


def _finding(study: Study, lines: Sequence[Line], claim: dict[str, Any], data: Sequence[str]) -> list[str]:
    """Return the difference from the baseline or another row, averaged over the data sets, and the verdict."""
    row, baseline = claim["row"], claim.get("against")
    reasons = [unfair(study, lines, row, [name], baseline) for name in data]
    if found := [reason for reason in reasons if reason is not None]:
        done = f"{len(data) - len(found)} of {len(data)} data sets can be compared; " if len(data) > 1 else ""
        return ["", f"not compared: {done}{found[0]}"]
    if (reason := unfair(study, lines, row, data, baseline)) is not None:
        return ["", f"not compared: {reason} in several data sets"]
    pairs = _pairs(study, lines, row, data, baseline)
    mean, *interval = difference(*(_on_tasks(study, pairs) if claim.get("transfer") else pairs))
    return [with_interval(mean, *interval), verdict((interval[0], interval[1]), claim.get("expects", "better"))]


def _pairs(
    study: Study, lines: Sequence[Line], row: str, data: Sequence[str], baseline: str | None = None
) -> list[list[dict[int, Line]]]:
    """Return the trainings of a row and of the baseline, or another row, on each of the data sets."""
    rows = (row, baseline or study.baseline)
    return [[chosen_runs(study, lines, of, name) for of in rows] for name in data]


def _on_tasks(study: Study, pairs: list[list[dict[int, Line]]]) -> list[list[dict[int, Line]]]:
    """Return the trainings of two rows with the scores on each of the tasks in turn."""
    return [[on_task(runs, task) for runs in pair] for pair in pairs for task in study.tasks]


def _cells(study: Study, lines: Sequence[Line], data: str, row: str, runs: dict[int, Line]) -> list[str]:
    of_seeds = [runs[seed] for seed in sorted(runs)]
    cells = [chosen(study, of_seeds[0]["value"])]
    cells += [percent([line[f"{part}_score"] for line in of_seeds]) for part in ("development", "test")]
    cells += ["", ""] if row == study.baseline else _compare(study, lines, data, row)
    epochs = ", ".join(f"{line['best_epoch']} of {line['epochs']}{_limit(line)}" for line in of_seeds)
    seconds = seconds_of(study).get((data, row))
    return [
        *cells, str(len(runs)), epochs, f"{of_seeds[0]['parameters']:,}", "" if seconds is None else f"{seconds:.2f}",
    ]  # fmt: skip


def _depth(runs: dict[int, Line]) -> str:
    """Format the mean depth of the words of the test split, and its standard deviation over the seeds."""
    found = [runs[seed]["mean_depth"] for seed in sorted(runs) if "mean_depth" in runs[seed]]
    return with_spread(found) if found else ""


def _limit(line: Line) -> str:
    """Say if the number of updates ended a training, not its patience."""
    limit = line["settings"].get("updates")
    return " (limit)" if limit and line["updates"] >= limit else ""


def _compare(study: Study, lines: Sequence[Line], data: str, row: str, baseline: str | None = None) -> list[str]:
    if (reason := unfair(study, lines, row, [data], baseline)) is not None:
        return [f"not compared: {reason}", ""]
    ((runs, others),) = _pairs(study, lines, row, [data], baseline)
    counts, before = _counts(runs), _counts(others)
    # McNemar's test needs items that are right or wrong, not counts of spans.
    tested = study.measure == "accuracy" and counts is not None and before is not None
    return [
        with_interval(*difference((runs, others))),
        p_value(study_statistics.mcnemar(counts, before)) if tested else "",
    ]


def _over_data(study: Study, lines: Sequence[Line]) -> str | None:
    """Return the average difference of each row from the baseline over several data sets."""
    averages = {row: _average(study, lines, row) for row in study.rows if row != study.baseline}
    return " ".join(f"{row}: {average}." for row, average in averages.items() if average is not None) or None


def _average(study: Study, lines: Sequence[Line], row: str, baseline: str | None = None) -> str | None:
    """Return the average difference of two rows over several data sets, if all of them can be compared."""
    data = list(study.data)
    if len(data) < 2 or unfair(study, lines, row, data, baseline):
        return None
    pairs = _pairs(study, lines, row, data, baseline)
    p = study_statistics.wilcoxon([difference(pair)[0] for pair in pairs])
    test = "" if p is None else f", Wilcoxon's p {p_value(p)}"
    parts = "folds" if all("fold" in study.data[name] for name in data) else "data sets"
    return f"{with_interval(*difference(*pairs))} on average over {len(pairs)} {parts}{test}"


def _by_length(study: Study, lines: Sequence[Line]) -> list[str]:
    """Return a table of the scores on the test items of each length, without rows that cannot be compared."""
    if not study.lengths:
        return []
    others = [row for row in study.rows if row != study.baseline]
    heads = ["data", "words", "items", study.baseline]
    heads += [head for row in others for head in (row, f"against {study.baseline} [95%]")]
    heads += [f"{row} against {other} [95%]" for row, other in study.pairs]
    table = ["| " + " | ".join(heads) + " |", "| --- | --- |" + " ---: |" * (len(heads) - 2)]
    bins = list(itertools.pairwise([0, *study.lengths, math.inf]))
    found: dict[str, list[dict[str, Any]]] = {}
    for data in study.data:
        runs = {row: chosen_runs(study, lines, row, data) for row in study.rows}
        counts = {row: _counts(of) for row, of in runs.items()}
        if counts[study.baseline] is None or any(unfair(study, lines, row, [data]) for row in runs):
            continue
        words = np.array(next(iter(runs[study.baseline].values()))["words"])
        chosen = [(words > low) & (words <= high) for low, high in bins]
        found[data] = [{row: of[:, items] for row, of in counts.items()} for items in chosen]
    groups = [(data, [of]) for data, of in found.items()]
    if len(found) > 1:
        groups.append(("", list(found.values())))
    for name, group in groups:
        for (low, high), parts in zip(bins, zip(*group, strict=True), strict=True):
            parts = [part for part in parts if part[study.baseline].shape[1] >= FEWEST_ITEMS]
            if parts:
                length = f"over {low}" if math.isinf(high) else f"{low + 1} to {high}"
                cells = [name or f"average over {len(parts)}", length, *_scores_of(study, parts, others)]
                table.append("| " + " | ".join(cells) + " |")
    return table


def _by_task(study: Study, lines: Sequence[Line]) -> list[str]:
    """Return a table of the scores of frozen sentence vectors on the tasks, without rows that cannot be compared."""
    data = list(study.data)
    others = [row for row in study.rows if row != study.baseline and not unfair(study, lines, row, data)]
    heads = ["task", "metric", study.baseline]
    heads += [head for row in others for head in (row, f"against {study.baseline} [95%]")]
    table = ["| " + " | ".join(heads) + " |", "| --- | --- |" + " ---: |" * (len(heads) - 2)]
    if not study.tasks or not others:
        return table
    pairs = {row: _on_tasks(study, _pairs(study, lines, row, data)) for row in others}
    for place, task in enumerate(study.tasks):
        of_task = {row: pairs[row][place : place + 1] for row in others}
        table.append("| " + " | ".join([task, metric(task), *_difference_cells(of_task)]) + " |")
    table.append("| " + " | ".join(["average", "", *_difference_cells(pairs)]) + " |")
    return table


def _difference_cells(pairs: dict[str, list[list[dict[int, Line]]]]) -> list[str]:
    """Return the score of the baseline, and of each row with its difference, averaged over the pairs of trainings."""

    def scores(runs: Sequence[dict[int, Line]]) -> str:
        return percent([statistics.fmean(of[seed]["test_score"] for of in runs) for seed in sorted(runs[0])])

    cells = [scores([baseline for _, baseline in next(iter(pairs.values()))])]
    for of_row in pairs.values():
        cells += [scores([runs for runs, _ in of_row]), with_interval(*difference(*of_row))]
    return cells


def _scores_of(study: Study, parts: Sequence[dict[str, Any]], others: Sequence[str]) -> list[str]:
    """Return the number of items, and the scores of the rows and their differences, averaged over `parts`."""

    def scores(row: str) -> Any:
        return np.mean([study_statistics.score(part[row]) for part in parts], axis=0)

    def difference(row: str, other: str) -> str:
        interval = study_statistics.paired_interval(*((part[row], part[other]) for part in parts))
        return with_interval(float(np.mean(scores(row) - scores(other))), *interval)

    cells = [f"{sum(part[study.baseline].shape[1] for part in parts):,}", percent(scores(study.baseline).tolist())]
    for row in others:
        cells += [percent(scores(row).tolist()), difference(row, study.baseline)]
    return cells + [difference(row, other) for row, other in study.pairs]


def _counts(runs: dict[int, Line]) -> Any:
    """Return the counts of the test items `(seeds, items, 3)`, or None if the metric is not a sum over items."""
    items = [runs[seed]["items"] for seed in sorted(runs)]
    return None if not items or any(of is None for of in items) else np.array(items, "float64")


def chosen(study: Study, value: float | None) -> str:
    """Format the chosen value, and mark it if it is the lowest or highest of at least three that were tried."""
    if value is None or study.searched is None:
        return ""
    tried = study.search[study.searched]
    edge = " (lowest)" if value == min(tried) else " (highest)" if value == max(tried) else ""
    return f"{value:g}{edge if len(tried) > 2 else ''}"


def p_value(p: float) -> str:
    """Format the p-value of a test."""
    return f"{p:.3f}" if p >= 0.0005 else "< 0.001"


def percent(scores: Sequence[float]) -> str:
    """Format the mean score and, if there are several, the standard deviation, in percent."""
    return with_spread([100 * score for score in scores])


def with_spread(numbers: Sequence[float]) -> str:
    """Format the mean and, if there are several numbers, the standard deviation."""
    mean, spread = mean_and_spread(numbers)
    return f"{mean:.2f} ± {spread:.2f}" if len(numbers) > 1 else f"{mean:.2f}"


def with_interval(mean: float, low: float, high: float) -> str:
    """Format a difference of scores and its interval, in points."""
    return f"{100 * mean:+.2f} [{100 * low:+.2f}, {100 * high:+.2f}]"
