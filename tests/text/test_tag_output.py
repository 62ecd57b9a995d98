import json
import xml.etree.ElementTree as ET

import pytest

from keras_slstm.datasets.conll import read_conll
from keras_slstm.models.sequence_tagger import FoundSpan
from keras_slstm.text import Span
from keras_slstm.text.tag_output import as_conll, as_html, as_json, as_records, token_offsets

SENTENCES = [["Ada", "wrote", "to", "<B&B>", "."], [], ["Ada"]]
TAGS = [["B-PER", "O", "O", "B-ORG", "O"], [], ["O"]]
SPANS = [[FoundSpan("PER", 0, 1, 0.75), FoundSpan("ORG", 3, 4, 0.5)], [], []]
TEXTS = ["Ada  wrote to <B&B>.", "", "Ada"]


def test_columns_are_read_again(tmp_path):
    path = tmp_path / "tags.txt"
    path.write_text(as_conll(SENTENCES, TAGS), encoding="utf-8")
    found = read_conll(path, scheme="BIO")
    assert [(one.tokens, one.tags) for one in found] == [(SENTENCES[0], TAGS[0]), (SENTENCES[2], TAGS[2])]


def test_offsets_are_those_of_the_text():
    records = as_records(SENTENCES, SPANS, TEXTS)
    for record in records:
        for span in record["spans"]:
            assert record["text"][span["start"] : span["end"]] == span["text"]
    assert [span["text"] for span in records[0]["spans"]] == ["Ada", "<B&B>"]
    assert [span["start"] for span in records[0]["spans"]] == [0, 14]
    assert [span["confidence"] for span in records[0]["spans"]] == [0.75, 0.5]
    assert [json.loads(line) for line in as_json(records).splitlines()] == records
    joined = as_records([["a", "b", "c"]], [[Span("X", 1, 3)]])[0]
    assert (joined["text"], joined["spans"][0]["text"]) == ("a b c", "b c")
    assert "confidence" not in joined["spans"][0]


def test_html_marks_the_spans_and_shows_the_text():
    page = as_html(as_records(SENTENCES, SPANS, TEXTS))
    paragraphs = list(ET.fromstring(f"<div>{page}</div>"))
    assert len(paragraphs) == 3
    marks = paragraphs[0].findall("mark")
    assert [(mark.text.strip(), "".join(mark.find("small").itertext())) for mark in marks] == [
        ("Ada", "PER"),
        ("<B&B>", "ORG"),
    ]
    assert [mark.get("title") for mark in marks] == ["0.750", "0.500"]
    assert marks[0].tail == "  wrote to "


def test_mismatches_are_named():
    with pytest.raises(ValueError, match="Token 1, 'x', is not found in the text from character 1 onwards"):
        token_offsets("a b", ["a", "x"])
    with pytest.raises(ValueError, match="Sentence 0 has 1 tokens, but 2 tags"):
        as_conll([["a"]], [["O", "O"]])
    for token in ("a b", "", "a\n"):
        with pytest.raises(ValueError, match="is empty or contains white space"):
            as_conll([[token]], [["O"]])
    with pytest.raises(ValueError, match="Tag 'B-creative work' of sentence 0 is empty or contains white space"):
        as_conll([["a"]], [["B-creative work"]])


@pytest.mark.parametrize(("start", "end"), [(1, 3), (2, 3), (1, 1), (-1, 1)])
def test_a_span_beyond_its_sentence(start, end):
    message = f"span 'LOC' from token {start} to {end} lies outside sentence 1, which has 2 tokens"
    with pytest.raises(ValueError, match=message):
        as_records([["a"], ["To", "Rome"]], [[], [Span("LOC", start, end)]])
