"""The output lines of predictions."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from keras_slstm.cli.tasks import show
from keras_slstm.models.sequence_tagger import FoundSpan


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Tagger(SimpleNamespace):
    """Finds a span at the first word, and records how many sentences each call gets."""

    labels = ("O", "B-x", "I-x")

    def find_spans(self, sentences):
        self.sizes.append(len(sentences))
        return [[FoundSpan("x", 0, 1, 0.5)] for _ in sentences]

    def tag(self, sentences, return_confidence):
        self.sizes.append(len(sentences))
        return [["B-x"] for _ in sentences], [np.array([0.5]) for _ in sentences]


@pytest.mark.parametrize(("scheme", "line"), [("BIO", "[{}: x 0.50]"), (None, "{}/B-x  (lowest confidence: 0.50)")])
def test_many_sentences_are_tagged_in_parts(scheme, line, monkeypatch, capsys):
    monkeypatch.setattr(show, "CHUNK", 4)
    model = Tagger(scheme=scheme, sizes=[])
    show.show_tags(model, [[str(i)] for i in range(10)])
    assert model.sizes == [4, 4, 2]
    out, err = capsys.readouterr()
    assert out.splitlines() == [line.format(i) for i in range(10)]
    assert err == ""


@pytest.mark.parametrize("scheme", ["BIO", None])
def test_words_are_escaped_for_the_terminal(scheme, capsys):
    show.show_tags(Tagger(scheme=scheme, sizes=[]), [["a\x1b[31m", "b\u202e"]])
    out = capsys.readouterr().out
    assert "a\\x1b[31m" in out
    assert "\x1b" not in out
    assert "\u202e" not in out


@pytest.mark.parametrize(
    ("number", "out", "error", "is_shown"),
    [
        (10, io.StringIO, Terminal, True),
        (4, io.StringIO, Terminal, False),
        (10, Terminal, Terminal, False),
        (10, io.StringIO, io.StringIO, False),
    ],
)
def test_progress_is_shown_only_on_a_terminal(number, out, error, is_shown, monkeypatch):
    monkeypatch.setattr(show, "CHUNK", 4)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stdout", out())
    monkeypatch.setattr(sys, "stderr", error())
    show.show_tags(Tagger(scheme="BIO", sizes=[]), [[str(i)] for i in range(number)])
    assert ("Sentences" in sys.stderr.getvalue()) == is_shown
    assert "Sentences" not in sys.stdout.getvalue()
