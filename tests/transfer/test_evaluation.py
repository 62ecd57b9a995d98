"""The examples for training, selecting and testing classifiers, and the measures."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="it comes with the `examples` extra")

from keras_slstm.datasets import Pairs, Texts
from keras_slstm.transfer import evaluation
from keras_slstm.transfer.classifiers import CLASSIFIERS
from keras_slstm.transfer.evaluation import evaluate
from keras_slstm.transfer.tasks import Task, TaskData

pytestmark = pytest.mark.short_run("torch")

VALUES = CLASSIFIERS["logistic"]


def texts(count, start=0):
    """Numbers as texts, even and odd."""
    return Texts([str(i) for i in range(start, start + count)], ["even", "odd"] * (count // 2))


def number(given):
    """Return a vector that identifies the text, but has no learnable information about its label."""
    return np.array([[float(text), 1.0] for text in given])


class Spy:
    """Replaces the classifiers: knows every label, and makes errors depending on the regularisation."""

    def __init__(self, monkeypatch, best, values=VALUES):
        self.best, self.values, self.trained, self.asked = best, values, [], []
        monkeypatch.setattr(evaluation, "fit_path", self.path)

    def path(self, kind, values, x, y, scores, seed):
        for value in values:
            self.trained.append((value, set(x[:, 0].astype(int))))
            self.value = value
            yield self

    def predict(self, x):
        numbers = x[:, 0].astype(int)
        self.asked.append((self.value, set(numbers)))
        wrong = np.zeros(len(x), bool)
        wrong[: 1 + abs(self.values.index(self.value) - self.values.index(self.best))] = True
        return np.where(wrong, 1 - numbers % 2, numbers % 2)

    @property
    def rounds(self):
        """Each of what was trained with what it was asked."""
        return [
            (value, inside, outside) for (value, inside), (_, outside) in zip(self.trained, self.asked, strict=True)
        ]


def test_a_validation_part_chooses_and_the_test_part_is_seen_once(monkeypatch):
    spy = Spy(monkeypatch, best=2.0)
    parts = {"train": texts(20), "validation": texts(20, 20), "test": texts(40, 40)}
    found = evaluate(number, TaskData(Task("numbers", ""), parts))
    train, development, test = (set(map(int, part.texts)) for part in parts.values())
    assert spy.rounds == [*((value, train, development) for value in VALUES), (2.0, train, test)]
    assert found["regularisation"] == [2.0]
    assert found["accuracy"] == 39 / 40  # with the best value, one is wrong
    assert found["development"] == 19 / 20
    assert found["sizes"] == {"train": 20, "validation": 20, "test": 40}
    assert found["features"] == 2


def test_without_a_validation_part_folds_of_the_training_part_choose(monkeypatch):
    values = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)  # others than with a validation part, as in SentEval
    spy = Spy(monkeypatch, best=16.0, values=values)
    parts = {"train": texts(40), "test": texts(20, 40)}
    found = evaluate(number, TaskData(Task("numbers", ""), parts), folds=4)
    *choosing, last = spy.rounds
    train, test = (set(map(int, part.texts)) for part in parts.values())
    assert last == (16.0, train, test)
    assert len(choosing) == 4 * len(values)
    for value in values:
        folds = [(inside, outside) for which, inside, outside in choosing if which == value]
        assert all(inside | outside == train and not inside & outside for inside, outside in folds)
        assert sorted(i for _, outside in folds for i in outside) == sorted(train)
        assert all(sum(i % 2 for i in outside) == len(outside) // 2 == 5 for _, outside in folds)  # stratified
    assert found["accuracy"] == 19 / 20
    assert found["development"] == 9 / 10


def test_without_a_test_split_every_example_is_tested_once_by_cross_validation(monkeypatch):
    spy = Spy(monkeypatch, best=8.0)
    found = evaluate(number, TaskData(Task("numbers", ""), {"train": texts(90)}), folds=3, seed=5)
    everything = set(range(90))
    per_fold = 3 * len(VALUES) + 1
    assert len(spy.rounds) == 3 * per_fold
    tested = []
    for fold in range(3):
        *choosing, (value, train, test) = spy.rounds[fold * per_fold : (fold + 1) * per_fold]
        assert value == 8.0
        assert train | test == everything
        assert not train & test
        assert all(inside | outside == train and not inside & outside for _, inside, outside in choosing)
        tested += test
    assert sorted(tested) == sorted(everything)
    assert found["regularisation"] == [8.0] * 3
    assert found["accuracy"] == pytest.approx(29 / 30)
    assert found["development"] == pytest.approx(19 / 20)
    other = Spy(monkeypatch, best=8.0)
    evaluate(number, TaskData(Task("numbers", ""), {"train": texts(90)}), folds=3, seed=6)
    assert other.rounds[0] != spy.rounds[0]


def test_the_encoder_is_called_once_with_different_texts():
    calls, lines = [], []

    def encode(given):
        calls.append(given)
        return [[len(text), float(text == "b")] for text in given]  # a list will do

    parts = {"train": Pairs([("a", "b"), ("b", "a"), ("a", "cc")] * 8, ["x", "x", "y"] * 8)}
    evaluate(encode, TaskData(Task("pairs", "", pairs=True), parts), folds=2, progress=lines.append)
    assert calls == [["a", "b", "cc"]]
    assert lines == ["encoding 3 texts", "fitting 1 of 2", "fitting 2 of 2"]


def test_a_pair_is_the_difference_and_the_product(monkeypatch):
    seen = []
    monkeypatch.setattr(
        evaluation, "fit_path", lambda kind, values, x, y, *rest: seen.append((x, y)) or [_Zero()] * len(values)
    )
    vectors = {"a": [1.0, -2.0], "b": [3.0, 0.5]}
    pairs = Pairs([("a", "b"), ("b", "a"), ("b", "b")], ["no", "yes", "no"])
    parts = {"train": pairs, "validation": pairs, "test": pairs}
    evaluate(lambda given: np.array([vectors[text] for text in given]), TaskData(Task("", "", pairs=True), parts))
    np.testing.assert_array_equal(seen[0][0], [[2, 2.5, 3, -1], [2, 2.5, 3, -1], [0, 0, 9, 0.25]])
    np.testing.assert_array_equal(seen[0][1], [0, 1, 0])


class _Zero:
    def predict(self, x):
        return np.array([0, 1, 1])


def test_f1_is_that_of_the_positive_label(monkeypatch):
    monkeypatch.setattr(evaluation, "fit_path", lambda kind, values, *rest: [_Zero()] * len(values))
    pairs = Pairs([("1", "2"), ("2", "3"), ("3", "4")], ["no", "yes", "no"])
    parts = {"train": pairs, "validation": pairs, "test": pairs}
    for positive, expected in (("yes", 2 / 3), ("no", 2 / 3)):
        # No, yes, no, of which no, yes, yes was found: one of two found is right, and one of one.
        found = evaluate(number, TaskData(Task("", "", pairs=True, positive=positive), parts))
        assert found["f1"] == pytest.approx(expected)
        assert found["accuracy"] == pytest.approx(2 / 3)
    three = Pairs([*pairs.texts, ("4", "5")], [*pairs.labels, "yes"])
    monkeypatch.setattr(_Zero, "predict", lambda self, x: np.zeros(len(x), int))
    found = evaluate(number, TaskData(Task("", "", pairs=True, positive="yes"), {**parts, "test": three}))
    assert (found["f1"], found["accuracy"]) == (0, 0.5)


def planted(count, seed, scores=False):
    """Pairs whose vectors are near each other or not; in the order of `vectors`."""
    generator = np.random.default_rng(seed)
    vectors, pairs, near = {}, [], []
    for i in range(count):
        u = generator.normal(size=6)
        distance = generator.uniform(0, 2) if scores else float(generator.integers(2)) * 2
        v = u + distance * np.sign(generator.normal(size=6))
        names = f"u{seed}.{i}", f"v{seed}.{i}"
        vectors.update(zip(names, (u, v)))
        pairs.append(names)
        near.append(5 - 2 * distance if scores else "same" if not distance else "other")
    return vectors, Pairs(pairs, near)


@pytest.mark.parametrize("classifier", list(CLASSIFIERS))
def test_information_in_the_vectors_is_found(classifier):
    every = [planted(200, seed) for seed in range(3)]
    vectors = {name: vector for found, _ in every for name, vector in found.items()}
    parts = dict(zip(("train", "validation", "test"), (pairs for _, pairs in every)))
    task = Task("", "", pairs=True, positive="same")
    known = evaluate(lambda given: [vectors[text] for text in given], TaskData(task, parts), classifier)
    assert known["accuracy"] > 0.9
    assert known["f1"] > 0.9
    noise = np.random.default_rng(9)
    guessed = evaluate(lambda given: noise.normal(size=(len(given), 6)), TaskData(task, parts), classifier)
    assert guessed["accuracy"] < 0.75


@pytest.mark.parametrize("classifier", list(CLASSIFIERS))
def test_scores(classifier):
    every = [planted(60, seed, scores=True) for seed in range(3)]
    vectors = {name: vector for found, _ in every for name, vector in found.items()}
    parts = dict(zip(("train", "validation", "test"), (pairs for _, pairs in every)))
    task = Task("", "", pairs=True, score_range=(1, 5))
    found = evaluate(lambda given: [vectors[text] for text in given], TaskData(task, parts), classifier)
    assert found["pearson"] > 0.95
    assert found["spearman"] > 0.95
    assert found["squared_error"] < 0.3
    assert found["regularisation"][0] in VALUES  # an MLP takes no soft labels
    folded = evaluate(
        lambda given: [vectors[text] for text in given], TaskData(task, {"train": parts["train"]}), folds=3
    )
    assert folded["pearson"] > 0.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classifier": "svm"}, "`classifier` must be one of .* but got 'svm'"),
        ({"folds": 1}, "`folds` must be an integer of at least 2, but got 1"),
        ({"folds": 2.5}, "`folds` must be an integer of at least 2, but got 2.5"),
        ({"encode": lambda given: np.ones(len(given))}, r"array \(20, features\), but returned \(20,\)"),
        ({"encode": lambda given: np.ones((3, 4))}, r"array \(20, features\), but returned \(3, 4\)"),
        ({"encode": lambda given: np.full((20, 2), [1, np.nan])}, "finite vectors, but that of text 0 is not"),
    ],
)
def test_wrong_arguments_raise(options, message):
    with pytest.raises(ValueError, match=message):
        evaluate(**{"encode": number, "data": TaskData(Task("numbers", ""), {"train": texts(20)}), **options})


def test_labels_that_cannot_be_learned_raise():
    test = Texts(["9"], ["neither"])
    with pytest.raises(ValueError, match=r"The part \"test\" of numbers has labels .* lacks: \['neither'\]"):
        evaluate(number, TaskData(Task("numbers", ""), {"train": texts(20), "test": test}))
    with pytest.raises(ValueError, match=r"numbers needs at least two labels to train on, but has \['neither'\]"):
        evaluate(number, TaskData(Task("numbers", ""), {"train": test}))
    scored = Pairs([("1", "2")] * 3, [1.0, 2.0, 6.0])
    with pytest.raises(ValueError, match=r"from 1 to 5, but got 6\.0 at 2"):
        evaluate(number, TaskData(Task("", "", pairs=True, score_range=(1, 5)), {"train": scored}))
