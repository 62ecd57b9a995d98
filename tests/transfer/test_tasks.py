"""The ten tasks and the reading of their examples."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow_datasets")

from keras_slstm.datasets import Pairs, Texts
from keras_slstm.datasets.builders import CR, Mrpc, Sick, Sst
from keras_slstm.transfer.tasks import TASKS, Task, TaskData, load_task
from tests.datasets.builders.original_files import refuse_network, write


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    refuse_network(monkeypatch)


def test_the_ten_tasks():
    assert list(TASKS) == ["MR", "CR", "SUBJ", "MPQA", "SST", "TREC", "MRPC", "SICK-R", "SICK-E", "STS-B"]
    assert [name for name, task in TASKS.items() if task.pairs] == ["MRPC", "SICK-R", "SICK-E", "STS-B"]
    assert {name: task.score_range for name, task in TASKS.items() if task.score_range} == {
        "SICK-R": (1, 5), "STS-B": (0, 5),
    }  # fmt: skip


def test_an_unsplit_data_set_is_all_training_data(monkeypatch, tmp_path):
    monkeypatch.setattr(CR, "SENTENCES", 3)
    write(tmp_path / "custrev.neg", ["did not work", "poor"])
    write(tmp_path / "custrev.pos", ["works great ! ."])
    data = load_task("CR", tmp_path / "data", tmp_path)
    assert list(data.parts) == ["train"]
    assert sorted(zip(data.parts["train"].texts, data.parts["train"].labels)) == [
        ("did not work", "neg"), ("poor", "neg"), ("works great ! .", "pos"),
    ]  # fmt: skip


def test_no_development_split_is_drawn(monkeypatch, tmp_path):
    monkeypatch.setattr(Mrpc, "PAIRS", {"train": 2, "test": 1})
    header = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"
    write(tmp_path / "msr_paraphrase_train.txt", [header, "1\t1\t2\tSo.\tSo it is.", "0\t3\t4\tA.\tB."])
    write(tmp_path / "msr_paraphrase_test.txt", [header, "0\t5\t6\tC.\tD."])
    data = load_task("MRPC", tmp_path / "data", tmp_path)
    assert {name: len(part) for name, part in data.parts.items()} == {"train": 2, "test": 1}
    assert data.parts["test"] == Pairs([("C.", "D.")], ["not_equivalent"])
    assert data.task.positive in data.parts["train"].labels


def test_scores_are_numbers(monkeypatch, tmp_path):
    monkeypatch.setattr(Sick, "PAIRS", {"train": 1, "validation": 1, "test": 1})
    for part, score in (("train", "4.9"), ("trial", "1"), ("test_annotated", "3.25")):
        write(tmp_path / f"SICK_{part}.txt", ["a header", f"1\tA dog runs\tA dog\t{score}\tNEUTRAL"])
    data = load_task("SICK-R", tmp_path / "data", tmp_path)
    assert {name: part.labels for name, part in data.parts.items()} == {
        "train": [4.9], "validation": [1.0], "test": [3.25],
    }  # fmt: skip
    assert load_task("SICK-E", tmp_path / "data", tmp_path).parts["test"].labels == ["neutral"]


def test_duplicate_phrases_are_removed(monkeypatch, tmp_path):
    counts = {"train": 5, "validation": 1, "test": 1}
    monkeypatch.setattr(Sst, "COUNTS", {**Sst.COUNTS, "phrases_2": counts})
    trees = ["(4 (4 gem) (4 gem))", "(0 (2 so) (0 awful))"]
    for part, lines in (("train", trees), ("dev", ["(3 (2 Very) (3 nice))"]), ("test", ["(1 (2 Too) (1 bad))"])):
        write(tmp_path / "trees" / f"{part}.txt", lines)
    data = load_task("SST", tmp_path / "data", tmp_path)
    assert sorted(data.parts["train"].texts) == ["awful", "gem", "gem gem", "so awful"]
    assert data.parts["validation"].texts == ["Very nice"]


def test_absent_files_and_unknown_tasks(tmp_path):
    with pytest.raises(FileNotFoundError, match="The files of mpqa are not in `manual_dir`"):
        load_task("MPQA", tmp_path / "data", tmp_path)
    with pytest.raises(ValueError, match=r"Unknown task 'MRP'\. Known tasks: MR, CR"):
        load_task("MRP")


def test_limited_keeps_the_test_part():
    train, test = Texts([str(i) for i in range(50)], ["a", "b"] * 25), Texts(["x"], ["a"])
    data = TaskData(Task("numbers", ""), {"train": train, "test": test})
    few = data.limited(10, seed=1)
    assert len(set(few.parts["train"].texts)) == 10
    assert all(label == "ab"[int(text) % 2] for text, label in zip(few.parts["train"].texts, few.parts["train"].labels))
    assert few.parts["test"] is test
    assert few == data.limited(10, seed=1) != data.limited(10, seed=2)
    assert data.limited(50) is data


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"test": Texts(["a"], ["b"])}, r"needs the part \"train\".* has \['test'\]"),
        ({"train": Texts(["a"], ["b"]), "dev": Texts(["a"], ["b"])}, r"has \['train', 'dev'\]"),
        ({"train": Texts([], [])}, "at least one example, but got 0 in a `Texts`"),
        ({"train": Pairs([("a", "b")], ["c"])}, "must be `Texts` .* got 1 in a `Pairs`"),
    ],
)
def test_mismatching_splits_are_refused(parts, message):
    with pytest.raises(ValueError, match=message):
        TaskData(Task("mine", ""), parts)
