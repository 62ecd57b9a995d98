"""Preparation of a corpus from files."""

from __future__ import annotations

import errno
import gzip
import json
import os

import numpy as np
import pytest

from keras_slstm.datasets import DataError
from keras_slstm.streaming import PreparedCorpus, drafts, preparation, prepare_corpus, sources
from keras_slstm.streaming.prepared_corpus import MANIFEST
from keras_slstm.text import TextVectorizer

pytest.importorskip("array_record")
pytestmark = pytest.mark.backends("torch")  # no tensors

TEXTS = [f"Word{i % 7} isn't word{i * i % 11}, é{i % 3}!" + " and more" * (i % 5) for i in range(50)]
LABELS = ["odd" if i % 2 else "even" for i in range(50)]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(sources, "BLOCK", 8)
    monkeypatch.setattr(drafts, "SHARD_BLOCKS", 2)


def write(path, texts=TEXTS, labels=LABELS):
    rows = "".join(f"{label}\t{text}\n" for text, label in zip(texts, labels))
    path.write_text("label\ttext\n" + rows, encoding="utf-8")
    return path


def stored(corpus):
    """The ids and labels of all texts, in their order."""
    rows, labels = [], []
    for chunk in corpus.read(np.arange(len(corpus.sizes))):
        ends = np.cumsum(chunk.lengths)
        rows += [chunk.ids[end - length : end].tolist() for end, length in zip(ends, chunk.lengths)]
        labels += [corpus.labels[label] for label in chunk.labels]
    return rows, labels


def expected(texts=TEXTS, **options):
    vectorizer = TextVectorizer(**options)
    vectorizer.adapt(texts)
    return vectorizer.vocabulary, vectorizer.encode(texts)


def test_ids_are_those_of_the_vectorizer(tmp_path):
    corpus = prepare_corpus(write(tmp_path / "a.tsv"), tmp_path / "out")
    vocabulary, ids = expected()
    assert corpus.vectorizer.vocabulary == vocabulary
    assert stored(corpus) == (ids, LABELS)
    assert (len(corpus), corpus.labels) == (50, ["even", "odd"])


def test_all_formats_are_equal(tmp_path):
    reference = stored(prepare_corpus(write(tmp_path / "a.tsv"), tmp_path / "tsv"))
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress((tmp_path / "a.tsv").read_bytes()))
    zstandard = pytest.importorskip("zstandard")
    (tmp_path / "a.tsv.zst").write_bytes(zstandard.compress((tmp_path / "a.tsv").read_bytes()))
    lines = [json.dumps({"text": text, "label": label}) + "\n" for text, label in zip(TEXTS, LABELS)]
    (tmp_path / "a.jsonl").write_text("".join(lines), encoding="utf-8")
    rows = [f'"{text}",{label}\n' for text, label in zip(TEXTS, LABELS)]
    (tmp_path / "a.csv").write_text("text,label\n" + "".join(rows), encoding="utf-8")
    for name in ("a.tsv.gz", "a.tsv.zst", "a.jsonl", "a.csv"):
        assert stored(prepare_corpus(tmp_path / name, tmp_path / f"of-{name}")) == reference, name


def test_parquet_equals_tsv(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    reference = stored(prepare_corpus(write(tmp_path / "a.tsv"), tmp_path / "tsv"))
    parquet.write_table(pyarrow.table({"id": range(50), "text": TEXTS, "label": LABELS}), tmp_path / "a.parquet")
    assert stored(prepare_corpus(tmp_path / "a.parquet", tmp_path / "out")) == reference
    with pytest.raises(DataError, match=r'a\.parquet:1: no column "txt"; .*Did you mean'):
        prepare_corpus(tmp_path / "a.parquet", tmp_path / "other", text_column="txt")


def test_several_files_are_one_corpus(tmp_path):
    files = [write(tmp_path / "a.tsv", TEXTS[:20], LABELS[:20]), write(tmp_path / "b.tsv", TEXTS[20:], LABELS[20:])]
    assert stored(prepare_corpus(files, tmp_path / "out")) == (expected()[1], LABELS)


def test_the_order_does_not_depend_on_the_number_of_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(preparation, "ProcessPoolExecutor", _NoProcesses)
    corpus = prepare_corpus(write(tmp_path / "a.tsv"), tmp_path / "out", processes=3)
    assert stored(corpus) == (expected()[1], LABELS)
    assert len(list((tmp_path / "out").glob("shards-*/*.array_record"))) > 3


class _NoProcesses:
    def __init__(self, processes, context):
        self.map = map

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


@pytest.mark.short_run  # the processes import Keras
def test_several_processes(tmp_path):
    corpus = prepare_corpus(write(tmp_path / "a.tsv"), tmp_path / "out", processes=2)
    assert stored(corpus) == (expected()[1], LABELS)


def test_a_second_run_reads_nothing(tmp_path, monkeypatch):
    first = prepare_corpus(write(tmp_path / "a.tsv"), tmp_path / "out")
    monkeypatch.setattr(sources.Source, "blocks", None)
    assert stored(prepare_corpus(tmp_path / "a.tsv", tmp_path / "out")) == stored(first)


def test_a_changed_file_or_setting_is_detected(tmp_path):
    path = write(tmp_path / "a.tsv")
    reference = stored(prepare_corpus(path, tmp_path / "out"))
    with pytest.raises(ValueError, match="other files or settings"):
        prepare_corpus(path, tmp_path / "out", TextVectorizer(lowercase=False))
    size = path.stat().st_size
    write(path, [text.replace("Word1", "Word0") for text in TEXTS])
    os.utime(path, (0, 0))
    assert path.stat().st_size == size
    with pytest.raises(ValueError, match="have changed since"):
        prepare_corpus(path, tmp_path / "out")
    corpus = prepare_corpus(path, tmp_path / "out", overwrite=True)
    assert stored(corpus) != reference
    assert len(list((tmp_path / "out").glob("shards-*"))) == 1


def test_more_words_than_counters(tmp_path):
    texts = [f"w{i} the w{i + 1}" for i in range(50)]
    path = write(tmp_path / "a.tsv", texts)
    corpus = prepare_corpus(path, tmp_path / "out", TextVectorizer(min_count=1), max_words=8)
    assert stored(corpus)[0] == corpus.vectorizer.encode(texts)
    assert "the" in corpus.vectorizer.vocabulary
    assert len(corpus.vectorizer.vocabulary) <= 10


def test_a_shard_ends_after_enough_characters(tmp_path, monkeypatch):
    monkeypatch.setattr(drafts, "SHARD_CHARACTERS", 10)
    corpus = prepare_corpus(write(tmp_path / "a.tsv"), tmp_path / "out")
    shards = sorted((tmp_path / "out").glob("shards-*/*.array_record*"))
    assert len(shards) == len(corpus.sizes) == 7  # one block per shard; without the limit, two would share one
    assert all(shard.suffix == ".array_record" and "draft" not in shard.name for shard in shards)
    assert stored(corpus) == (expected()[1], LABELS)


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
@pytest.mark.parametrize("interrupted", ["savez", "write_chunks"], ids=["a draft", "a shard"])
def test_an_interrupted_preparation_is_discarded(interrupted, error, tmp_path, monkeypatch):
    path = write(tmp_path / "a.tsv")
    module = np if interrupted == "savez" else drafts
    whole, calls = getattr(module, interrupted), []

    def stops(path, *chunks, **arrays):
        calls.append(path)
        if len(calls) == 2:
            raise error
        whole(path, *chunks, **arrays)

    monkeypatch.setattr(module, interrupted, stops)
    with pytest.raises(error):
        prepare_corpus(path, tmp_path / "out")
    with pytest.raises(FileNotFoundError, match="contains no prepared corpus"):
        PreparedCorpus(tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
    monkeypatch.undo()
    assert stored(prepare_corpus(path, tmp_path / "out")) == (expected()[1], LABELS)
    assert len(list((tmp_path / "out").glob("shards-*"))) == 1


@pytest.mark.parametrize("name", ["notes.txt", "shards-2024", "shards-0123abcd"])
def test_unrelated_files_are_kept(tmp_path, name):
    mine = tmp_path / "out" / name / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    with pytest.raises(FileExistsError, match=f"do not belong to a prepared corpus: {name}"):
        prepare_corpus(write(tmp_path / "a.tsv"), tmp_path / "out")
    assert mine.read_text() == "mine"


def test_the_old_corpus_is_kept_until_the_new_one_is_complete(tmp_path, monkeypatch):
    path = write(tmp_path / "a.tsv")
    corpus = prepare_corpus(path, tmp_path / "out")
    monkeypatch.setattr(drafts, "write_chunks", lambda path, chunks: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        prepare_corpus(path, tmp_path / "out", TextVectorizer(lowercase=False), overwrite=True)
    assert stored(PreparedCorpus(tmp_path / "out")) == stored(corpus)


def test_a_truncated_shard_is_detected(tmp_path):
    corpus = prepare_corpus(write(tmp_path / "a.tsv"), tmp_path / "out")
    shard = min((tmp_path / "out").glob("shards-*/*.array_record"))
    shard.write_bytes(shard.read_bytes()[: shard.stat().st_size // 2])
    with pytest.raises(DataError, match="expected 2 records, found"):
        stored(corpus)


def test_a_damaged_shard_is_detected(tmp_path):
    corpus = prepare_corpus(write(tmp_path / "a.tsv"), tmp_path / "out")
    shard = min((tmp_path / "out").glob("shards-*/*.array_record"))
    data = bytearray(shard.read_bytes())
    data[150] ^= 1  # in the first record
    shard.write_bytes(data)
    with pytest.raises(DataError, match=r"array_record:1: the file is damaged \(.*\): delete .* and prepare it again"):
        stored(corpus)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:50],
        lambda text: "\0" * len(text),
        lambda text: text.replace('"kind"', '"type"'),  # as in format 2
        lambda text: text.replace('"shards": [', '"shards": [[], '),
        lambda text: text.replace('"chunks": [', f'"chunks": [[0, 0, {10**30}], '),
        lambda text: text.replace('"chunks": [', '"chunks": [[-1, 0, 8], '),
    ],
    ids=["truncated", "null bytes", "a missing key", "no name", "a large number", "a negative number"],
)
def test_a_damaged_manifest_can_be_overwritten(change, tmp_path):
    path = write(tmp_path / "a.tsv")
    reference = stored(prepare_corpus(path, tmp_path / "out"))
    manifest = tmp_path / "out" / MANIFEST
    manifest.write_text(change(manifest.read_text()))
    with pytest.raises(DataError, match=r"corpus.json:\d+: .*prepare the corpus again \(overwrite=True\)"):
        prepare_corpus(path, tmp_path / "out")
    assert stored(prepare_corpus(path, tmp_path / "out", overwrite=True)) == reference
    assert len(list((tmp_path / "out").glob("shards-*"))) == 1


def test_a_full_disk_is_named_while_drafts_are_written(tmp_path, monkeypatch):
    def full(*path, **arrays):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match=r"draft-00000-000-00000.*could not be written, with [\d.,]+ MB free") as caught:
        prepare_corpus(write(tmp_path / "a.tsv"), tmp_path / "out")
    assert caught.value.errno == errno.ENOSPC


def test_a_full_disk_is_named_while_shards_are_written(tmp_path, monkeypatch):
    class Full:
        def __init__(self, path, options):
            pass

        def write(self, record):
            pass

        def close(self):
            raise RuntimeError("write() failed: No space left on device; writing a file")

    monkeypatch.setattr("array_record.python.array_record_module.ArrayRecordWriter", Full)
    with pytest.raises(OSError, match=r"00000-000-00000.array_record could not be written, with [\d.,]+ MB free"):
        prepare_corpus(write(tmp_path / "a.tsv"), tmp_path / "out")


def test_another_split_uses_the_training_vocabulary_and_labels(tmp_path):
    train = prepare_corpus(write(tmp_path / "a.tsv"), tmp_path / "train")
    test = prepare_corpus(
        write(tmp_path / "b.tsv", ["word1 new"], ["odd"]), tmp_path / "test", train.vectorizer, train.labels
    )
    assert stored(test) == (train.vectorizer.encode(["word1 new"]), ["odd"])
    path = write(tmp_path / "c.tsv", ["word1", "word2"], ["odd", "evn"])
    with pytest.raises(DataError, match=r"c\.tsv:3: unknown label 'evn'.*Did you mean"):
        prepare_corpus(path, tmp_path / "c", train.vectorizer, train.labels)


def test_errors_name_the_line(tmp_path):
    path = write(tmp_path / "a.tsv")
    path.write_text(path.read_text(encoding="utf-8") + "odd\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.tsv:52: expected 2 columns"):
        prepare_corpus(path, tmp_path / "out")
    with pytest.warns(UserWarning, match="left out: 1"):
        assert len(prepare_corpus(path, tmp_path / "out", on_error="skip")) == 50


@pytest.mark.parametrize("empty", [4, 20], ids=["the first block", "a later block"])
def test_errors_in_parquet_name_the_row(tmp_path, empty):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"text": [*TEXTS[:empty], None, *TEXTS[empty + 1 :]], "label": LABELS})
    parquet.write_table(table, tmp_path / "a.parquet")
    problem = rf"a\.parquet:{empty + 1}: row {empty + 1} has an empty text or label: None, '{LABELS[empty]}'"
    with pytest.raises(DataError, match=problem):
        prepare_corpus(tmp_path / "a.parquet", tmp_path / "out")
    with pytest.warns(UserWarning, match=rf"malformed rows left out: 1\. The first: .*{problem}"):
        corpus = prepare_corpus(tmp_path / "a.parquet", tmp_path / "out", on_error="skip")
    assert stored(corpus)[1] == LABELS[:empty] + LABELS[empty + 1 :]


def test_wrong_arguments(tmp_path):
    path = write(tmp_path / "a.tsv")
    with pytest.raises(FileNotFoundError, match=r"b\.tsv does not exist"):
        prepare_corpus(tmp_path / "b.tsv", tmp_path / "out")
    with pytest.raises(ValueError, match="different files"):
        prepare_corpus([path, path], tmp_path / "out")
    with pytest.raises(ValueError, match="max_characters"):
        prepare_corpus(path, tmp_path / "out", TextVectorizer(max_characters=8))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / MANIFEST).write_text('{"labels": []}\n')
    with pytest.raises(DataError, match="not a manifest"):
        prepare_corpus(path, tmp_path / "out")
