"""Files compressed with zstandard."""

from __future__ import annotations

import random

import pytest

from keras_slstm.datasets import DataError, read_labelled_text
from keras_slstm.datasets.records import Column, iterate_columns
from keras_slstm.text.zstd_reader import CHUNK

pytestmark = pytest.mark.backends("torch")  # uses no tensors
TABLE = "label\ttext\npos\ta fine film\nneg\ta dull one\n"
COLUMNS = Column("text", ["text"]), Column("label", ["label"])


def _write(path, text):
    zstandard = pytest.importorskip("zstandard")
    path.write_bytes(zstandard.compress(text.encode()))
    return path


def test_reads_a_table(tmp_path):
    examples = read_labelled_text(_write(tmp_path / "reviews.TSV.zst", TABLE))
    assert [(one.text, one.label, one.line) for one in examples] == [
        ("a fine film", "pos", 2),
        ("a dull one", "neg", 3),
    ]


def test_names_the_line_of_a_damaged_file(tmp_path):
    pytest.importorskip("zstandard")
    path = tmp_path / "reviews.tsv.zst"
    path.write_bytes(b"label\ttext\n")
    with pytest.raises(DataError, match=r"reviews.tsv.zst:1: not a valid zst file .*compress it again"):
        read_labelled_text(path)


@pytest.mark.parametrize("kept", [0.5, 1 - 1e-9])  # half of the file, and all but its last byte
def test_the_end_must_not_be_missing(tmp_path, kept):
    rows = "".join(f"{random.Random(seed).random()}\ttext {seed}\n" for seed in range(9000))
    path = _write(tmp_path / "reviews.tsv.zst", "label\ttext\n" + rows)
    whole = path.read_bytes()
    assert len(whole) > 1.5 * CHUNK
    assert len(read_labelled_text(path)) == 9000
    path.write_bytes(whole[: int(kept * len(whole))])
    with pytest.raises(DataError, match=r"reviews.tsv.zst:\d{4}: not a valid zst file .*ended before the end"):
        read_labelled_text(path)


def test_reads_several_frames(tmp_path):
    path = _write(tmp_path / "reviews.tsv.zst", TABLE)
    first = path.read_bytes()
    path.write_bytes(first + _write(tmp_path / "more.tsv.zst", "pos\tanother\n").read_bytes())
    assert [one.text for one in read_labelled_text(path)] == ["a fine film", "a dull one", "another"]


def test_iteration_reads_no_further_than_needed(tmp_path):
    path = tmp_path / "reviews.tsv"
    path.write_text(TABLE + "one column only\n")
    examples = iterate_columns(path, COLUMNS, "raise")
    assert next(examples) == (2, ["a fine film", "pos"])
    assert next(examples) == (3, ["a dull one", "neg"])
    with pytest.raises(DataError, match=r"reviews.tsv:4: expected 2 columns"):
        next(examples)
