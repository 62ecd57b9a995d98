import sys

import pytest

from keras_slstm.datasets import travel_desk
from keras_slstm.datasets.tagged_corpus import TaggedSentences, load_tagged_corpus
from keras_slstm.errors import DataError


@pytest.fixture
def write(tmp_path):
    def write(name, *sentences):
        """Write sentences such as "Ada/B-PER wrote/O"."""
        path = tmp_path / name
        lines = ["\n".join(" ".join(word.split("/")) for word in sentence.split()) for sentence in sentences]
        path.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write


def parts(corpus):
    return [len(part) for part in (corpus.train, corpus.validation, corpus.test)]


def test_travel_desk_needs_no_tfds(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    corpus = load_tagged_corpus("travel_desk")
    assert parts(corpus) == [8_000, 1_000, 1_000]
    assert (corpus.scheme, sorted(corpus.label_names)) == ("BIO", sorted(travel_desk.TAGS))
    first = travel_desk.generate_requests(1)[0]
    assert (corpus.train.tokens[0], corpus.train.tags[0]) == (first.tokens, first.tags)
    assert load_tagged_corpus("travel_desk", scheme="BIOES").label_names[1:3] == ["B-airline", "I-airline"]


@pytest.mark.parametrize(
    "first",
    ["a/I-X b/I-X c/B-X d/O", "a/B-X b/I-X c/B-X d/O", "a/B-X b/E-X c/S-X d/O"],
)
def test_the_scheme_of_a_file_is_detected_and_converted(write, first):
    train, dev, test = write("train.txt", first), write("dev.txt", "a/O"), write("test.txt", first)
    arguments = {"validation_path": dev, "test_path": test}
    assert load_tagged_corpus(train, **arguments).train.tags == [["B-X", "I-X", "B-X", "O"]]
    corpus = load_tagged_corpus(train, scheme="BIOES", **arguments)
    assert corpus.test.tags == [["B-X", "E-X", "S-X", "O"]]
    assert corpus.label_names == ["O", "B-X", "I-X", "E-X", "S-X"]
    assert corpus.scheme == "BIOES"
    as_they_stand = load_tagged_corpus(train, scheme=None, **arguments)
    assert " ".join(as_they_stand.train.tags[0]) == " ".join(word.split("/")[1] for word in first.split())
    assert as_they_stand.scheme is None


def test_one_wrong_tag_is_the_error_and_not_the_others(write):
    path = write("a.txt", *["to/O Oslo/B-city"] * 60, "Rome/S-city")
    with pytest.raises(DataError, match=r'a\.txt:181: "S-city" is not a tag of BIO'):
        load_tagged_corpus(path)
    with pytest.warns(UserWarning, match="sentences with invalid tags left out: 1"):
        assert sum(parts(load_tagged_corpus(path, on_error="skip"))) == 60


def test_files_may_have_different_schemes(write):
    train = write("train.txt", *["a/B-X b/I-X c/B-X d/O"] * 3)
    files = {"validation_path": write("dev.txt", "a/B-X b/I-X"), "test_path": write("test.txt", "a/B-X b/E-X c/S-X")}
    corpus = load_tagged_corpus(train, **files)
    assert (corpus.scheme, corpus.test.tags) == ("BIO", [["B-X", "I-X", "B-X"]])


def test_an_error_in_a_small_file_is_not_taken_for_another_scheme(write):
    train = write("train.txt", *["a/B-X b/I-X c/B-X d/O"] * 3)
    with pytest.raises(DataError, match=r'test\.txt:2: "I-X" continues a span, but the tag before it is "O" \(BIO\)'):
        load_tagged_corpus(train, test_path=write("test.txt", "a/O b/I-X"))


def test_plain_tags(write):
    path = write("pos.txt", *["a/DET dog/NOUN", "b/-LRB-"] * 10)
    corpus = load_tagged_corpus(path)
    assert corpus.label_names == ["-LRB-", "DET", "NOUN"]
    assert corpus.scheme is None
    assert parts(corpus) == [16, 2, 2]
    assert load_tagged_corpus(path) == corpus
    assert load_tagged_corpus(path, seed=1) != corpus
    with pytest.raises(DataError, match=r'pos\.txt:1: "DET" is not a tag of BIO'):
        load_tagged_corpus(path, scheme="BIO")


def test_columns_of_a_file(write):
    path = write("three.txt", *["1/a/X", "2/b/Y"] * 10)
    corpus = load_tagged_corpus(path, token_column=1, tag_column=0)
    assert set(corpus.label_names) == {"1", "2"}
    assert {tokens[0] for tokens in corpus.train.tokens} == {"a", "b"}


def test_malformed_files_are_named_with_the_line(write):
    good = write("good.txt", "a/B-X b/O")
    for sentence, message in [
        ("a/O b/I-X", r'other\.txt:2: "I-X" continues a span, but the tag before it is "O"'),
        ("a/O b/B-Y", r'other\.txt:2: the tag "B-Y" does not occur in the training part; its tags: "O", "B-X", "I-X"'),
    ]:
        other = write("other.txt", sentence)
        for argument in ("validation_path", "test_path"):
            paths = {"validation_path": good, "test_path": good, argument: other}
            with pytest.raises(DataError, match=message):
                load_tagged_corpus(good, **paths)


def test_own_tags(write):
    """They keep their order; a tag that is not one of them is named with the line of its word."""
    good, other = write("good.txt", "a/B-X b/O"), write("other.txt", "a/O b/B-Y")
    paths = {"validation_path": good, "test_path": other}
    tags = ["O", "B-Y", "I-Y", "B-X", "I-X"]
    assert load_tagged_corpus(good, **paths, labels=tags).label_names == tags
    with pytest.raises(DataError, match=r'other\.txt:2: the tag "B-Y" is unknown; known tags: "O", "B-X"\.'):
        load_tagged_corpus(good, **paths, labels=["O", "B-X"])


def test_invalid_sentences_can_be_skipped(write):
    path = write("data.txt", "a/O b/I-X", *["c/B-X d/I-X"] * 20, "e/O f/B-X/g")
    with pytest.warns(UserWarning, match="left out: 1") as warned:
        corpus = load_tagged_corpus(path, on_error="skip")
    assert [str(w.message).split(" left out")[0].rpartition(": ")[2] for w in warned] == [
        "sentences with malformed lines",
        "sentences with invalid tags",
    ]
    assert sum(parts(corpus)) == 20


def test_sets_of_tfds(monkeypatch, tmp_path):
    """A published data set with the usual features and an empty sentence, which some have."""
    tfds = pytest.importorskip("tensorflow_datasets")

    class SomeTaggedSet(tfds.core.GeneratorBasedBuilder):
        VERSION = tfds.core.Version("1.0.0")

        def _info(self):
            tags = tfds.features.Sequence(tfds.features.ClassLabel(names=["O", "B-X", "I-X"]))
            tokens = tfds.features.Sequence(tfds.features.Text())
            features = {"tokens": tokens, "ner": tags, "other": tags, "id": tfds.features.Text()}
            return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict(features))

        def _split_generators(self, dl_manager):
            return {"train": self._generate_examples(20), "test": self._generate_examples(3)}

        def _generate_examples(self, count):
            yield "empty", {"tokens": [], "ner": [], "other": [], "id": ""}
            for i in range(count):
                tags = ["B-X", "I-X"]
                yield str(i), {"tokens": ["é", str(i)], "ner": tags, "other": ["O", "I-X"], "id": str(i)}

    corpus = load_tagged_corpus("some_tagged_set", data_dir=tmp_path)
    assert parts(corpus) == [18, 2, 3]
    assert corpus.train.tokens[0][0] == "é"
    assert corpus.test.tags[0] == ["B-X", "I-X"]
    assert load_tagged_corpus("some_tagged_set", data_dir=tmp_path, tag_column="other").scheme == "BIO"  # from IOB1
    for arguments, message in [
        ({"tag_column": "id"}, 'the feature "id", a sequence of ClassLabel; its features: .*Name one as `tag_col'),
        ({"token_column": "ner"}, 'the feature "ner", a sequence of Text'),
        ({"tag_column": "pos"}, 'does not have the feature "pos"'),
        ({"tag_column": 3}, "`tag_column` must be a feature of 'some_tagged_set', but got 3"),
    ]:
        with pytest.raises(ValueError, match=message):
            load_tagged_corpus("some_tagged_set", data_dir=tmp_path, **arguments)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("travel_desk", {"scheme": "IOB1"}, "`scheme` must be"),
        ("travel_desk", {"tag_column": "tags"}, "`tag_column`"),
        ("travel_desk", {"test_path": "a.txt"}, "need a file as `name`"),
        ("travel_desk", {"validation": 0.0}, "`validation` must lie between 0 and 1"),
        ("travel_desk", {"validation": 0.5, "test": 0.5}, "must be below 1"),
    ],
)
def test_bad_arguments(name, arguments, message):
    with pytest.raises(ValueError, match=message):
        load_tagged_corpus(name, **arguments)


def test_missing_files_are_reported_as_such():
    with pytest.raises(FileNotFoundError, match=r"nowhere\.conll"):
        load_tagged_corpus("nowhere.conll")


def test_words_and_tags_must_match():
    with pytest.raises(ValueError, match="one tag per word"):
        TaggedSentences([["a", "b"]], [["O"]])
