"""The report of a study: its tables, intervals and verdicts on claims."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from scipy import stats

from benchmarks import study as studies
from benchmarks import study_checks, study_report, study_statistics
from tests.benchmarks.recorded import FILE, read, record


def test_every_study_of_the_repository_has_a_table(monkeypatch):
    monkeypatch.setattr(study_statistics, "RESAMPLES", 100)
    names = [path.stem for path in study_report.STUDIES.glob("*.toml")]
    tables = study_report.tables()  # reads lines of every age: the first ones have no numbers of words
    assert all(f"benchmarks/studies/{name}.toml" in tables for name in names)
    assert study_report.claims().count("\n") > len(names) / 2


def test_a_fair_comparison_has_an_interval(study):
    record(study)
    table = study_report.table(study)
    assert "| a | one | 0.2 | 20.00 ± 0.00 | 90.00 ± 0.00 | +40.00 [+" in table
    assert "| a | two | 0.2 | 20.00 ± 0.00 | 50.00 ± 0.00 |  |  | 3 | 2 of 3, 2 of 3, 2 of 3 | 1,000 |" in table
    assert 'The sentence vectors differ: [max; mean; g] for "one"; the final states for "two".' in table
    assert "| A paper | It is. | a | +40.00 [+" in study_report.claims()
    assert study_report.claims().endswith("| holds |")
    record(study, scores=(0.5, 0.9))
    assert "does not hold" in study_report.claims()
    record(study, scores=(0.5, 0.5))
    assert "not significant" in study_report.claims()


def test_a_chosen_value_at_the_edge_of_its_range_is_marked(study):
    three = dataclasses.replace(study, search={"learning-rate": [0.1, 0.2, 0.3]})
    assert [study_report.chosen(three, value) for value in (0.1, 0.2, 0.3)] == [
        "0.1 (lowest)",
        "0.2",
        "0.3 (highest)",
    ]
    assert study_report.chosen(study, 0.1) == "0.1"  # of two values, both are at the edge


def test_scores_by_length(study, monkeypatch):
    study = dataclasses.replace(study, lengths=[3, 5])
    record(study)
    assert "| a | over 5 | 30 |" in study_report.table(study)
    assert "1 to 3" not in study_report.table(study)  # ten texts are too few
    monkeypatch.setattr(study_report, "FEWEST_ITEMS", 10)
    runs = study_checks.chosen_runs(study, read(study), "one", "a")
    right = np.array([[item[0] for item in runs[seed]["items"]] for seed in study.seeds])
    short, long = (100 * right[:, part].mean() for part in (slice(10), slice(10, None)))
    rows = [row for row in study_report.table(study).splitlines() if " to " in row or "over" in row]
    assert [row.split(" | ")[:3] for row in rows] == [["| a", "1 to 3", "10"], ["| a", "over 5", "30"]]
    assert f" | {short:.2f} ± " in rows[0]
    assert f" | {long:.2f} ± " in rows[1]
    record(study, lambda line: {"best_epoch": 3})
    assert "over 5" not in study_report.table(study)


def test_scores_by_length_are_averaged_over_data_sets(study, monkeypatch):
    monkeypatch.setattr(study_report, "FEWEST_ITEMS", 10)
    study = dataclasses.replace(study, lengths=[5], data={name: {"dataset": name} for name in ("a", "b", "c")})
    some = {"words": [8] * 40}  # c has no short texts
    record(study, lambda line: some if line["data"] == "c" else {})
    rows = [row.split(" | ") for row in study_report.table(study).splitlines() if "1 to 5" in row or "over 5" in row]
    assert [row[:3] for row in rows[-2:]] == [
        ["| average over 2", "1 to 5", "20"],
        ["| average over 3", "over 5", "100"],
    ]
    single = [float(row[4].split(" ±")[0]) for row in rows if row[1] == "over 5"]
    assert single[-1] == pytest.approx(np.mean(single[:-1]), abs=0.01)


def test_a_claim_may_expect_worse_or_no_difference():
    assert study_report.verdict((0.1, 0.2)) == "holds"
    assert study_report.verdict((0.1, 0.2), "worse") == "does not hold: better here"
    assert study_report.verdict((-0.2, -0.1), "worse") == "holds"
    assert study_report.verdict((-0.2, 0.1), "worse") == "not significant"
    assert study_report.verdict((-0.2, 0.1), "no difference") == "not contradicted"
    assert study_report.verdict((-0.2, -0.1), "no difference") == "does not hold: worse here"
    assert study_report.verdict((np.nan, np.nan), "no difference") == "not significant"


def test_a_claim_may_be_about_the_average_over_data_sets(study, tmp_path):
    text = FILE.replace("[search]", 'b = { dataset = "b" }\n[search]') + "average = true\n"
    (tmp_path / "s.toml").write_text(text)
    study = studies.read_study(tmp_path / "s.toml")
    half = {"test_score": 0.5, "items": [[1, 1, 1]] * 20 + [[0, 1, 1]] * 20}
    record(study, lambda line: half if (line["data"], line["row"]) == ("b", "one") else {})
    (row,) = study_report.claims().splitlines()[2:]
    assert row.startswith("| A paper | It is. | a, b | +20.00 [+")
    assert row.endswith("| holds |")
    table = study_report.table(study)
    assert f"one: {row.split(' | ')[3]} on average over 2 data sets." in table
    record(study, lambda line: {"commit": "def"} if (line["data"], line["row"]) == ("b", "one") else {})
    assert "not compared: 1 of 2 data sets can be compared; different code" in study_report.claims()


def test_six_data_sets_are_tested_together(study, tmp_path):
    others = "".join(f'{name} = {{ dataset = "{name}" }}\n' for name in "bcdef")
    (tmp_path / "s.toml").write_text(FILE.replace("[search]", others + "[search]"))
    study = studies.read_study(tmp_path / "s.toml")
    record(study, lambda line: {})
    assert "on average over 6 data sets, Wilcoxon's p 0.0" in study_report.table(study)


def test_an_average_names_the_folds_of_a_data_set(study, tmp_path):
    folds = FILE.replace('a = { dataset = "a" }', "a = { fold = 1 }\nb = { fold = 2 }")
    (tmp_path / "s.toml").write_text(folds)
    study = studies.read_study(tmp_path / "s.toml")
    record(study, lambda line: {})
    assert "on average over 2 folds." in study_report.table(study)


def test_a_claim_may_be_about_one_data_set(study, tmp_path):
    text = FILE.replace("[search]", 'b = { dataset = "b" }\n[search]') + 'data = "b"\n'
    (tmp_path / "s.toml").write_text(text)
    study = studies.read_study(tmp_path / "s.toml")
    assert study_report.claims().endswith("| A paper | It is. | b |  | not measured yet |")
    record(study)
    (row,) = study_report.claims().splitlines()[2:]
    assert row.startswith("| A paper | It is. | b | +40.00 [+")


def test_a_claim_may_be_about_two_rows_that_are_not_the_baseline(tmp_path, study):
    text = FILE.replace("[[claims]]", 'three = { encoder = "caslstm" }\n[[claims]]') + 'against = "three"\n'
    (tmp_path / "s.toml").write_text(text)
    record(studies.read_study(tmp_path / "s.toml"), scores=(0.5, 0.5, 0.9))
    (row,) = study_report.claims().splitlines()[2:]
    assert row.startswith("| A paper | It is. | a | -40.00 [-")
    assert row.endswith("| does not hold: worse here |")


def test_further_pairs_of_rows_are_compared(study):
    study = dataclasses.replace(study, pairs=[["two", "one"]])
    record(study)
    assert "\ntwo against one: -40.00 [-" in study_report.table(study)
    assert "] on a.\n" in study_report.table(study)
    record(study, lambda line: {"commit": "def"} if line["row"] == "one" else {})
    assert "two against one: not compared: different code on a." in study_report.table(study)


def test_further_pairs_of_rows_are_compared_by_length_and_on_average(study):
    """The pair is the opposite of the row against the baseline."""
    data = {name: {"dataset": name} for name in ("a", "b")}
    study = dataclasses.replace(study, pairs=[["two", "one"]], lengths=[5], data=data)
    record(study)
    table = study_report.table(study)
    assert re.search(r"^two against one: .*, -40\.00 \[-\S+, -\S+\] on average over 2 data sets", table, re.M)
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if "| words |" in line or "over 5" in line]
    assert rows[0][-2:] == ["against two [95%]", "two against one [95%]"]
    for row in rows[1:]:
        assert float(row[-1].split(" ")[0]) == -float(row[-2].split(" ")[0]) < 0


def test_frozen_sentence_vectors_are_compared_on_other_tasks(study, tmp_path):
    text = FILE.replace('"classify"', '"embed"').replace("updates = 2", 'tasks = ["TREC", "STS-B"]')
    (tmp_path / "s.toml").write_text(text + "transfer = true\n")
    study = studies.read_study(tmp_path / "s.toml")
    assert study_report.claims().endswith("| A paper | It is. | a, then 2 tasks |  | not measured yet |")
    better = {0: 0.01, 1: 0.02, 2: 0.03}

    def tested(line):
        gain = better[line["seed"]] if line["row"] == "one" else 0
        return {"tasks": {"TREC": 0.8 + gain, "STS-B": 0.6 + 3 * gain}}

    record(study, tested)
    table = study_report.table(study).splitlines()
    error = stats.t.ppf(0.975, 2) * np.std([1, 2, 3], ddof=1) / 3**0.5
    for task, metric, baseline, row, times in [
        ("TREC", "accuracy", "80.00 ± 0.00", "82.00 ± 1.00", 1),
        ("STS-B", "pearson", "60.00 ± 0.00", "66.00 ± 3.00", 3),
        ("average", "", "70.00 ± 0.00", "74.00 ± 2.00", 2),
    ]:
        cell = f"{2 * times:+.2f} [{times * (2 - error):+.2f}, {times * (2 + error):+.2f}]"
        assert f"| {task} | {metric} | {baseline} | {row} | {cell} |" in table
    (claim,) = study_report.claims().splitlines()[2:]
    assert f"| a, then 2 tasks | {cell} |" in claim
    record(study, lambda line: {**tested(line), "best_epoch": 3})
    assert "STS-B" not in study_report.table(study)
    assert "not compared" in study_report.claims()


def test_the_end_of_a_training_by_its_limit_is_shown(study):
    record(study, lambda line: {"updates": 2, "settings": {**line["settings"], "updates": 2}})
    assert "2 of 3 (limit), 2 of 3 (limit)" in study_report.table(study)


def test_the_mean_depth_has_a_column_where_a_row_has_depths(study):
    record(study)
    assert "mean depth" not in study_report.table(study)
    record(study, lambda line: {"mean_depth": 3.0 + line["seed"]} if line["row"] == "one" else {})
    table = study_report.table(study)
    cells = {row.split(" | ")[1]: row.removesuffix("|").split(" | ") for row in table.splitlines() if " | " in row}
    assert cells["row"][-1].strip() == "mean depth"
    assert cells["one"][-1].strip() == "4.00 ± 1.00"
    assert cells["two"][-1].strip() == ""
    assert len(cells["one"]) == len(cells["two"]) == len(cells["row"])
