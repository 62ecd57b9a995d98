import gzip

import pytest

from keras_slstm.datasets.conll import is_conllu, keep_valid, read_conll
from keras_slstm.errors import DataError

NEWS = """-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects VBZ I-VP O

-DOCSTART- -X- O O

Peter NNP I-NP I-PER
"""
UD = """# sent_id = 1
# text = He's here # now
1-2\tHe's\t_\t_\t_\t_\t_\t_\t_\t_
1\tHe\the\tPRON\tPRP\t_\t3\tnsubj\t_\t_
2\t's\tbe\tAUX\tVBZ\t_\t3\tcop\t_\t_
3\there\there\tADV\tRB\t_\t0\troot\t_\t_
3.1\tnow\tnow\tADV\tRB\t_\t_\t_\t_\t_

# sent_id = 2
1\t10 000\t10 000\tNUM\tCD\t_\t0\troot\t_\t_
"""


@pytest.fixture
def write(tmp_path):
    def write(text, name="data.txt"):
        path = tmp_path / name
        content = text.encode() if isinstance(text, str) else text
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


@pytest.mark.parametrize("name", ["eng.train", "eng.train.gz"])
def test_columns_of_conll_2003(write, name):
    found = read_conll(write(NEWS, name), scheme="IOB1")
    assert [(s.tokens, s.tags, s.lines) for s in found] == [
        (["EU", "rejects"], ["I-ORG", "O"], [3, 4]),
        (["Peter"], ["I-PER"], [8]),
    ]
    assert [s.tags for s in read_conll(write(NEWS), tag_column=1)] == [["NNP", "VBZ"], ["NNP"]]
    assert [s.tags for s in read_conll(write(NEWS), tag_column=-2, token_column=1)] == [["I-NP", "I-VP"], ["I-NP"]]


@pytest.mark.parametrize("name", ["ud.conllu", "UD.CONLLU.gz"])
def test_conllu(write, name):
    path = write(UD, name)
    found = read_conll(path)
    assert [(s.tokens, s.tags, s.lines) for s in found] == [
        (["He", "'s", "here"], ["PRON", "AUX", "ADV"], [4, 5, 6]),
        (["10 000"], ["NUM"], [10]),
    ]
    assert [s.tags for s in read_conll(path, "xpos")] == [["PRP", "VBZ", "RB"], ["CD"]]
    assert [s.tags for s in read_conll(path, 4, "lemma")] == [s.tags for s in read_conll(path, "XPOS")]
    assert read_conll(path, token_column="lemma")[0].tokens == ["he", "be", "here"]


def test_conllu_by_another_name(write):
    assert read_conll(write(UD, "download"), conllu=True)[0].tokens == ["He", "'s", "here"]
    with pytest.raises(DataError, match="expected 10 columns in CoNLL-U, found 1"):
        read_conll(write("a b\n", "a.txt"), conllu=True)
    assert is_conllu("a.conllu.gz")
    assert not is_conllu("conllu.txt")


@pytest.mark.parametrize(
    "text",
    [
        "a\tX\nb\tY\n\nc\tX",  # the last line end is missing
        "a X\nb  Y \n\nc X\n\n\n",
        "\n\na X\r\nb Y\r\n\r\nc X\r\n",
        "\ufeffa\tX\nb\tY\n \t\nc\tX\n",
    ],
)
def test_separators_and_line_ends(write, text):
    assert [(s.tokens, s.tags) for s in read_conll(write(text))] == [(["a", "b"], ["X", "Y"]), (["c"], ["X"])]


def test_unusual_spaces_are_part_of_a_word(write):
    """This includes those at which `str.split` and `str.splitlines` split."""
    odd = "2\u00a01/2 X\nnext\u0085line X\nfeed\x0c X\n"
    assert read_conll(write(odd))[0].tokens == ["2\u00a01/2", "next\u0085line", "feed\x0c"]


def test_a_hash_is_a_word_outside_conllu(write):
    assert read_conll(write("# X\n1 Y\n"))[0].tokens == ["#", "1"]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a X Y\nb X\n", 2, "expected 3 columns as in the first line with a word, found 2"),
        ("a X\nb X\n\nc X Y\n", 4, "expected 2 columns as in the first line with a word, found 3"),
        ("a\tX\nb\t\n", 2, "the tag (column -1) is empty"),
        ("a\tX\n\tX\n", 2, "the word (column 0) is empty"),
        ("a O\nb I-X\n", 2, '"I-X" continues a span'),
        ("a O\nb NOUN\n", 2, '"NOUN" is not a tag of BIO'),
        (b"a O\n\nb\xff O\n", 3, "not UTF-8: byte 0xff at column 2"),
        ("", 1, "the file is empty"),
        ("\n\n-DOCSTART- O\n", 1, "the file contains no sentences"),
    ],
)
def test_malformed_files_are_named_with_the_line(write, text, line, problem):
    path = write(text)
    with pytest.raises(DataError) as raised:
        read_conll(path, scheme="BIO" if text and "O" in str(text) else None)
    assert str(raised.value).startswith(f"{path}:{line}: {problem}")


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("2\tb\tb\tX", "expected 10 columns in CoNLL-U, found 4"),
        ("3\tb\tb\tX\tX\t_\t_\t_\t_\t_", 'expected the word id 2, found "3"'),
        ("b\tb\tb\tX\tX\t_\t_\t_\t_\t_", 'expected the word id 2, found "b"'),
    ],
)
def test_malformed_conllu(write, row, problem):
    path = write("1\ta\ta\tX\tX\t_\t_\t_\t_\t_\n" + row + "\n", "a.conllu")
    with pytest.raises(DataError) as raised:
        read_conll(path)
    assert str(raised.value) == f"{path}:2: {problem}"


def test_wrong_columns_are_refused(write):
    path = write(NEWS)
    for column in (4, -5):
        with pytest.raises(DataError, match=rf"data\.txt:3: no column {column} .*: the line has 4 columns"):
            read_conll(path, tag_column=column)
    for token, tag in ((1, 1), (0, -4), (-1, None)):
        with pytest.raises(DataError, match=r"data\.txt:3: the word and the tag are both read from column \d .*: 4"):
            read_conll(path, tag_column=tag, token_column=token)
    with pytest.raises(DataError, match=r"words\.txt:1: .* both read from column 0 .*: 1"):
        read_conll(write("no\ntags\n", "words.txt"))
    with pytest.raises(ValueError, match="`tag_column` must be a column index, but got 'upos'"):
        read_conll(path, tag_column="upos")
    with pytest.raises(ValueError, match="`token_column` must be a column index or one of id, form"):
        read_conll(write(UD, "a.conllu"), token_column="word")
    with pytest.raises(ValueError, match="on_error"):
        read_conll(path, on_error="ignore")


def test_malformed_sentences_can_be_skipped(write):
    path = write(b"a B-X\n\nb O\nc\n\nd\xff O\n\ne O\nf I-X\n\ng I-X\n\nh B-X\ni I-X\n")
    with pytest.warns(
        UserWarning, match=r"sentences with malformed lines left out: 4\. The first: .*:4: expected 2 columns"
    ):
        found = read_conll(path, scheme="BIO", on_error="skip")
    assert [s.tokens for s in found] == [["a"], ["h", "i"]]
    with pytest.warns(UserWarning, match="left out: 2"):
        read = read_conll(path, on_error="skip")
    with pytest.raises(DataError, match=r":9: "):
        keep_valid(path, read, "BIO")
    with pytest.warns(UserWarning, match="sentences with invalid tags left out: 2"):
        assert keep_valid(path, read, "BIO", on_error="skip") == found
    with (
        pytest.warns(UserWarning, match="left out: 2"),
        pytest.raises(DataError, match="no sentences with valid tags"),
    ):
        keep_valid(path, [s for s in read if s not in found], "BIO", on_error="skip")
