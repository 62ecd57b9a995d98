import csv
import gzip
import pickle

import pytest

from keras_slstm.datasets.pair_readers import read_labelled_pairs
from keras_slstm.datasets.readers import read_labelled_text, read_lines, text_columns
from keras_slstm.datasets.records import iterate_columns
from keras_slstm.errors import DataError


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        content = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


GOOD = {
    "a.tsv": 'label\ttext\npos\ta "fine" film\nneg\ta dull one\n',
    "a.csv": 'text,label\n"a ""fine"" film",pos\na dull one,neg\n',
    "a.jsonl": '{"text": "a \\"fine\\" film", "label": "pos"}\n{"label": "neg", "text": "a dull one"}\n',
}


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_every_format_gives_the_same_examples(write, name, suffix, end, mark):
    examples = read_labelled_text(write(name + suffix, mark + GOOD[name].replace("\n", end)))
    assert [(text, label) for text, label, _ in examples] == [('a "fine" film', "pos"), ("a dull one", "neg")]


def test_columns_by_name(write):
    path = write("a.tsv", "id\treview\tstars\n1\tgood\t5\n2\tbad\t1")
    examples = read_labelled_text(path, text_column="review", label_column="stars")
    assert examples == [("good", "5", 2), ("bad", "1", 3)]


@pytest.mark.parametrize("columns", [("label", None), (None, "text"), ("review", "review")])
def test_text_and_label_are_different_columns(write, columns):
    with pytest.raises(ValueError, match=r'The text and the label are both read from the column "\w+"'):
        read_labelled_text(write("a.tsv", "label\ttext\treview\na\tb\tc\n"), *columns)


def test_lines_end_at_line_feeds_only(write):
    text = "one\u0085two\u2028three\x0bfour\x1cfive\x0csix"
    assert read_labelled_text(write("a.tsv", f"label\ttext\nx\t{text}\n"))[0].text == text
    assert read_lines(write("a.txt", f"{text}\nnext")) == [text, "next"]


def test_csv_field_may_span_lines(write):
    path = write("a.csv", 'text,label\n"two\nlines",x\nplain,y\n')
    assert read_labelled_text(path) == [("two\nlines", "x", 2), ("plain", "y", 4)]


def test_integer_labels_of_jsonl_become_names(write):
    assert read_labelled_text(write("a.jsonl", '{"text": "t", "label": 0}\n'))[0].label == "0"


SEVERAL_FORMS = {
    "empty lines.tsv": b"\nlabel\ttext\n\nx\tone\n \n\t\ny\ttwo\n\n",
    "empty lines.csv": b"label,text\n\nx,one\n,\ny,two\n\n",
    "empty lines.jsonl": b'\n{"label": "x", "text": "one"}\n\n{"label": "y", "text": "two"}\n \n',
    "array.json": b'[{"label": "x",\n"text": "one"}\n,\n{"label": "y", "text": "two"}]\n',
    "lines.json": b'{"label": "x", "text": "one"}\n{"label": "y", "text": "two"}\n',
    "lines.ndjson": b'{"label": "x", "text": "one"}\n{"label": "y", "text": "two"}\n',
    "mac.tsv": b"label\ttext\rx\tone\ry\ttwo\r",
    "mac.csv": b'text,label\rone,"x"\rtwo,y',
    "spaces.tsv": b" label \ttext\n x \tone\ny  \ttwo\n",
    "spaces.jsonl": b'{"label": " x", "text": "one"}\n{"label": "y ", "text": "two"}\n',
}
OTHER_SEPARATORS = {
    "semicolons.csv": (b'text;label\n"one";x\ntwo;y\n', "semicolons"),
    "tabs.csv": (b"label\ttext\nx\tone\ny\ttwo\n", "tabs"),
    "commas.tsv": (b"label,text\nx,one\ny,two\n", "commas"),
    "tabs.txt": (b"label\ttext\nx\tone\ny\ttwo\n", "tabs"),
    "bars.txt": (b"label|text\nx|one\ny|two\n", "vertical bars"),
}


@pytest.mark.parametrize("name", SEVERAL_FORMS)
def test_common_variants_of_files(write, name):
    examples = read_labelled_text(write(name, SEVERAL_FORMS[name]))
    assert [(text, label) for text, label, _ in examples] == [("one", "x"), ("two", "y")]


@pytest.mark.parametrize("name", OTHER_SEPARATORS)
def test_a_guessed_separator_is_reported(write, name):
    content, separator = OTHER_SEPARATORS[name]
    path = write(name, content)
    with pytest.warns(UserWarning, match=f"^{path}: columns are separated by {separator}$") as warned:
        examples = read_labelled_text(path)
    assert [(text, label) for text, label, _ in examples] == [("one", "x"), ("two", "y")]
    assert warned[0].filename == __file__


def test_labels_are_stripped(write):
    """A label with a trailing space would be another label."""
    pairs = read_labelled_pairs(write("pairs.csv", "text_a,text_b,label\na,b, x\na,c,x \n"))
    assert [pair.label for pair in pairs] == ["x", "x"]


BAD = [  # file name, content, faulty line, words of the message
    ("a.tsv", "label\ttext\nx\tgood\nx\tone\ttwo\n", 3, "expected 2 columns as in the header, found 3"),
    ("a.tsv", "label\ttext\nx\t \n", 2, 'the text \\(column "text"\\) is empty'),
    ("a.tsv", "label\ttext\n \tgood\n", 2, 'the label \\(column "label"\\) is empty'),
    ("a.tsv", "label\tsentence\nx\tgood\n", 1, 'no column "text"; its columns: "label", "sentence"'),
    ("a.tsv", b"label\ttext\nx\tgood\nx\tcaf\xe9\n", 3, "not UTF-8: byte 0xe9 at column 6"),
    ("a.tsv", "", 1, "the file is empty"),
    ("a.tsv", "label\ttext\n", 1, "the file contains no examples"),
    ("a.csv", 'text,label\ngood,x\n"never closed,x\n', 3, "malformed CSV"),
    ("a.csv", 'text,label\n"two\nlines",x\ngood\n', 4, "expected 2 columns as in the header, found 1"),
    ("a.csv", "text,label\ngood,x,\n", 2, "expected 2 columns as in the header, found 3"),
    ("a.csv", b'text,label\ngood,x\n"two\nlin\xe9s\n",x\n', 4, "not UTF-8: byte 0xe9 at column 4"),
    ("a.csv", "text,label,text\ngood,x,bad\n", 1, 'the column "text" more than once'),
    ("a.tsv", "label\ttext\tlabel\nx\tgood\ty\n", 1, 'the column "label" more than once'),
    ("a.jsonl", '{"text": "t", "label": "x"}\n' + "[" * 100_000 + "\n", 2, "Python cannot read this JSON"),
    ("a.jsonl", '{"text": "t", "label": ' + "1" * 5000 + "}\n", 1, "Python cannot read this JSON"),
    ("a.jsonl", '{"text": "t", "label": "x"}\n{"text": \n', 2, "invalid JSON at column"),
    ("a.jsonl", '{"text": "t\\ud83d", "label": "x"}\n', 1, "lone surrogate"),
    ("a.json", '[{"text": "t", "label": "x"},\n {"text": "t"}]', 2, 'no key "label"; its keys: "text"'),
    ("a.json", '[{"text": "t", "label": "x"},\n\n{"text": }]', 3, "invalid JSON at column"),
    ("a.json", '[{"text": "t", "label": "x"}\n\n{"text": "t", "label": "x"}]', 3, "expected a comma or ]"),
    ("a.json", '[{"text": "t", "label": "x"},\n', 1, "the JSON array is not closed"),
    ("a.json", '{\n "texts": []}\n', 1, "invalid JSON"),
    ("a.txt", "label text\nx good\n", 1, 'no column "text"; .* The first line must name the columns'),
    ("a.csv", "Text,label\ngood,x\n", 1, 'no column "text"; its columns: "Text", "label". Did you mean "Text"?'),
    ("a.tsv", b"\xff\xfel\x00", 1, "the file is UTF-16: save it as UTF-8"),
    ("a.jsonl", '["t", "x"]\n', 1, "expected a JSON object, found list"),
    ("a.jsonl", '{"text": "t", "class": "x"}\n', 1, 'no key "label"; its keys: "text", "class"'),
    ("a.jsonl", '{"text": 5, "label": "x"}\n', 1, "must be a string, found 5"),
    ("a.jsonl", '{"text": "t", "label": null}\n', 1, "must be a string or an integer, found None"),
    ("a.jsonl", '{"text": "t", "label": true}\n', 1, "must be a string or an integer, found True"),
    ("a.jsonl", '{"text": "", "label": "x"}\n', 1, 'the text \\(column "text"\\) is empty'),
]


@pytest.mark.parametrize(("name", "content", "line", "message"), BAD)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_malformed_file_names_file_and_line(write, name, content, line, message, suffix):
    path = write(name + suffix, content)
    with pytest.raises(DataError, match=message) as raised:
        read_labelled_text(path)
    assert str(raised.value).startswith(f"{path}:{line}: ")
    assert (raised.value.path, raised.value.line) == (str(path), line)


def test_skip_drops_and_counts_malformed_lines(write):
    path = write("a.tsv", b"label\ttext\nx\tone\nno label\nx\t\nx\tcaf\xe9\ny\ttwo\n")
    with pytest.warns(UserWarning, match=rf"left out: 3. The first: {path}:3: expected 2 columns"):
        examples = read_labelled_text(path, on_error="skip")
    assert examples == [("one", "x", 2), ("two", "y", 6)]


def test_skip_drops_whole_csv_rows_and_keeps_line_numbers(write):
    path = write("a.csv", b'text,label\ncaf\xe9,x\none,x\n"spans\nlin\xe9s\nof text",x\ntwo,y\n')
    with pytest.warns(UserWarning, match=rf"left out: 2. The first: {path}:2: not UTF-8"):
        examples = read_labelled_text(path, on_error="skip")
    assert examples == [("one", "x", 3), ("two", "y", 7)]


def test_skip_drops_one_line_if_a_quotation_mark_is_not_closed(write):
    good = "".join(f"{word},x\n" for word in ("one", "two", "three"))
    path = write("a.csv", f'text,label\n"5 inch,y\n{good}"spans\nlines",x\nx,"6 inch\nfour,x\n')
    with pytest.warns(UserWarning, match=rf"left out: 2. The first: {path}:2: malformed CSV"):
        examples = read_labelled_text(path, on_error="skip")
    assert examples == [("one", "x", 3), ("two", "x", 4), ("three", "x", 5), ("spans\nlines", "x", 6), ("four", "x", 9)]


def test_texts_in_csv_may_be_longer_than_pythons_limit(write):
    usual = csv.field_size_limit()
    text = "word " * 40_000
    path = write("a.csv", f'text,label\n"{text}",x\ntwo,y\n')
    assert read_labelled_text(path) == [(text, "x", 2), ("two", "y", 3)]
    records = iterate_columns(path, text_columns(), "raise")
    next(records)
    assert csv.field_size_limit() == usual  # even while the file is read


def test_a_repeated_unused_column_is_ignored(write):
    assert read_labelled_text(write("a.csv", "text,label,,\ngood,x,,\n")) == [("good", "x", 2)]


def test_skip_does_not_hide_a_missing_column_or_a_file_without_examples(write):
    with pytest.raises(DataError, match="no column"):
        read_labelled_text(write("a.tsv", "a\tb\nx\ty\n"), on_error="skip")
    with pytest.warns(UserWarning, match="left out: 1"), pytest.raises(DataError, match="contains no examples"):
        read_labelled_text(write("b.jsonl", "{\n"), on_error="skip")


def test_damaged_gzip_is_named(tmp_path):
    path = tmp_path / "a.tsv.gz"
    for content in (b"not gzip", gzip.compress(b"label\ttext\nx\tgood\n")[:-9]):
        path.write_bytes(content)
        with pytest.raises(DataError, match="not a valid gzip file"):
            read_labelled_text(path)


def test_wrong_arguments(write, tmp_path):
    with pytest.raises(ValueError, match=r"\.tsv, \.csv, \.txt, \.json, \.jsonl or \.ndjson, .*a\.xlsx"):
        read_labelled_text(write("a.xlsx", "x"))
    with pytest.raises(ValueError, match="but got 'ignore'"):
        read_labelled_text(write("a.tsv", GOOD["a.tsv"]), on_error="ignore")
    with pytest.raises(FileNotFoundError):
        read_labelled_text(tmp_path / "missing.tsv")


def test_read_lines(write):
    assert read_lines(write("a.txt", "one\r\ntwo words\n")) == ["one", "two words"]
    assert read_lines(write("a.txt.gz", "one\ntwo")) == ["one", "two"]
    assert read_lines(write("c.txt", "\none\n \ntwo\n\n")) == ["one", "two"]
    assert read_lines(write("d.txt", "one\rtwo\r")) == ["one", "two"]
    for content, line in (("\n\n", 1), (b"one\n\n\xff\n", 3), ("", 1)):
        path = write("b.txt", content)
        with pytest.raises(DataError, match=rf"^{path}:{line}: "):
            read_lines(path)
    with pytest.warns(UserWarning, match="left out: 1"):
        assert read_lines(write("c.txt", b"one\n\xff\ntwo\n"), on_error="skip") == ["one", "two"]


def test_an_error_is_one_line(write):
    with pytest.raises(DataError) as raised:
        read_labelled_text(write("a.csv", '"la\nbel",te\u2028xt\nx,good\n'))
    assert len(str(raised.value).splitlines()) == 1


def test_error_survives_pickling():
    error = pickle.loads(pickle.dumps(DataError("a.tsv", 3, "wrong")))
    assert (str(error), error.path, error.line, error.problem) == ("a.tsv:3: wrong", "a.tsv", 3, "wrong")
