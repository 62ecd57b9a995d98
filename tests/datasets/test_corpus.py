import sys
from collections import Counter

import pytest

from keras_slstm.datasets import corpus, prepared, travel_desk
from keras_slstm.datasets.corpus import Texts, load_corpus, load_folds
from keras_slstm.errors import DataError


def write_tsv(path, rows):
    path.write_text("label\ttext\n" + "".join(f"{label}\t{text}\n" for label, text in rows))
    return path


@pytest.fixture
def fifty(tmp_path):
    return write_tsv(tmp_path / "fifty.tsv", [("ab"[i % 2], f"text {i}") for i in range(50)])


def test_travel_desk_needs_no_tfds(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    loaded = load_corpus("travel_desk")
    assert (len(loaded.train), len(loaded.validation), len(loaded.test)) == (8_000, 1_000, 1_000)
    assert loaded.label_names == travel_desk.INTENTS
    first = travel_desk.generate_requests(1)[0]
    assert (loaded.train.texts[0], loaded.train.labels[0]) == (first.text, first.intent)


def test_the_tfds_builder_of_travel_desk_is_the_same(monkeypatch, tmp_path):
    tfds = pytest.importorskip("tensorflow_datasets")
    from keras_slstm.datasets.builders import TravelDesk

    monkeypatch.setattr(travel_desk, "SPLITS", {"train": 30, "validation": 5, "test": 5})
    builder = TravelDesk(data_dir=tmp_path)
    builder.download_and_prepare(file_format="array_record")
    assert isinstance(builder.info.features["text"], tfds.features.Text)
    splits = travel_desk.generate_splits()
    for split, size in travel_desk.SPLITS.items():
        rows = {row["text"].decode(): row for row in builder.as_data_source(split=split)}
        assert len(rows) == size
        for request in splits[split]:
            row = rows[request.text]
            assert [token.decode() for token in row["tokens"]] == request.tokens
            assert [travel_desk.TAGS[tag] for tag in row["tags"]] == request.tags
            assert travel_desk.INTENTS[row["label"]] == request.intent


def test_a_file_is_split_by_seed(fifty):
    first, again, other = load_corpus(fifty), load_corpus(fifty), load_corpus(fifty, seed=1)
    assert first == again
    assert first.test.texts != other.test.texts
    assert (len(first.train), len(first.validation), len(first.test)) == (40, 5, 5)
    assert first.label_names == ["a", "b"]
    together = first.train.texts + first.validation.texts + first.test.texts
    assert sorted(together) == sorted(f"text {i}" for i in range(50))
    for part in (first.train, first.validation, first.test):
        for text, label in zip(part.texts, part.labels):
            assert label == "ab"[int(text.split()[1]) % 2]


def test_sizes_of_the_paper():
    texts = Texts([str(i) for i in range(10_662)], ["x"] * 10_662)
    parts = corpus.complete_parts({"train": texts}, 0.1, 0.1, seed=0)
    assert [len(parts[part]) for part in ("train", "validation", "test")] == [8_530, 1_066, 1_066]


@pytest.mark.parametrize("k", [2, 7, 10, 50])
def test_every_text_is_tested_in_one_fold(fifty, k):
    folds = load_folds(fifty, k=k)
    every = sorted(f"text {i}" for i in range(50))
    assert len(folds) == k
    assert sorted(text for fold in folds for text in fold.test.texts) == every
    assert {len(fold.test) for fold in folds} <= {50 // k, -(-50 // k)}
    for fold in folds:
        assert sorted(fold.train.texts + fold.validation.texts + fold.test.texts) == every
        assert len(fold.validation) == round(0.1 * (50 - len(fold.test)))
        assert fold.label_names == ["a", "b"]
        for part in (fold.train, fold.validation, fold.test):
            assert part.labels == ["ab"[int(text.split()[1]) % 2] for text in part.texts]


def test_folds_follow_the_seed_and_the_share(fifty):
    folds = load_folds(fifty, k=5)
    assert folds == load_folds(fifty, k=5)
    assert folds[0].test.texts != load_folds(fifty, k=5, seed=1)[0].test.texts
    assert folds[0].test.texts != sorted(folds[0].test.texts, key=lambda text: int(text.split()[1]))
    assert {len(fold.validation) for fold in load_folds(fifty, k=5, validation=0.25)} == {10}
    # The validation splits of the folds differ.
    assert len({text for fold in folds for text in fold.validation.texts}) == 20


@pytest.mark.parametrize("k", [1, 51, 2.0, "ten"])
def test_wrong_numbers_of_folds_are_refused(fifty, k):
    with pytest.raises(ValueError, match=rf"`k` must be an integer from 2 to the number of texts, 50, but got {k!r}"):
        load_folds(fifty, k=k)


def test_a_corpus_with_splits_has_no_folds(fifty):
    with pytest.raises(ValueError, match='"travel_desk" already has a validation and a test part'):
        load_folds("travel_desk")
    with pytest.raises(ValueError, match=r"but got 1\.5"):
        load_folds(fifty, validation=1.5)
    with pytest.raises(ValueError, match="45 examples are too few: the validation part would be empty"):
        load_folds(fifty, validation=0.01)


def test_own_validation_and_test_files(fifty, tmp_path):
    held_out = write_tsv(tmp_path / "test.tsv", [("a", "new one"), ("b", "new two")])
    loaded = load_corpus(fifty, test_path=held_out)
    assert loaded.test == Texts(["new one", "new two"], ["a", "b"])
    assert (len(loaded.train), len(loaded.validation)) == (45, 5)
    loaded = load_corpus(fifty, test_path=held_out, validation_path=held_out)
    assert loaded.train.texts == [f"text {i}" for i in range(50)]  # nothing was drawn, so the order is that of the file


def test_a_label_unknown_in_training_is_named(fifty, tmp_path):
    held_out = write_tsv(tmp_path / "test.tsv", [("a", "fine"), ("c", "new label")])
    with pytest.raises(DataError, match=rf'^{held_out}:3: the label "c" does not occur'):
        load_corpus(fifty, test_path=held_out)


def test_own_labels(fifty, tmp_path):
    """They keep their order and may not occur; a label that is not one of them is named with its line."""
    held_out = write_tsv(tmp_path / "test.tsv", [("c", "new label")])
    loaded = load_corpus(fifty, test_path=held_out, labels=["c", "d", "b", "a"])
    assert loaded.label_names == ["c", "d", "b", "a"]
    with pytest.raises(DataError, match=rf'^{held_out}:2: the label "c" is unknown; known labels: "b", "a"\.$'):
        load_corpus(fifty, test_path=held_out, labels=["b", "a"])
    with pytest.raises(DataError, match=r':2: the label "a" is unknown; known labels: "A", "B"\. Did you mean "A"\?$'):
        load_corpus(fifty, labels=["A", "B"])
    with pytest.raises(DataError, match=r':2: the label "a" is unknown; known labels: none\.$'):
        load_corpus(fifty, labels=[])


def test_errors_of_files_and_arguments(fifty, tmp_path):
    with pytest.raises(FileNotFoundError):
        load_corpus(tmp_path / "missing.tsv")
    with pytest.raises(DataError, match=r':1: the header has no column "review"'):
        load_corpus(fifty, text_column="review")
    with pytest.raises(ValueError, match=r"but got 1\.5"):
        load_corpus(fifty, validation=1.5)
    with pytest.raises(ValueError, match="must be below 1"):
        load_corpus(fifty, validation=0.5, test=0.5)
    with pytest.raises(ValueError, match="need a file as `name`"):
        load_corpus("travel_desk", test_path=fifty)
    with pytest.raises(ValueError, match="3 examples are too few"):
        load_corpus(write_tsv(tmp_path / "few.tsv", [("a", "x"), ("b", "y"), ("a", "z")]))
    with pytest.raises(ValueError, match=r"^1 example is too few: the"):
        load_corpus(write_tsv(tmp_path / "one.tsv", [("a", "x")]))
    with pytest.raises(ValueError, match="1 labels for 2 texts"):
        Texts(["a", "b"], ["x"])


def test_missing_tfds_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    with pytest.raises(ImportError, match=r"keras-slstm\[datasets\]"):
        load_corpus("movie_review")


def test_unknown_name():
    pytest.importorskip("tensorflow_datasets")
    with pytest.raises(ValueError, match=r"Unknown corpus 'no_such_corpus'.*fdu_mtl.*trec"):
        load_corpus("no_such_corpus")


def test_movie_review(monkeypatch, tmp_path):
    pytest.importorskip("tensorflow_datasets")
    from keras_slstm.datasets.builders import MovieReview

    monkeypatch.setattr(MovieReview, "SENTENCES", 10)
    for label in ("pos", "neg"):
        lines = "".join(f"{label} sentence {i}\n" for i in range(10))
        (tmp_path / f"rt-polarity.{label}").write_text(lines)
    loaded = load_corpus("movie_review", data_dir=tmp_path / "data", manual_dir=tmp_path)
    assert (len(loaded.train), len(loaded.validation), len(loaded.test)) == (16, 2, 2)
    assert loaded.label_names == ["neg", "pos"]
    labels = loaded.train.labels + loaded.validation.labels + loaded.test.labels
    assert Counter(labels) == {"pos": 10, "neg": 10}
    assert all(text.startswith(label) for text, label in zip(loaded.train.texts, loaded.train.labels))
    # Prepared once: the files are no longer needed.
    assert load_corpus("movie_review", data_dir=tmp_path / "data") == loaded


@pytest.fixture
def published(monkeypatch):
    """A stand-in for a published data set."""
    tfds = pytest.importorskip("tensorflow_datasets")
    with tfds.core.registered.skip_registration():

        class Published(tfds.core.GeneratorBasedBuilder):
            VERSION = tfds.core.Version("1.0.0")
            features = {
                "title": tfds.features.Text(),
                "sentence": tfds.features.Text(),
                "label": tfds.features.ClassLabel(names=["no", "yes"]),
            }
            test_label = -1

            def _info(self):
                return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict(self.features))

            def _split_generators(self, dl_manager):
                sizes = {"train": 20, "validation": 4, "test": 4, "unsupervised": 3}
                return {split: self._generate_examples(split, size) for split, size in sizes.items()}

            def _generate_examples(self, split, size):
                for i in range(size):
                    row = {"title": "t", "sentence": f"{split} {i} é", "label": i % 2}
                    if split == "test":
                        row["label"] = self.test_label
                    yield i, {key: row.get(key, "x") for key in self.features}

    monkeypatch.setattr(tfds, "builder", lambda name, data_dir: Published(data_dir=data_dir))
    return Published


def test_published_data_set(published, tmp_path):
    loaded = load_corpus("glue/published", data_dir=tmp_path)
    assert loaded.label_names == ["no", "yes"]
    assert sorted(loaded.validation.texts) == [f"validation {i} é" for i in range(4)]
    # The test split has no labels, so a tenth of the training split replaces it.
    assert (len(loaded.train), len(loaded.test)) == (18, 2)
    assert all(text.startswith("train") for text in loaded.train.texts + loaded.test.texts)
    for text, label in zip(loaded.train.texts, loaded.train.labels):
        assert label == ["no", "yes"][int(text.split()[1]) % 2]


def test_data_prepared_as_tfrecord_is_read_too(published, tmp_path):
    published.test_label = 1
    published(data_dir=tmp_path).download_and_prepare(file_format="tfrecord")
    loaded = load_corpus("published", data_dir=tmp_path, text_column="title")
    assert (len(loaded.train), len(loaded.validation), len(loaded.test)) == (20, 4, 4)
    assert set(loaded.train.texts) == {"t"}


@pytest.mark.parametrize("block", [1, 7, 20])
def test_blocks_hold_every_record_once_and_in_order(published, monkeypatch, tmp_path, block):
    monkeypatch.setattr(prepared, "BLOCK", block)
    builder = prepared.prepare("published", data_dir=tmp_path)
    read = [record["sentence"].decode() for record in prepared.read_split(builder, "train")]
    assert sorted(read) == sorted(f"train {i} é" for i in range(20))
    assert read == [record["sentence"].decode() for record in builder.as_data_source(split="train")]


def test_text_features_can_be_joined(published, monkeypatch, tmp_path):
    loaded = load_corpus("published", data_dir=tmp_path, text_column="sentence+title")
    assert "train 3 é t" in loaded.train.texts + loaded.test.texts
    with pytest.raises(ValueError, match='does not have the feature "nothing", a Text'):
        load_corpus("published", data_dir=tmp_path, text_column="title+nothing")
    monkeypatch.setitem(corpus.JOINED_FEATURES, "published", "title+sentence")
    loaded = load_corpus("published", data_dir=tmp_path)
    assert "t train 3 é" in loaded.train.texts + loaded.test.texts
    assert set(load_corpus("published", data_dir=tmp_path, text_column="title").train.texts) == {"t"}


def test_missing_or_ambiguous_features_are_reported(published, tmp_path):
    tfds = pytest.importorskip("tensorflow_datasets")
    with pytest.raises(
        ValueError, match=r'the feature "nothing", a Text; its features: .*title \(Text\).*`text_column`'
    ):
        load_corpus("published", data_dir=tmp_path / "a", text_column="nothing")
    published.features = {"premise": tfds.features.Text(), "hypothesis": tfds.features.Text()}
    with pytest.raises(
        ValueError, match=r"a feature that is clearly the text, a Text; its features: .*premise \(Text\)"
    ):
        load_corpus("published", data_dir=tmp_path / "b")
