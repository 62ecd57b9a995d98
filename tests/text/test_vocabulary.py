import pytest

from keras_slstm.errors import DataError
from keras_slstm.text.vocabulary import PADDING_ID, Vocabulary


def test_a_saved_vocabulary_is_read_back(tmp_path):
    words = ["two", "no\u0085break", " ", "\r", "\u2028", "é"]
    vocabulary, again = Vocabulary(), Vocabulary()
    vocabulary.set(words)
    vocabulary.save(tmp_path / "words.txt")
    again.load(tmp_path / "words.txt")
    assert again.words == words
    assert again.ids(["é", "two", "none"]) == [7, 2, 1]


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (b"one\ntwo\none\n", 3, "the word 'one' is already in line 1"),
        (b"one\n\ntwo\n", 2, "expected a word, but the line is empty"),
        (b"one\ntw\xff\n", 2, "not UTF-8: byte 0xff at column 3"),
        (b"one\ntw", 2, "the last line does not end in a line feed: the file is incomplete"),
    ],
)
def test_a_damaged_file_is_named_with_the_line(tmp_path, content, line, problem):
    path = tmp_path / "words.txt"
    path.write_bytes(content)
    with pytest.raises(DataError) as raised:
        Vocabulary().load(path)
    assert str(raised.value).startswith(f"{path}:{line}: {problem}")


def test_a_lone_surrogate_is_refused():
    with pytest.raises(ValueError, match=r"The word '\\ud83d' cannot be saved"):
        Vocabulary().learn({"good": 1, "\ud83d": 1})


def test_padding_is_0_as_keras_masks_it():
    assert PADDING_ID == 0
