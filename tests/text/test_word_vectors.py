import gzip

import numpy as np
import pytest

from keras_slstm.errors import DataError
from keras_slstm.text.text_vectorizer import TextVectorizer
from keras_slstm.text.word_vectors import WordVectors, load_word_vectors

LINES = ["the 1 2 -3e-1", ". . . 4 5 6", "Oslo 7 8 9", "\u0085 0 0 1", "the 9 9 9", "paris 1 1 1"]


@pytest.fixture
def write(tmp_path):
    def write(lines, name="vectors.txt", end="\n"):
        path = tmp_path / name
        content = lines if isinstance(lines, bytes) else end.join([*lines, ""]).encode()
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


@pytest.mark.parametrize("name", ["vectors.txt", "vectors.txt.gz"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("header", [[], ["6 3"]], ids=["glove", "word2vec"])
def test_reads_words_and_values(write, name, end, header):
    vectors = load_word_vectors(write(header + LINES, name, end))
    assert list(vectors.words) == ["the", ". . .", "Oslo", "\u0085", "paris"]
    assert vectors.matrix.dtype == np.float32
    np.testing.assert_allclose(vectors.matrix[:2], [[1, 2, -0.3], [4, 5, 6]])


def test_only_needed_vectors_are_kept(write):
    vectors = load_word_vectors(write(LINES), words=["oslo", "PARIS", "unseen", "."])
    assert list(vectors.words) == ["Oslo", "paris"]
    assert vectors.find("oslo") == 0
    assert vectors.find("PARIS") == 1
    assert vectors.find("The") is None


def test_the_exact_word_takes_precedence():
    vectors = WordVectors(["US", "us", "May", "may"], np.zeros((4, 2), np.float32))
    assert [vectors.find(word) for word in ("US", "us", "Us", "may", "May", "MAY")] == [0, 1, 1, 3, 2, 3]


BAD = [
    (["a 1 2", "b 1"], 2, "expected a word and 2 values"),
    (["a 1 2", "b 1 2 3 4 x 5"], 2, "not a number"),
    (["a 1 2", "b 1 nan"], 2, "not a finite number: b'nan'"),
    (["a 1 2", "b 1 inf"], 2, "not a finite number: b'inf'"),
    (["a"], 1, "expected a word and its values"),
    (b"a 1 2\n\xff 1 2\n", 2, "not UTF-8"),
    (b"", 1, "empty"),
    (["5 2"], 1, "the file contains no word vectors"),
    (b"\xff\xfea\x00 \x001\x00\n\x00", 1, "the file is UTF-16: save it as UTF-8"),
]


@pytest.mark.parametrize(("lines", "line", "words"), BAD)
def test_malformed_lines_are_named(write, lines, line, words):
    path = write(lines)
    with pytest.raises(DataError, match=words) as error:
        load_word_vectors(path)
    assert (error.value.path, error.value.line) == (str(path), line)


def test_wrong_length_of_an_unwanted_line_is_found(write):
    with pytest.raises(DataError, match="expected a word and 2 values") as error:
        load_word_vectors(write(["a 1 2", "b 1", "c 1 2"]), words=["a"])
    assert error.value.line == 2


@pytest.mark.parametrize("damage", [slice(0, -9), slice(3, None)], ids=["cut", "no header"])
def test_damaged_compression(tmp_path, damage):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"a 1 2\n" * 100)[damage])
    with pytest.raises(DataError, match="gzip"):
        load_word_vectors(path)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_word_vectors(tmp_path / "a.txt")


def test_nothing_in_common(write):
    with pytest.raises(DataError, match="no word of the texts has one of these 3-dimensional vectors"):
        load_word_vectors(write(LINES), words=["unseen"])
    with pytest.warns(UserWarning, match="No word of the texts has a vector"):
        TextVectorizer().adapt(["good day"], known=["добрый", "день"])


@pytest.mark.parametrize("content", [b"a 1 2\n\nb 3 4\n\n", b"a 1 2\rb 3 4\r", b"\r\na 1 2\r\nb 3 4\r\n"])
def test_empty_lines_and_other_line_ends(write, content):
    vectors = load_word_vectors(write(content))
    assert list(vectors.words) == ["a", "b"]
    np.testing.assert_array_equal(vectors.matrix, [[1, 2], [3, 4]])


def test_initial_vectors_of_a_model():
    matrix = np.random.default_rng(0).normal(3, 2, (4, 500)).astype(np.float32)
    vectors = WordVectors(["a", "b", "C", "d"], matrix)
    initial = vectors.embedding_matrix(["", "[UNK]", "c", "new", "a"], seed=1)
    np.testing.assert_array_equal(initial[0], 0)
    np.testing.assert_allclose(initial[1], matrix.mean(axis=0), atol=1e-6)
    np.testing.assert_array_equal(initial[[2, 4]], matrix[[2, 0]])
    assert initial[3].std() == pytest.approx(matrix.std() / 2, rel=0.1)
    np.testing.assert_array_equal(initial, vectors.embedding_matrix(["", "[UNK]", "c", "new", "a"], seed=1))
    assert (initial[3] != vectors.embedding_matrix(["", "[UNK]", "c", "new", "a"], seed=2)[3]).all()


def test_coverage():
    vectors = WordVectors(["a", "b"], np.zeros((2, 3), np.float32))
    coverage = vectors.coverage({"A": 5, "b": 1, "x": 3, "y": 3, "z": 8})
    assert (coverage.known_tokens, coverage.tokens, coverage.known_types, coverage.types) == (6, 20, 2, 5)
    assert coverage.most_frequent_missing == [("z", 8), ("x", 3), ("y", 3)]
    assert "30.0% of 20 tokens and 40.0% of 5 word types" in str(coverage)
    assert "none" in str(vectors.coverage({}))


@pytest.mark.parametrize(("words", "shape"), [(["a"], (2, 3)), (["a", "b"], (2,)), (["a", "a"], (2, 3))])
def test_words_and_matrix_must_fit(words, shape):
    with pytest.raises(ValueError, match=r"rows|occurs twice"):
        WordVectors(words, np.zeros(shape, np.float32))
