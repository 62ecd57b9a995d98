import sys

import pytest

from keras_slstm.errors import DataError
from keras_slstm.text.subword_vectorizer import BYTES, SPECIAL_IDS, SubwordVectorizer

pytest.importorskip("tokenizers", reason="subwords need the `translation` extra")
TEXTS = ["the lower tower", "the lowest flower", "der Turm", "ein Turm", "12 towers in 2012"] * 3


@pytest.fixture
def vectorizer():
    vectorizer = SubwordVectorizer(max_tokens=SPECIAL_IDS + BYTES + 40)
    vectorizer.adapt(TEXTS)
    return vectorizer


@pytest.mark.parametrize("merges", [1, 4])
def test_all_ids_are_counted(merges):
    vectorizer = SubwordVectorizer(max_tokens=SPECIAL_IDS + BYTES + merges)
    vectorizer.adapt(TEXTS)
    assert vectorizer.vocabulary_size == SPECIAL_IDS + BYTES + merges


def test_every_text_round_trips(vectorizer):
    texts = [
        "the lower tower",
        "",
        " two  spaces ",
        "tab\tand\nline\r\n",
        "Ünïcode €5 \u0085\u2028 漢字 🙂",
        "[PAD]</s>",
        "007",
    ]
    ids = vectorizer.encode(texts)
    assert vectorizer.decode(ids) == texts
    assert ids[1] == []
    assert all(SPECIAL_IDS <= i < vectorizer.vocabulary_size for row in ids for i in row)


def test_frequent_words_are_one_subword_and_digits_never_are(vectorizer):
    lengths = [len(row) for row in vectorizer.encode(["the", "the Turm", "Turm", "20122012"])]
    assert lengths == [1, 2, 1, 9]  # the ninth is the space before them
    first, second = vectorizer.encode(["Turm", "the Turm"])
    assert first == second[1:]  # at the beginning as elsewhere


def test_size_count_and_length_are_limits(vectorizer):
    assert vectorizer.vocabulary_size <= SPECIAL_IDS + BYTES + 40
    rare = SubwordVectorizer(max_tokens=400, min_count=100)
    rare.adapt(TEXTS)
    assert rare.vocabulary_size == SPECIAL_IDS + BYTES
    short = SubwordVectorizer(max_tokens=400, max_length=2)
    short.adapt(TEXTS)
    assert [len(row) for row in short.encode(["the tower and so on"])] == [2]


def test_learning_is_repeatable(vectorizer):
    again = SubwordVectorizer(max_tokens=vectorizer.max_tokens)
    again.adapt(TEXTS)
    assert again._subwords.json == vectorizer._subwords.json


def test_special_and_broken_ids(vectorizer):
    (the,) = vectorizer.encode(["the"])
    assert vectorizer.decode([[1, *the, 2, 0, 0]]) == ["the"]
    (umlaut,) = vectorizer.encode(["ü"])
    assert "\ufffd" in vectorizer.decode([umlaut[:-1]])[0]  # half a letter


def test_assets_hold_the_subwords(vectorizer, tmp_path):
    vectorizer.save_assets(str(tmp_path))
    other = SubwordVectorizer.from_config(vectorizer.get_config())
    other.load_assets(str(tmp_path))
    assert other.encode(TEXTS) == vectorizer.encode(TEXTS)
    assert other.get_config() == vectorizer.get_config()


def test_errors(vectorizer, monkeypatch):
    for arguments in ({"size": 258}, {"min_count": 0}, {"max_length": 0}):
        with pytest.raises(ValueError, match=next(iter(arguments))):
            SubwordVectorizer(**arguments)
    fresh = SubwordVectorizer()
    assert not fresh.is_adapted
    with pytest.raises(ValueError, match="adapt"):
        fresh.encode(["a"])
    with pytest.raises(ValueError, match="adapt"):
        fresh.decode([[5]])
    with pytest.raises(ValueError, match="`texts` is empty"):
        fresh.adapt([])
    with pytest.raises(ValueError, match="one string"):
        vectorizer.encode("a text")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ImportError, match=r"keras-slstm\[translation\]"):
        fresh.adapt(["a"])


@pytest.mark.parametrize("content", [b"", b"{\n\xff", b"[" * 100_000], ids=["empty", "not UTF-8", "too deep"])
def test_damaged_subwords_are_named(tmp_path, content):
    (tmp_path / "subwords.json").write_bytes(content)
    with pytest.raises(DataError, match=r"subwords\.json:1: the subwords are not valid JSON"):
        SubwordVectorizer().load_assets(tmp_path)


def test_json_that_holds_no_subwords(tmp_path):
    (tmp_path / "subwords.json").write_text("[]")
    vectorizer = SubwordVectorizer()
    vectorizer.load_assets(tmp_path)
    with pytest.raises(ValueError, match="`tokenizers` cannot read the saved subwords"):
        vectorizer.encode(["a"])


def test_configurations_of_older_files():
    assert SubwordVectorizer.from_config({"size": 300, "name": "s"}).get_config()["max_tokens"] == 300
