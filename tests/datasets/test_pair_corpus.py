"""Pairs from your own files and from TFDS data sets."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from keras_slstm.datasets import load_corpus, load_pair_corpus, prepared
from keras_slstm.datasets.pair_corpus import Pairs, read_pairs
from keras_slstm.datasets.pair_readers import PairExample, read_labelled_pairs, read_scored_pairs
from keras_slstm.errors import DataError


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
        return path

    return write


def table(rows, header=("label", "text_a", "text_b"), separator="\t"):
    return "".join(separator.join(map(str, row)) + "\n" for row in (header, *rows))


ROWS = [("yes", 'a "dog"', "an animal\u0085"), ("no", "a cat", "a dog")]
EXPECTED = [PairExample(('a "dog"', "an animal\u0085"), "yes", 2), PairExample(("a cat", "a dog"), "no", 3)]


@pytest.mark.parametrize(
    ("first", "second"),
    [("text_a", "text_b"), ("premise", "hypothesis"), ("sentence1", "sentence2"), ("sentence_A", "sentence_B")],
)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_every_format_and_every_usual_name(write, first, second, suffix):
    header = ("label", first, second)
    assert read_labelled_pairs(write(f"a.tsv{suffix}", table(ROWS, header))) == EXPECTED
    quoted = [(label, '"a ""dog"""' if "dog" in one else one, other) for label, one, other in ROWS]
    assert read_labelled_pairs(write(f"a.csv{suffix}", table(quoted, header, ","))) == EXPECTED
    lines = [json.dumps(dict(zip(header, row))) + "\n" for row in ROWS]
    found = read_labelled_pairs(write(f"a.jsonl{suffix}", "".join(lines)))
    assert found == [example._replace(line=example.line - 1) for example in EXPECTED]


HEADER = ("sentence1", "sentence2", "hypothesis", "label")
VALUES = ("one", "two", "other", "x")


@pytest.mark.parametrize("name", ["a.tsv", "a.csv", "a.jsonl"])
def test_both_texts_have_names_that_belong_together(write, name):
    def file(header):
        if name == "a.jsonl":
            return write(name, json.dumps(dict(zip(header, VALUES))))
        return write(name, table([VALUES], header, "\t" if name == "a.tsv" else ","))

    assert read_labelled_pairs(file(HEADER))[0].texts == ("one", "two")
    both = ("sentence1", "sentence2", "hypothesis", "premise", "label")
    with pytest.raises(DataError, match=r':1: the first text could be "premise" or "sentence1": name .*--first-column'):
        read_labelled_pairs(file(both))
    assert read_labelled_pairs(file(HEADER), "sentence1", "hypothesis")[0].texts == ("one", "other")
    with pytest.raises(DataError, match=r':1: the second text could be "hypothesis" or "sentence2": name the two'):
        read_labelled_pairs(file(HEADER), "sentence1")
    with pytest.raises(DataError, match=r':1: the (header|object) has no (column|key) "text_a" \(with "text_b"\)'):
        read_labelled_pairs(file(("sentence1", "text", "hypothesis", "label")))


def test_no_column_is_read_twice(write):
    path = write("a.tsv", "score\ttext_a\ttext_b\tpremise\n1\tone\ttwo\tthree\n")
    for same, columns in (
        ("first text and the second text", ("text_a", "text_a")),
        ("first text and the label", ("text_a", None, "text_a")),
        ("second text and the label", (None, "text_a", "text_a")),
    ):
        with pytest.raises(ValueError, match=rf'The {same} are both read from the column "text_a"'):
            read_labelled_pairs(path, *columns)
    for columns in (("text_b",), ("score",), (None, None, "text_b")):
        with pytest.raises(DataError, match=r"a\.tsv:1: the header has no column"):
            read_labelled_pairs(path, *columns)
    assert read_labelled_pairs(path, None, "text_a")[0].texts == ("three", "one")


def test_columns_by_name(write):
    path = write("a.tsv", table([("x", "q", "r", "1")], ("other", "left", "right", "gold")))
    assert read_labelled_pairs(path, "left", "right", "gold") == [PairExample(("q", "r"), "1", 2)]
    missing = r'a\.tsv:1: the header has no column "text_a" \(with "text_b"\) or "premise" \(with "hypothesis"\) or '
    with pytest.raises(DataError, match=missing):
        read_labelled_pairs(path)
    with pytest.raises(DataError, match=r'a\.tsv:1: the header has no column "label" or "score"'):
        read_labelled_pairs(path, "left", "right")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", table([("x", "a", " ")]), r'a\.tsv:2: the second text \(column "text_b"\) is empty'),
        ("a.tsv", table([("x", "", "b")]), r'a\.tsv:2: the first text \(column "text_a"\) is empty'),
        ("a.tsv", table([("x", "a", "b"), ("x", "a")]), r"a\.tsv:3: expected 3 columns as in the header, found 2"),
        ("a.jsonl", '{"premise": "a", "label": "x"}', r'a\.jsonl:1: the object has no key "text_a" \(with "text_b"\)'),
        ("a.jsonl", '{"premise": 1, "hypothesis": "b", "label": "x"}', r"first text .*must be a string, found 1"),
        (
            "a.jsonl",
            '{"premise": "a", "hypothesis": "b", "label": true}',
            r"the label .*must be a string or an integer or a number, found True",
        ),
    ],
)
def test_malformed_lines_are_named(write, name, content, message):
    with pytest.raises(DataError, match=message):
        read_labelled_pairs(write(name, content))


def test_scores_are_finite_numbers(write):
    good = [("2.5", "a", "b"), ("1e0", "c", "d")]
    assert [example.label for example in read_scored_pairs(write("a.tsv", table(good)))] == ["2.5", "1e0"]
    for bad in ("high", "nan", "inf"):
        path = write("b.tsv", table([*good, (bad, "e", "f")]))
        with pytest.raises(DataError, match=rf'b\.tsv:4: the score must be a number, found "{bad}"'):
            read_scored_pairs(path)
        with pytest.warns(UserWarning, match="left out: 1"):
            assert len(read_scored_pairs(path, on_error="skip")) == 2
    numbers = write("c.jsonl", '{"text_a": "a", "text_b": "b", "score": 2.5}\n')
    assert read_scored_pairs(numbers) == [PairExample(("a", "b"), "2.5", 1)]


# --- corpora --------------------


def test_a_file_of_pairs_is_split_like_a_file_of_texts(write, tmp_path):
    rows = [("ab"[i % 2], f"left {i}", f"right {i}") for i in range(50)]
    path = write("fifty.tsv", table(rows))
    loaded = load_pair_corpus(path, seed=3)
    assert loaded == load_pair_corpus(path, seed=3)
    assert (len(loaded.train), len(loaded.validation), len(loaded.test)) == (40, 5, 5)
    assert (loaded.label_names, loaded.score_range) == (["a", "b"], None)
    with pytest.raises(ValueError, match="has labels: a, b"):
        load_pair_corpus(path, score_range=(0, 1))
    texts = write("texts.tsv", table([(label, one) for label, one, _ in rows], ("label", "text")))
    assert [one for one, _ in loaded.test.texts] == load_corpus(texts, seed=3).test.texts
    for part in (loaded.train, loaded.validation, loaded.test):
        for (one, other), label in zip(part.texts, part.labels):
            number = int(one.split()[1])
            assert (other, label) == (f"right {number}", "ab"[number % 2])


def test_own_validation_and_test_files(write):
    train = write("train.tsv", table([("a", "1", "2"), ("b", "3", "4")]))
    other = write("other.tsv", table([("b", "5", "6")]))
    loaded = load_pair_corpus(train, validation_path=other, test_path=other)
    assert loaded.train == Pairs([("1", "2"), ("3", "4")], ["a", "b"])
    assert loaded.test == loaded.validation == Pairs([("5", "6")], ["b"])
    unknown = write("unknown.tsv", table([("a", "5", "6"), ("c", "5", "6")]))
    with pytest.raises(DataError, match=r'unknown\.tsv:3: the label "c" does not occur in the training part'):
        load_pair_corpus(train, test_path=unknown)
    with pytest.raises(DataError, match=r'unknown\.tsv:3: the label "c" is unknown; known labels: "b", "a"\.'):
        load_pair_corpus(train, test_path=unknown, labels=["b", "a"])
    loaded = load_pair_corpus(train, validation_path=other, test_path=unknown, labels=["c", "b", "a"])
    assert loaded.label_names == ["c", "b", "a"]


def test_scores_of_files(write):
    train = write("train.tsv", table([("1.5", "1", "2"), ("3.5", "3", "4")], ("score", "text_a", "text_b")))
    held = write("held.tsv", table([("2", "5", "6")]))
    loaded = load_pair_corpus(train, validation_path=held, test_path=held, scores=True)
    assert (loaded.label_names, loaded.score_range, loaded.train.labels) == ([], (1, 4), [1.5, 3.5])
    with pytest.raises(ValueError, match=r"`labels` is only for labels, but .*train\.tsv has scores\."):
        load_pair_corpus(train, validation_path=held, test_path=held, scores=True, labels=["1.5"])
    assert load_pair_corpus(held, validation_path=held, test_path=held, scores=True).score_range == (2, 3)
    outside = write("outside.tsv", table([("4", "5", "6"), ("4.5", "5", "6")]))
    with pytest.raises(DataError, match=r"outside\.tsv:3: expected a score from 1 to 4, found 4\.5"):
        load_pair_corpus(train, validation_path=held, test_path=outside, scores=True)
    options = {"validation_path": held, "test_path": outside, "scores": True}
    assert load_pair_corpus(train, score_range=(0, 5), **options).score_range == (0, 5)


def test_wrong_arguments(write):
    with pytest.raises(ValueError, match=r"Pass as many labels as texts, not 2 labels for 1 texts"):
        Pairs([("a", "b")], ["x", "y"])
    with pytest.raises(ValueError, match="need a file as `name`"):
        load_pair_corpus("stsb", test_path="x.tsv")
    with pytest.raises(FileNotFoundError):
        load_pair_corpus("missing.tsv")


# --- data sets of TFDS --------------------


@pytest.fixture
def records(monkeypatch):
    """A TFDS data set with given features and records, which need not be prepared."""
    tfds = pytest.importorskip("tensorflow_datasets")

    class Info:
        pass

    def records(features, **splits):
        builder = Info()
        builder.info = Info()
        builder.info.features = tfds.features.FeaturesDict(features)
        builder.info.splits = splits
        monkeypatch.setattr(prepared, "prepare", lambda *given: builder)
        monkeypatch.setattr(prepared, "read_split", lambda builder, split: splits[split])
        return tfds.features

    return records


def test_pairs_without_a_label_are_skipped(records):
    from tensorflow_datasets import features

    def row(label):
        return {"question1": b"caf\xc3\xa9 ?", "question2": b"b ?", "idx": 3, "label": label}

    kinds = {
        "question1": features.Text(),
        "question2": features.Text(),
        "idx": features.Scalar(np.int32),
        "label": features.ClassLabel(names=["no", "yes"]),
    }
    records(kinds, train=[row(1), row(-1), row(0)], validation=[row(0)], test=[row(-1)] * 2)
    sources = read_pairs("glue/qqp")
    assert sources.labels() == ["no", "yes"]
    assert {part: [(row.x, row.y) for row in source.rows] for part, source in sources.parts.items()} == {
        "train": [(("café ?", "b ?"), "yes"), (("café ?", "b ?"), "no")],
        "validation": [(("café ?", "b ?"), "no")],
    }


def test_numbers_are_scores(records):
    from tensorflow_datasets import features

    def row(score):
        return {"sentence1": b"a", "sentence2": b"b", "label": np.float32(score)}

    kinds = {"sentence1": features.Text(), "sentence2": features.Text(), "label": features.Scalar(np.float32)}
    records(kinds, train=[row(3.2), row(-1)], validation=[row(1)], test=[row(-1)])
    parts = read_pairs("glue/stsb").parts
    assert list(parts) == ["train", "validation"]
    assert parts["train"].part(Pairs) == Pairs([("a", "b"), ("a", "b")], [3.2, -1.0])
    with pytest.raises(ValueError, match=r'the part "train" of glue/stsb, .*: expected a score from 2 to 5, found -1'):
        load_pair_corpus("glue/stsb", score_range=(2, 5), validation=0.5)


def test_a_data_set_without_two_texts_or_a_label_is_refused(records):
    from tensorflow_datasets import features

    records({"text": features.Text(), "label": features.ClassLabel(names=["a", "b"])}, train=[])
    with pytest.raises(ValueError, match=r'"imdb_reviews" does not contain pairs: its only text is "text"'):
        load_pair_corpus("imdb_reviews")
    records({"premise": features.Text(), "hypothesis": features.Text()}, train=[])
    with pytest.raises(ValueError, match=r"Name one as `label_column`"):
        load_pair_corpus("some")
