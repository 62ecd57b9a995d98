"""Comparisons of rows that are refused as unfair."""

from __future__ import annotations

import dataclasses
import json

import pytest

from benchmarks import study as studies
from benchmarks import study_checks, study_report
from tests.benchmarks.recorded import FILE, line, record


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"commit": "def"}, "different code"),
        ({"commit": None}, "a training does not name a commit"),
        ({"commit": "abc+"}, "a training does not name a commit"),
        ({"conditions": {"cores": 4}}, "different machines"),
        ({"split": {"seed": 1}}, "different splits of the data"),
        ({"test_part": "y"}, "different test splits"),
        ({"best_epoch": 3}, "4 of 8 trainings were best in their last epoch"),
        ({"settings": {"units": 4, "encoder": "slstm"}}, "different settings: units"),
        ({"settings": {"units": 3, "encoder": "bilstm"}}, "settings other than in the study's file: encoder"),
        ({"command": "keras-slstm classify --updates 3"}, "settings other than in the study's file: updates"),
        ({"test_score": 0.8}, "a test score of 0.800000, but 0.900000 by the test items"),
    ],
)
def test_an_unfair_comparison_is_refused(study, change, reason):
    record(study, lambda line: change if line["row"] == "one" else {})
    assert f"not compared: {reason}" in study_report.table(study)
    assert f"not compared: {reason}" in study_report.claims()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"commit": "def"}, "different code"),
        ({"split": {"seed": 1}}, "different splits of the data"),
        ({"best_epoch": 3}, "2 of 8 trainings were best in their last epoch"),
    ],
)
def test_the_trainings_of_the_search_are_checked(study, change, reason):
    record(study, lambda line: change if line["value"] == 0.1 else {})
    assert f"not compared: {reason}" in study_report.table(study)


def test_two_lines_for_one_training_are_refused(study):
    record(study)
    lines = study.results.read_text().splitlines(keepends=True)
    study.results.write_text("".join([*lines, lines[-1]]))
    assert "not compared: several lines for one training (two a 2 0.2)" in study_report.table(study)


def test_all_data_sets_of_an_average_have_one_code(study, tmp_path):
    text = FILE.replace("[search]", 'b = { dataset = "b" }\n[search]') + "average = true\n"
    (tmp_path / "s.toml").write_text(text)
    study = studies.read_study(tmp_path / "s.toml")
    record(study, lambda line: {"commit": "def"} if line["data"] == "b" else {})
    assert "not compared: different code in several data sets" in study_report.claims()
    assert "on average over" not in study_report.table(study)


def test_rows_of_one_encoder_have_the_same_settings(study):
    rows = {"one": {"steps": 1}, "two": {"steps": 2}}
    study = dataclasses.replace(study, rows=rows, options={**study.options, "encoder": "slstm"})
    lines = [
        line(studies.Training(study, row, "a", seed, 0.1), settings={"steps": study.rows[row]["steps"], **more})
        for row, more in (("one", {}), ("two", {"readout": "max"}))
        for seed in study.seeds
    ]
    assert study_checks.unequal_settings(study, lines) == ["readout"]


def test_a_limit_of_epochs_that_no_training_has_reached_makes_no_difference(study):
    study = dataclasses.replace(study, options={"epochs": 60, "decay": 0.9, "label-weights": ["A=3"]})
    made = line(studies.Training(study, "one", "a", 0, 0.1), epochs=35)
    made["command"] = "keras-slstm classify --epochs 40 --decay 0.90 --label-weights A=3"
    assert study_checks.unlike_the_file(study, made) == []
    assert study_checks.unlike_the_file(study, {**made, "epochs": 40}) == ["epochs"]
    made["settings"] |= {"label_weights": {"A": 2.0}}
    assert study_checks.unlike_the_file(study, made) == ["label-weights"]


@pytest.mark.parametrize(("option", "refused"), [("dropout", True), ("min-count", False)])
def test_a_row_may_change_the_numbers_of_words(study, option, refused):
    rows = {**study.rows, "one": {**study.rows["one"], option: 1}}
    study = dataclasses.replace(study, rows=rows)
    record(study, lambda line: {"settings": {**line["settings"], "data": line["row"]}})
    assert ("different settings: data" in study_report.table(study)) is refused


@pytest.mark.parametrize("equal", [True, False])
def test_rows_of_equal_parameters_may_differ_in_width(study, equal):
    study = dataclasses.replace(study, options={**study.options, "equal-parameters": equal})
    record(study, lambda line: {"settings": {**line["settings"], "units": 3 + (line["row"] == "one")}})
    assert ("different settings: units" in study_report.table(study)) is not equal


def test_missing_trainings_are_refused(study):
    record(study)
    lines = study.results.read_text().splitlines(keepends=True)
    study.results.write_text("".join(lines[:-1]))
    assert "3 and 2 of 3 seeds are done" in study_report.table(study)
    two = [text for text in lines if json.loads(text)["seed"] < 2]
    study.results.write_text("".join(two))
    few = dataclasses.replace(study, seeds=[0, 1])
    assert "fewer than 3 seeds" in study_report.table(few)
    study.results.write_text(lines[0])  # an unfinished search
    assert "Not measured yet." in study_report.table(study)
    assert "not compared: the search or a row is incomplete" in study_report.claims()
    study.results.unlink()
    assert study_report.claims().endswith("| not measured yet |")
