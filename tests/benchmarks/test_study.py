"""Studies: their files, their trainings, and a report that refuses unfair comparisons."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from benchmarks import study as studies
from benchmarks import study_checks, study_report, study_seconds, study_statistics, study_transfer
from keras_slstm.cli.main import parse
from keras_slstm.files import write_json
from keras_slstm.training.results import append_result
from keras_slstm.training.run_folder import RunFolder
from tests.benchmarks.recorded import FILE, line, read, record


class TestFile:
    def test_errors_name_the_problem(self, study, tmp_path):
        for good, bad, words in [
            ('baseline = "two"', 'baseline = "three"', "'three' is not a row"),
            ("seeds = [0, 1, 2]", "seeds = [0, 0]", "twice"),
            ("[0.1, 0.2]", "[]", "list of values"),
            ("seeds =", "lengths = [9, 9]\nseeds =", "must increase"),
            ("seeds =", "search_seeds = 4\nseeds =", "must be 1 to 3"),
            ("seeds =", 'pairs = [["one", "four"]]\nseeds =', "a pair is not one of two rows"),
            ('row = "one"\n', 'row = "four"\n', "a claim names a row"),
            ('row = "one"\n', 'row = "one"\nagainst = "four"\n', "a claim names a row"),
            ('row = "one"\n', 'row = "one"\ndata = "c"\n', "a claim names a data set"),
            ('row = "one"\n', 'row = "one"\nexpects = "more"\n', "a claim expects better, worse, no difference"),
            ('row = "one"\n', 'row = "one"\ntransfer = true\n', "a claim is about transfer, but there are no `tasks`"),
            ('measure = "accuracy"', "", "measure"),
            ('command = "classify"', "command = ", "s.toml"),
        ]:
            (tmp_path / "s.toml").write_text(FILE.replace(good, bad))
            with pytest.raises(ValueError, match=words):
                studies.read_study(tmp_path / "s.toml")

    def test_all_studies_of_the_project_are_complete(self):
        paths = sorted((studies.RESULTS.parents[1] / "studies").glob("*.toml"))
        assert paths
        for path in paths:
            for training in studies.trainings(studies.read_study(path)):
                words = training.words(path.parent)
                parse(words[0], words[1:])

    def test_a_training_is_a_command(self, study, tmp_path):
        words = studies.Training(study, "two", "a", 1, 0.2).words(tmp_path)
        expected = f"classify --preset small --updates 2 --manual-dir {tmp_path}/files --dataset a --encoder bilstm"
        expected += " --fixed-vectors --encoder-option x=1 y=2 --learning-rate 0.2 --seed 1"
        assert " ".join(words) == expected


class TestRun:
    def test_each_training_runs_once_with_the_value_that_its_row_chooses(self, study, tmp_path, monkeypatch):
        asked = []

        def train(training, root, work):
            asked.append((training.row, training.seed, training.value))
            best = {"one": 0.1, "two": 0.2}[training.row]
            return line(training, development=0.9 if training.value == best else 0.8)

        monkeypatch.setattr(studies, "train", train)
        studies.run(study, tmp_path, tmp_path / "work")
        of_one = [("one", 0, 0.1), ("one", 0, 0.2), ("one", 1, 0.1), ("one", 2, 0.1)]
        assert asked == [*of_one, ("two", 0, 0.1), ("two", 0, 0.2), ("two", 1, 0.2), ("two", 2, 0.2)]
        studies.run(study, tmp_path, tmp_path / "work")
        assert len(asked) == 8
        other = dataclasses.replace(study, options={**study.options, "updates": 3})
        assert read(other) == []  # other options make another study
        studies.run(other, tmp_path, tmp_path / "work")
        assert len(asked) == 16

    def test_a_search_with_several_seeds_chooses_by_their_mean(self, study, tmp_path, monkeypatch):
        scores = {(0.1, 0): 0.9, (0.1, 1): 0.6, (0.2, 0): 0.8, (0.2, 1): 0.8}
        asked = []

        def train(training, root, work):
            asked.append((training.value, training.seed))
            return line(training, development=scores.get(asked[-1], 0.7))

        monkeypatch.setattr(studies, "train", train)
        study = dataclasses.replace(study, search_seeds=2, rows={"two": study.rows["two"], "one": study.rows["one"]})
        studies.run(study, tmp_path, tmp_path / "work")
        assert asked[:5] == [*scores, (0.2, 2)]
        assert studies.chosen_value(study, read(study)[:3], "two", "a") is None

    def test_of_equal_means_the_first_value_is_chosen(self, study):
        study = dataclasses.replace(study, search_seeds=3)
        scores = {0.1: (0.3, 0.1, 0.2), 0.2: (0.1, 0.2, 0.3 + 1e-8)}  # in float32, 0.3 differs from itself by as much
        lines = [
            line(studies.Training(study, "one", "a", seed, value), development=of_seeds[seed])
            for value, of_seeds in scores.items()
            for seed in study.seeds
        ]
        assert studies.chosen_value(study, lines, "one", "a") == 0.1

    def test_tasks_that_an_interruption_has_left_are_tested(self, study, tmp_path, monkeypatch):
        study = dataclasses.replace(study, command="embed", options={"tasks": ["MR", "TREC"]})
        tested = iter([[], ["MR", "TREC"]])

        def run(words, **_):
            output, results = (Path(words[words.index(name) + 1]) for name in ("--output", "--results"))
            found = {"development_accuracy": 0.7, "test_accuracy": 0.6}
            folder = RunFolder(output)
            folder.claim()
            write_json(output / "results.json", found)
            folder.model.touch()
            folder.release()
            append_result(results, {"run": "1", **found})
            for task in next(tested) or [None]:
                if task is None:
                    raise KeyboardInterrupt
                append_result(results, {"transfer": {"task": task}, "accuracy": len(task) / 10})

        monkeypatch.setattr(studies, "subprocess", SimpleNamespace(run=run))
        training = next(studies.trainings(study))
        (tmp_path / "work").mkdir()
        with pytest.raises(KeyboardInterrupt):
            studies.train(training, tmp_path, tmp_path / "work")
        assert RunFolder(studies.training_folder(training, tmp_path / "work")).is_finished()
        found = studies.train(training, tmp_path, tmp_path / "work")
        assert found["tasks"] == {"MR": 0.2, "TREC": 0.4}
        assert (found["development_score"], found["test_score"]) == (0.7, 0.6)

    @pytest.mark.ci_run
    def test_a_study_of_own_data(self, tmp_path, monkeypatch):
        monkeypatch.setattr(studies, "RESULTS", tmp_path / "results")
        rows = [f"{'good' if i % 2 else 'bad'} number{i}\t{'yes' if i % 2 else 'no'}" for i in range(40)]
        (tmp_path / "own.tsv").write_text("\n".join(["text\tlabel", *rows]) + "\n")
        text = FILE.replace('manual-dir = "files"', "units = 4, embedding-dim = 4").replace("[0, 1, 2]", "[5]")
        text = text.replace('dataset = "a"', 'data = "own.tsv", folds = 2, fold = 2').replace("[0.1, 0.2]", "[0.1]")
        text = text.replace('encoder = "slstm"', 'encoder = "depth_adaptive_grn"')
        text = text.replace(', fixed-vectors = true, encoder-option = ["x=1", "y=2"]', "")
        (tmp_path / "own.toml").write_text(text)
        study = studies.read_study(tmp_path / "own.toml")
        studies.run(study, tmp_path, tmp_path / "work")
        lines = read(study)
        assert [(found["row"], found["seed"]) for found in lines] == [("one", 5), ("two", 5)]
        assert len({found["test_part"] for found in lines}) == 1
        assert {found["split"]["sizes"][2] for found in lines} == {20}
        grn, bilstm = lines
        assert 1 <= grn["mean_depth"] <= 9
        assert "mean_depth" not in bilstm
        for found in lines:
            counts = np.array(found["items"])
            assert study_statistics.score(counts) == pytest.approx(found["test_score"])
            assert found["words"] == [2] * len(counts)
        for measured in study_seconds.measure(study, "a", tmp_path / "work", rounds=2):
            assert measured["examples"] == len(lines[0]["items"])
            assert 0 < measured["fastest"] <= measured["seconds"] <= measured["slowest"]
            append_result(study.results.with_suffix(".seconds.jsonl"), measured)
        seconds = study_seconds.seconds_of(study)
        assert set(seconds) == {("a", "one"), ("a", "two")}
        assert f"| {seconds['a', 'two']:.2f} |" in study_report.table(study)
        other = dataclasses.replace(study, options={**study.options, "updates": 3})
        assert study_seconds.seconds_of(other) == {}
        lost = study.results.read_text().splitlines(keepends=True)
        study.results.write_text(lost[0])  # as if the study had been killed before it wrote the second line
        studies.run(study, tmp_path, tmp_path / "work")
        assert [found["test_score"] for found in read(study)] == [found["test_score"] for found in lines]
        shutil.rmtree(tmp_path / "work")
        with pytest.raises(ValueError, match="contains no model of 'one' on 'a'"):
            study_seconds.measure(study, "a", tmp_path / "work", rounds=2)
        studies.run(study, tmp_path, tmp_path / "work")  # nothing is left to run
        assert len(read(study)) == 2


@pytest.mark.parametrize(
    ("before", "after", "recorded"),
    [
        ("abc", "abc", "abc"),
        ("abc", "def", "def+"),
        ("abc+", "abc+", "abc+"),
        ("abc", "abc+", "abc+"),
        ("", "abc", None),
    ],
)
def test_a_change_of_the_code_during_a_training_is_recorded(before, after, recorded):
    assert studies.same_commit(before, after) == recorded


def test_the_metrics_of_tasks_are_those_of_the_paper():
    found = {"accuracy": 0.1, "f1": 0.2, "pearson": 0.3, "spearman": 0.4}
    results = [{"test_accuracy": 0.9}, *({**found, "transfer": {"task": task}} for task in ("MR", "MRPC", "SICK-R"))]
    assert study_transfer.task_scores(results, ["SICK-R", "MRPC"]) == {"SICK-R": 0.3, "MRPC": 0.2}
    with pytest.raises(ValueError, match="these tasks have no files: TREC, CR"):
        study_transfer.task_scores(results, ["TREC", "MR", "CR"])


def test_another_measure_is_another_study(study):
    study.results.parent.mkdir()
    training = next(studies.trainings(study))
    study.results.write_text(json.dumps(line(training, 0.5, measure="accuracy")))
    assert len(read(study)) == 1
    assert read(dataclasses.replace(study, measure="f1")) == []


def test_a_measure_without_a_result_is_named():
    with pytest.raises(ValueError, match="do not contain the measure 'f1 MSIC'"):
        studies.score_of({"test": {"types": {"MISC": {"f1-score": 0.5}}}}, "test", "f1 MSIC")


def test_items_of_tagged_sentences(tmp_path):
    rows = ["sentence\tword\ttag\tprediction", "1\ta\tB-X\tB-X", "1\tb\tI-X\tO", "2\tc\tB-Y\tB-Y", "2\td\tO\tB-X"]
    (tmp_path / "p.tsv").write_text("\n".join(rows) + "\n")
    assert studies.read_items(tmp_path / "p.tsv", "f1")["items"] == [[0, 1, 1], [1, 2, 1]]
    assert studies.read_items(tmp_path / "p.tsv", "f1")["words"] == [2, 2]
    assert studies.read_items(tmp_path / "p.tsv", "accuracy")["items"] == [[1, 2, 2], [1, 2, 2]]
    assert studies.read_items(tmp_path / "p.tsv", "pearson")["items"] is None
    assert studies.read_items(tmp_path / "p.tsv", "f1 X")["items"] == [[0, 1, 1], [0, 1, 0]]
    assert studies.read_items(tmp_path / "p.tsv", "f1 Y")["items"] == [[0, 0, 0], [1, 1, 1]]


def test_bleu_is_a_share_like_all_other_scores():
    assert studies.score_of({"test_bleu": 91.2}, "test", "bleu") == pytest.approx(0.912)


def test_the_score_of_one_type_of_spans():
    found = {"test": {"types": {"X": {"f1-score": 0.25}}}, "test_f1": 0.5}
    assert studies.score_of(found, "test", "f1 X") == 0.25
    assert studies.score_of(found, "test", "f1") == 0.5


class TestReport:
    def test_every_study_of_the_repository_has_a_table(self, monkeypatch):
        monkeypatch.setattr(study_statistics, "RESAMPLES", 100)
        names = [path.stem for path in study_report.STUDIES.glob("*.toml")]
        tables = study_report.tables()  # reads lines of every age: the first ones have no numbers of words
        assert all(f"benchmarks/studies/{name}.toml" in tables for name in names)
        assert study_report.claims().count("\n") > len(names) / 2

    def test_a_fair_comparison_has_an_interval(self, study):
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

    def test_a_chosen_value_at_the_edge_of_its_range_is_marked(self, study):
        three = dataclasses.replace(study, search={"learning-rate": [0.1, 0.2, 0.3]})
        assert [study_report.chosen(three, value) for value in (0.1, 0.2, 0.3)] == [
            "0.1 (lowest)",
            "0.2",
            "0.3 (highest)",
        ]
        assert study_report.chosen(study, 0.1) == "0.1"  # of two values, both are at the edge

    def test_scores_by_length(self, study, monkeypatch):
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

    def test_scores_by_length_are_averaged_over_data_sets(self, study, monkeypatch):
        monkeypatch.setattr(study_report, "FEWEST_ITEMS", 10)
        study = dataclasses.replace(study, lengths=[5], data={name: {"dataset": name} for name in ("a", "b", "c")})
        some = {"words": [8] * 40}  # c has no short texts
        record(study, lambda line: some if line["data"] == "c" else {})
        rows = [
            row.split(" | ") for row in study_report.table(study).splitlines() if "1 to 5" in row or "over 5" in row
        ]
        assert [row[:3] for row in rows[-2:]] == [
            ["| average over 2", "1 to 5", "20"],
            ["| average over 3", "over 5", "100"],
        ]
        single = [float(row[4].split(" ±")[0]) for row in rows if row[1] == "over 5"]
        assert single[-1] == pytest.approx(np.mean(single[:-1]), abs=0.01)

    def test_a_claim_may_expect_worse_or_no_difference(self):
        assert study_report.verdict((0.1, 0.2)) == "holds"
        assert study_report.verdict((0.1, 0.2), "worse") == "does not hold: better here"
        assert study_report.verdict((-0.2, -0.1), "worse") == "holds"
        assert study_report.verdict((-0.2, 0.1), "worse") == "not significant"
        assert study_report.verdict((-0.2, 0.1), "no difference") == "not contradicted"
        assert study_report.verdict((-0.2, -0.1), "no difference") == "does not hold: worse here"
        assert study_report.verdict((np.nan, np.nan), "no difference") == "not significant"

    def test_a_claim_may_be_about_the_average_over_data_sets(self, study, tmp_path):
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

    def test_six_data_sets_are_tested_together(self, study, tmp_path):
        others = "".join(f'{name} = {{ dataset = "{name}" }}\n' for name in "bcdef")
        (tmp_path / "s.toml").write_text(FILE.replace("[search]", others + "[search]"))
        study = studies.read_study(tmp_path / "s.toml")
        record(study, lambda line: {})
        assert "on average over 6 data sets, Wilcoxon's p 0.0" in study_report.table(study)

    def test_an_average_names_the_folds_of_a_data_set(self, study, tmp_path):
        folds = FILE.replace('a = { dataset = "a" }', "a = { fold = 1 }\nb = { fold = 2 }")
        (tmp_path / "s.toml").write_text(folds)
        study = studies.read_study(tmp_path / "s.toml")
        record(study, lambda line: {})
        assert "on average over 2 folds." in study_report.table(study)

    def test_a_claim_may_be_about_one_data_set(self, study, tmp_path):
        text = FILE.replace("[search]", 'b = { dataset = "b" }\n[search]') + 'data = "b"\n'
        (tmp_path / "s.toml").write_text(text)
        study = studies.read_study(tmp_path / "s.toml")
        assert study_report.claims().endswith("| A paper | It is. | b |  | not measured yet |")
        record(study)
        (row,) = study_report.claims().splitlines()[2:]
        assert row.startswith("| A paper | It is. | b | +40.00 [+")

    def test_a_claim_may_be_about_two_rows_that_are_not_the_baseline(self, tmp_path, study):
        text = FILE.replace("[[claims]]", 'three = { encoder = "caslstm" }\n[[claims]]') + 'against = "three"\n'
        (tmp_path / "s.toml").write_text(text)
        record(studies.read_study(tmp_path / "s.toml"), scores=(0.5, 0.5, 0.9))
        (row,) = study_report.claims().splitlines()[2:]
        assert row.startswith("| A paper | It is. | a | -40.00 [-")
        assert row.endswith("| does not hold: worse here |")

    def test_further_pairs_of_rows_are_compared(self, study):
        study = dataclasses.replace(study, pairs=[["two", "one"]])
        record(study)
        assert "\ntwo against one: -40.00 [-" in study_report.table(study)
        assert "] on a.\n" in study_report.table(study)
        record(study, lambda line: {"commit": "def"} if line["row"] == "one" else {})
        assert "two against one: not compared: different code on a." in study_report.table(study)

    def test_further_pairs_of_rows_are_compared_by_length_and_on_average(self, study):
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

    def test_frozen_sentence_vectors_are_compared_on_other_tasks(self, study, tmp_path):
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

    def test_the_end_of_a_training_by_its_limit_is_shown(self, study):
        record(study, lambda line: {"updates": 2, "settings": {**line["settings"], "updates": 2}})
        assert "2 of 3 (limit), 2 of 3 (limit)" in study_report.table(study)

    def test_the_mean_depth_has_a_column_where_a_row_has_depths(self, study):
        record(study)
        assert "mean depth" not in study_report.table(study)
        record(study, lambda line: {"mean_depth": 3.0 + line["seed"]} if line["row"] == "one" else {})
        table = study_report.table(study)
        cells = {row.split(" | ")[1]: row.removesuffix("|").split(" | ") for row in table.splitlines() if " | " in row}
        assert cells["row"][-1].strip() == "mean depth"
        assert cells["one"][-1].strip() == "4.00 ± 1.00"
        assert cells["two"][-1].strip() == ""
        assert len(cells["one"]) == len(cells["two"]) == len(cells["row"])
