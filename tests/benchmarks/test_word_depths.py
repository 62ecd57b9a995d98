"""Counts of the depths of words by group."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from benchmarks import study_statistics, word_depths
from benchmarks.study import Study


def test_a_split_word_keeps_its_part_of_speech():
    found = word_depths.spread(["They", "can't", "go"], ["PRON", "AUX", "VERB"], lambda word: word.split("'"))
    assert found == ["PRON", "AUX", "AUX", "VERB"]


def test_groups_of_words():
    seen = Counter({"the": 101, "cat": 11, "is": 10, "not": 2, "here": 1})
    found = word_depths.groups_of(["the", "cat", "is", "not", "here", "now"], list("dnvaap"), seen)
    frequencies = ["seen more often", "seen 11 to 100 times", *["seen 2 to 10 times"] * 2, "seen once", "unseen"]
    for names, tag, frequency in zip(found, "dnvaap", frequencies, strict=True):
        assert names - {"negation"} == {"all words", f"part of speech {tag}", frequency}
    assert ["negation" in names for names in found] == [False, False, False, True, False, False]


def test_mean_depths_and_their_intervals(monkeypatch, tmp_path):
    monkeypatch.setattr(study_statistics, "RESAMPLES", 400)
    rng = np.random.default_rng(0)
    groups = [[{"all words", "rare"} if rng.random() < 0.3 else {"all words"} for _ in range(8)] for _ in range(50)]
    depths = [
        [[int(rng.integers(1, 4)) + 2 * ("rare" in names) for names in of_words] for of_words in groups]
        for _ in range(3)
    ]
    every, rare = word_depths.measure(depths, groups)
    flat = np.array([np.concatenate(of_model) for of_model in depths])
    is_rare = np.array(["rare" in names for of_words in groups for names in of_words])
    assert (every["group"], every["words"], rare["words"]) == ("all words", 400, is_rare.sum())
    np.testing.assert_allclose(every["depths"], flat.mean(axis=1))
    np.testing.assert_allclose(rare["depths"], flat[:, is_rare].mean(axis=1))
    assert rare["difference"] == pytest.approx(flat[:, is_rare].mean() - flat.mean())
    low, high = rare["interval"]
    assert 0.5 < low < rare["difference"] < high < 2.5

    monkeypatch.setattr(word_depths, "RESULTS", tmp_path / "results.jsonl")
    assert word_depths.table() == "Not measured yet."
    for line in (every, rare):
        word_depths.append_result(word_depths.RESULTS, line)
    rows = word_depths.table().splitlines()[2:]
    assert [row.split(" | ")[0] for row in rows] == ["| rare", "| all words"]


def _study(**changes):
    fields = {
        "name": "depths",
        "question": "?",
        "command": "classify",
        "measure": "accuracy",
        "options": {"limit": 2},
        "seeds": [0, 1, 2],
        "baseline": "full",
        "data": {"own": {"data": "train.tsv"}, "other": {"data": "other.tsv"}},
        "rows": {"adaptive": {"encoder": "depth_adaptive_grn"}, "full": {"encoder": "full_depth_grn"}},
    }
    return Study(**(fields | changes))


def test_the_models_of_a_row_and_their_training_texts(tmp_path):
    trainings = word_depths.trainings_of(_study(), "adaptive")
    assert [(training.data, training.seed, training.value) for training in trainings] == [
        ("own", seed, None) for seed in (0, 1, 2)
    ]
    (tmp_path / "train.tsv").write_text("text\tlabel\n" + "".join(f"text {i}\t{'ab'[i % 2]}\n" for i in range(20)))
    texts = word_depths.training_texts(trainings[0], tmp_path)
    assert len(texts) == 2
    assert all(text.startswith("text ") for text in texts)


@pytest.mark.parametrize(
    ("changes", "row", "problem"),
    [
        ({}, "adaptve", "no row 'adaptve'; the rows are 'adaptive', 'full'"),
        ({"command": "tag"}, "adaptive", "must be classifiers"),
        ({"search": {"learning-rate": [0.1, 0.2]}}, "adaptive", "the search of 'adaptive' is not finished"),
    ],
)
def test_models_that_cannot_be_read(changes, row, problem):
    with pytest.raises(ValueError, match=problem):
        word_depths.trainings_of(_study(**changes), row)
