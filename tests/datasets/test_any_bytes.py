"""For any bytes in a file, a reader returns examples or raises a one-line error that names the file."""

import gzip
import itertools
import warnings

import pytest

hypothesis = pytest.importorskip("hypothesis")

from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from keras_slstm.datasets.conll import read_conll  # noqa: E402
from keras_slstm.datasets.corpus import load_corpus  # noqa: E402
from keras_slstm.datasets.pair_corpus import load_pair_corpus  # noqa: E402
from keras_slstm.datasets.pair_readers import read_labelled_pairs, read_scored_pairs  # noqa: E402
from keras_slstm.datasets.parallel_corpus import read_aligned_lines  # noqa: E402
from keras_slstm.datasets.readers import read_labelled_text, read_lines  # noqa: E402
from keras_slstm.datasets.tagged_corpus import load_tagged_corpus  # noqa: E402
from keras_slstm.errors import DataError  # noqa: E402
from keras_slstm.text.vocabulary import Vocabulary  # noqa: E402
from keras_slstm.text.word_vectors import load_word_vectors  # noqa: E402

CONLLU = b"# text\n1\tHe\the\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n2\tis\tbe\tAUX\tVBZ\t_\t0\troot\t_\t_\n\n"
CASES = {  # reader, name of the file, a valid one
    "tsv": (read_labelled_text, "a.tsv", b"label\ttext\nx\tone\ny\ttwo\n"),
    "csv": (read_labelled_text, "a.csv", b'text,label\n"one ""1"" ,\n",x\ntwo,y\n'),
    "txt": (read_labelled_text, "a.txt", b"text;label\none;x\ntwo;y\n"),
    "jsonl": (read_labelled_text, "a.jsonl", b'{"text": "one", "label": "x"}\n{"text": "two", "label": 5}\n'),
    "json": (read_labelled_text, "a.json", b'[{"text": "one", "label": "x"},\n {"text": "two", "label": "y"}]'),
    "gz": (read_labelled_text, "a.tsv.gz", gzip.compress(b"label\ttext\nx\tone\ny\ttwo\n")),
    "corpus": (load_corpus, "a.tsv", b"label\ttext\n" + b"x\tone\n" * 20),
    "pairs": (read_labelled_pairs, "a.tsv", b"label\ttext_a\ttext_b\nx\tone\ttwo\n"),
    "scores": (read_scored_pairs, "a.jsonl", b'{"premise": "one", "hypothesis": "two", "score": 1.5}\n'),
    "pair corpus": (load_pair_corpus, "a.csv", b"label,text_a,text_b\n" + b"x,one,two\n" * 20),
    "lines": (read_lines, "a.txt", b"one\n\ntwo\n"),
    "aligned": (lambda path: read_aligned_lines(path, path), "a.txt", b"one\n\ntwo\n"),
    "conll": (lambda path: read_conll(path, scheme="BIO"), "a.txt", b"EU B-ORG\nsays O\n\nhi O\n"),
    "conllu": (read_conll, "a.conllu", CONLLU),
    "tagged corpus": (load_tagged_corpus, "a.txt", b"EU B-ORG\nsays O\n\n" * 20),
    "vectors": (load_word_vectors, "a.txt", b"2 3\none 1 -2e3 0.5\ntwo 1 2 3\n"),
    "some vectors": (lambda path: load_word_vectors(path, ["one"]), "a.txt", b"one 1 2 3\ntwo 1 2 3\n"),
    "vocabulary": (lambda path: Vocabulary().load(path), "vocabulary.txt", b"one\ntwo\nthree\n"),
}
# Pieces with a meaning in one of the formats.
PIECES = st.one_of(
    st.binary(max_size=8),
    st.sampled_from(
        [b"\n", b"\r", b"\r\n", b"\t", b" ", b",", b";", b'"', b"{", b"}", b"[", b"]", b":", b"\\ud800", b"\\", b"\0",
         b"\xff\xfe", b"\xef\xbb\xbf", b"\xc2\x85", b"\xe2\x80\xa8", b"nan", b"1e999", b"9" * 5000, b"-1", b"null",
         b"I-X", b"B-", b"-DOCSTART-", b"[" * 3000, b"text", b"label"]
    ),
)  # fmt: skip


@st.composite
def damaged(draw, valid: bytes) -> bytes:
    """Draw any bytes, or a valid file with some bytes replaced."""
    if draw(st.integers(0, 4)) == 0:
        return draw(st.binary(max_size=60))
    content = valid
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        content = content[:start] + draw(PIECES) + content[start + draw(st.integers(0, 6)) :]
    return content


def refused(read, path) -> ValueError | None:
    """Read a file, and return the error if it is refused."""
    try:
        read(path)
    except ValueError as error:
        return error
    return None


@pytest.mark.parametrize("name", CASES)
def test_errors_are_one_line_with_file_and_position(name, tmp_path):
    read, file_name, valid = CASES[name]
    path = tmp_path / file_name
    path.write_bytes(valid)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read(path)  # the undamaged file is fine
        outcomes = {"read": 0, "refused": 0}

        @settings(
            max_examples=110, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
        )
        @given(damaged(valid))
        def check(content):
            path.write_bytes(content)
            error = refused(read, path)
            outcomes["read" if error is None else "refused"] += 1
            if isinstance(error, DataError):
                assert str(error).startswith(f"{path}:{error.line}: ")
                assert len(str(error).splitlines()) == 1
                assert len(str(error)) < 4000
                assert 1 <= error.line <= content.count(b"\n") + content.count(b"\r") + 2 or name == "gz"
            elif error is not None:  # the corpus is too small to be split
                assert "too few" in str(error)

        check()
    assert min(outcomes.values()) > 0  # both outcomes occur


def test_damaged_compression(tmp_path):
    whole = gzip.compress(b"label\ttext\n" + b"x\tone\n" * 1000)
    for number, cut in itertools.product(range(0, 40, 3), (True, False)):
        content = whole[:-number] if cut else whole[:number] + b"\x55" + whole[number + 1 :]
        path = tmp_path / "a.tsv.gz"
        path.write_bytes(content)
        error = refused(read_labelled_text, path)
        assert error is None or str(error).startswith(f"{path}:")
