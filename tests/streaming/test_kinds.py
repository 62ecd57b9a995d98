"""Streamed pairs and tagged sentences equal those in memory, and TFDS splits equal files."""

from __future__ import annotations

import gzip
import json

import keras
import numpy as np
import pytest

from keras_slstm import SentencePairClassifier, SequenceTagger
from keras_slstm.datasets import DataError, load_tagged_corpus
from keras_slstm.streaming import (
    StreamedBatches,
    drafts,
    prepare_corpus,
    prepare_pairs,
    prepare_sentences,
    sources,
)
from keras_slstm.text import TextVectorizer, TokenVectorizer
from keras_slstm.text.pair_batches import PairBatches
from keras_slstm.text.token_batches import TokenBatches
from keras_slstm.training.state import RestOfEpoch

pytest.importorskip("array_record")
NO_TENSORS = pytest.mark.backends("torch")

PAIRS = [(f"A flight to {'Rome ' * (i % 4)}no{i}", f"{'not ' * (i % 7)}to no{i + 1}!") for i in range(50)]
SENTENCES = [["On"] * (i % 5) + ["Ada", f"L{i}", "saw", "Rome", f"{i}"] for i in range(50)]
LABELS = ["yes" if i % 4 else "no" for i in range(50)]  # whether there is "Rome"
TAGS = [["O"] * (i % 5) + ["I-PER", "I-PER", "O", "I-LOC", "B-LOC"] for i in range(50)]  # IOB1
PADDING = {"multiple_of": 4, "max_lengths": None}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(sources, "BLOCK", 8)
    monkeypatch.setattr(drafts, "SHARD_BLOCKS", 2)


def write_pairs(path):
    rows = "".join(f"{label}\t{a}\t{b}\n" for label, (a, b) in zip(LABELS, PAIRS))
    path.write_text("label\tpremise\thypothesis\n" + rows, encoding="utf-8")
    return path


def write_sentences(path, tags=TAGS):
    blocks = ("".join(f"{token} x {tag}\n" for token, tag in zip(*each)) for each in zip(SENTENCES, tags))
    path.write_text("\n".join(blocks), encoding="utf-8")
    return path


def rows_of(batches):
    """The words and labels of each example, with their padding, sorted."""
    found = []
    for i in range(len(batches)):
        x, y = batches[i]
        words = x["words"] if isinstance(x, dict) else x
        found += [
            (tuple(map(tuple, np.atleast_2d(a).tolist())), tuple(np.atleast_1d(b).tolist())) for a, b in zip(words, y)
        ]
    return sorted(found)


def pairs_in_memory():
    vectorizer = TextVectorizer(min_count=1)
    vectorizer.adapt([text for pair in PAIRS for text in pair])
    first, second = (vectorizer.encode(texts) for texts in zip(*PAIRS))
    return vectorizer, PairBatches(first, second, [int(label == "yes") for label in LABELS], batch_size=8, **PADDING)


@NO_TENSORS
def test_pairs_equal_those_in_memory(tmp_path):
    corpus = prepare_pairs(write_pairs(tmp_path / "a.tsv"), tmp_path / "out", TextVectorizer(min_count=1))
    vectorizer, in_memory = pairs_in_memory()
    assert corpus.vectorizer.vocabulary == vectorizer.vocabulary
    assert (len(corpus), corpus.labels, corpus.kind) == (50, ["no", "yes"], "pairs")
    streamed = StreamedBatches(corpus, 8, window=3, **PADDING)
    assert without_padding(rows_of(streamed)) == without_padding(rows_of(in_memory))
    for i in range(len(streamed)):
        x, y = streamed[i]
        assert x.shape == (len(y), 2, -(-int((x > 0).sum(2).max()) // 4) * 4)


def without_padding(rows):
    return sorted((tuple(tuple(n for n in text if n) for text in x), tuple(t for t in y if t >= 0)) for x, y in rows)


@NO_TENSORS
def test_all_formats_of_pairs_are_equal(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    reference = stored(prepare_pairs(write_pairs(tmp_path / "a.tsv"), tmp_path / "tsv"))
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress((tmp_path / "a.tsv").read_bytes()))
    rows = [{"premise": a, "hypothesis": b, "label": label} for (a, b), label in zip(PAIRS, LABELS)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "a.jsonl").write_text(lines)
    (tmp_path / "a.jsonl.zst").write_bytes(pytest.importorskip("zstandard").compress(lines.encode()))
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    for name in ("a.tsv.gz", "a.jsonl", "a.jsonl.zst", "a.parquet"):
        assert stored(prepare_pairs(tmp_path / name, tmp_path / f"of-{name}")) == reference, name
    columns = {"first_column": "hypothesis", "second_column": "premise"}
    swapped = stored(prepare_pairs(tmp_path / "a.parquet", tmp_path / "swapped", **columns))
    assert swapped != reference
    assert swapped == stored(prepare_pairs(tmp_path / "a.tsv", tmp_path / "swapped-tsv", **columns))


def stored(corpus):
    return [[array.tolist() for array in chunk] for chunk in corpus.read(np.arange(len(corpus.sizes)))]


@NO_TENSORS
@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("scheme", ["BIOES", "BIO", None])
def test_sentences_equal_those_in_memory(tmp_path, scheme, lowercase):
    path = write_sentences(tmp_path / "a.conll")
    options = {"min_count": 2, "lowercase": lowercase, "zero_digits": True, "max_characters": None}
    corpus = prepare_sentences(path, tmp_path / "out", TokenVectorizer(**options), scheme=scheme)
    whole = load_tagged_corpus(path, validation_path=path, test_path=path, scheme=scheme)
    vectorizer = TokenVectorizer(**options)
    vectorizer.adapt(whole.train.tokens)
    assert corpus.vectorizer.vocabulary == vectorizer.vocabulary
    assert (len(corpus), corpus.labels, corpus.scheme) == (50, whole.label_names, scheme)
    tags = [[whole.label_names.index(tag) for tag in tags] for tags in whole.train.tags]
    in_memory = TokenBatches(vectorizer.encode(whole.train.tokens), tags, batch_size=8, **PADDING)
    streamed = StreamedBatches(corpus, 8, window=3, **PADDING)
    assert without_padding(rows_of(streamed)) == without_padding(rows_of(in_memory))
    for i in range(len(streamed)):
        x, y = streamed[i]
        np.testing.assert_array_equal(x["words"] > 0, y >= 0)


@NO_TENSORS
def test_all_formats_of_sentences_are_equal(tmp_path):
    path = write_sentences(tmp_path / "a.conll")
    reference = stored(prepare_sentences(path, tmp_path / "conll", scheme="BIO"))
    (tmp_path / "a.conll.gz").write_bytes(gzip.compress(path.read_bytes()))
    (tmp_path / "a.conll.zst").write_bytes(pytest.importorskip("zstandard").compress(path.read_bytes()))
    blocks = []
    for tokens, tags in zip(SENTENCES, TAGS):
        words = [[str(i), token, *"_______", tag] for i, (token, tag) in enumerate(zip(tokens, tags), start=1)]
        blocks.append("# text\n" + "".join("\t".join(word) + "\n" for word in words))
    (tmp_path / "a.conllu").write_text("\n".join(blocks), encoding="utf-8")
    for name in ("a.conll.gz", "a.conll.zst", "a.conllu"):
        tag_column = "misc" if name == "a.conllu" else None
        found = prepare_sentences(tmp_path / name, tmp_path / f"of-{name}", scheme="BIO", tag_column=tag_column)
        assert stored(found) == reference, name


@NO_TENSORS
@pytest.mark.parametrize("kind", ["pairs", "sentences"])
def test_batches_after_a_resume_equal_those_without_interruption(tmp_path, kind):
    if kind == "pairs":
        corpus = prepare_pairs(write_pairs(tmp_path / "a.tsv"), tmp_path / "out")
    else:
        corpus = prepare_sentences(write_sentences(tmp_path / "a.conll"), tmp_path / "out")
    whole = StreamedBatches(corpus, 8, window=3, seed=3)
    whole.begin_epoch(1)
    rest = RestOfEpoch(StreamedBatches(corpus, 8, window=3, seed=3), epoch=1, step=4)
    rest.on_epoch_begin()
    assert [rows_of([rest[i]]) for i in range(len(rest))] == [rows_of([whole[i]]) for i in range(4, 7)]
    workers = [StreamedBatches(corpus, 8, window=2, seed=3, share=(i, 2)) for i in range(2)]
    assert sorted(row for worker in workers for row in without_padding(rows_of(worker))) == without_padding(
        rows_of(whole)
    )


@pytest.mark.parametrize("kind", ["pairs", "sentences"])
def test_a_model_learns(tmp_path, kind):
    keras.utils.set_random_seed(0)
    options: dict = {"encoder": "lstm", "units": 8, "embedding_dim": 8}
    if kind == "pairs":
        corpus = prepare_pairs(write_pairs(tmp_path / "a.tsv"), tmp_path / "out")
        options["mlp_batch_norm"] = False  # its statistics need more steps
        model = SentencePairClassifier(corpus.labels, vectorizer=corpus.vectorizer, **options)
    else:
        corpus = prepare_sentences(write_sentences(tmp_path / "a.conll"), tmp_path / "out", scheme="BIO")
        options |= {"scheme": corpus.scheme, "characters": None}
        model = SequenceTagger(corpus.labels, vectorizer=corpus.vectorizer, **options)
    model.compile(keras.optimizers.Adam(0.02), metrics=[])
    batches = StreamedBatches(corpus, 16, multiple_of=32)
    before = model.evaluate(batches, verbose=0)
    model.fit(batches, epochs=5, verbose=0)
    assert model.evaluate(batches, verbose=0) < before


@NO_TENSORS
def test_a_changed_scheme_or_column_is_detected(tmp_path):
    path = write_sentences(tmp_path / "a.conll")
    prepare_sentences(path, tmp_path / "out", scheme="BIO")
    for changed in ({"scheme": "BIOES"}, {"scheme": "BIO", "token_column": 1}):
        with pytest.raises(ValueError, match="other files or settings"):
            prepare_sentences(path, tmp_path / "out", **changed)


@NO_TENSORS
def test_errors_of_sentences_name_the_line(tmp_path):
    path = write_sentences(tmp_path / "a.conll", [["O", "B-PER"], *(tags[:-1] + ["O"] for tags in TAGS[1:])])
    with pytest.raises(DataError, match=r"a\.conll:2: unknown label 'B-PER'; .*Did you mean"):
        prepare_sentences(path, tmp_path / "out", labels=["O", "I-PER"])
    broken = tmp_path / "b.conll"
    broken.write_text("a B-X\nb I-X\n\nc B-X\nd I-Y\n\ne O\n")
    with pytest.raises(DataError, match=r'b\.conll:5: "I-Y" continues'):
        prepare_sentences(broken, tmp_path / "out", scheme="BIO")
    with pytest.warns(UserWarning, match="left out: 1"):
        skipped = prepare_sentences(broken, tmp_path / "out", scheme="BIO", on_error="skip")
    assert len(skipped) == 2
    with pytest.raises(ValueError, match=r"`scheme` must be .*BIO"):
        prepare_sentences(broken, tmp_path / "out", scheme="IOB")
    with pytest.raises(ValueError, match="max_characters=None"):
        prepare_sentences(broken, tmp_path / "out", TokenVectorizer())
    (tmp_path / "c.parquet").write_bytes(b"PAR1")
    with pytest.raises(ValueError, match=r"c\.parquet"):
        prepare_sentences(tmp_path / "c.parquet", tmp_path / "out")


@pytest.fixture
def published(monkeypatch, tmp_path):
    """Arguments that read a TFDS data set with texts, pairs and tagged words. Its first use prepares it."""
    tfds = pytest.importorskip("tensorflow_datasets")
    with tfds.core.registered.skip_registration():

        class Published(tfds.core.GeneratorBasedBuilder):
            VERSION = tfds.core.Version("1.0.0")

            def _info(self):
                features = {
                    "premise": tfds.features.Text(),
                    "hypothesis": tfds.features.Text(),
                    "label": tfds.features.ClassLabel(names=["yes", "no"]),
                    "score": tfds.features.Scalar(np.float32),
                    "tokens": tfds.features.Sequence(tfds.features.Text()),
                    "tags": tfds.features.Sequence(tfds.features.ClassLabel(names=["O", "I-PER", "I-LOC", "B-LOC"])),
                }
                return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict(features))

            def _split_generators(self, dl_manager):
                return {"train": self._generate_examples(), "test": self._generate_examples()}

            def _generate_examples(self):
                for i, ((a, b), label, tokens, tags) in enumerate(zip(PAIRS, LABELS, SENTENCES, TAGS)):
                    row = {"premise": a, "hypothesis": b, "label": label, "score": 1.0, "tokens": tokens, "tags": tags}
                    yield i, row

    monkeypatch.setattr(tfds, "builder", lambda name, data_dir: Published(data_dir=data_dir))
    return {"files": "tfds:published/train", "data_dir": str(tmp_path / "tfds")}


@NO_TENSORS
def test_tfds_splits_equal_files(published, tmp_path):
    """TFDS shuffles a split, so the order of the examples is ignored."""

    def compare(prepare, path, of_files, **options):
        from_files = prepare(path, tmp_path / f"{prepare.__name__}-file", **of_files)
        found = prepare(folder=tmp_path / prepare.__name__, **published, **options)
        assert found.vectorizer.vocabulary == from_files.vectorizer.vocabulary
        assert found.labels == from_files.labels
        batches = [StreamedBatches(corpus, 8) for corpus in (from_files, found)]
        assert without_padding(rows_of(batches[0])) == without_padding(rows_of(batches[1]))
        assert len(found) == 50

    columns = {"text_column": "premise"}
    compare(prepare_corpus, write_pairs(tmp_path / "a.tsv"), columns, **columns)
    compare(prepare_pairs, tmp_path / "a.tsv", {})
    compare(prepare_sentences, write_sentences(tmp_path / "a.conll"), {"scheme": "BIOES"}, scheme="BIOES")


@NO_TENSORS
def test_a_tfds_corpus_belongs_to_its_data_folder(published, tmp_path):
    prepare_sentences(folder=tmp_path / "out", scheme="BIOES", **published)
    with pytest.raises(ValueError, match="contains a corpus of other files"):
        prepare_sentences(folder=tmp_path / "out", scheme="BIOES", **{**published, "data_dir": str(tmp_path / "other")})


@NO_TENSORS
def test_tfds_features_are_checked(published, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(ValueError, match="has scores, but a prepared corpus needs labels"):
        prepare_pairs(folder=out, label_column="score", **published)
    with pytest.raises(ValueError, match='does not have the feature "txt"'):
        prepare_corpus(folder=out, text_column="txt", **published)
    with pytest.raises(ValueError, match="published/train: unknown label 'no'; known labels: \"yes\""):
        prepare_pairs(folder=out, labels=["yes"], **published)
