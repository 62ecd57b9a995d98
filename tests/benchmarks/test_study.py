"""Studies: their files, and the trainings that they run."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import study as studies
from benchmarks import study_report, study_seconds, study_statistics, study_transfer
from keras_slstm.cli.main import parse
from keras_slstm.files import write_json
from keras_slstm.training.results import append_result
from keras_slstm.training.run_folder import RunFolder
from tests.benchmarks.recorded import FILE, line, read


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
