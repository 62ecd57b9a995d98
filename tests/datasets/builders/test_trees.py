"""Labelled trees in bracket notation."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("tensorflow_datasets")

from keras_slstm.datasets.builders.trees import read_tree


def test_the_sentence_comes_first_then_its_phrases():
    assert read_tree("(3 (2 (2 The) (1 film)) (4 shines))") == [
        (3, "The film shines"),
        (2, "The film"),
        (2, "The"),
        (1, "film"),
        (4, "shines"),
    ]


@pytest.mark.parametrize("token", ["-LRB-", "2\u00a01\\/2", "R  ock", "\u0085", "3", "Næs", "''"])
def test_tokens(token):
    assert read_tree(f"(3 (2 {token}) (3 x))") == [(3, f"{token} x"), (2, token), (3, "x")]


def test_a_sentence_may_be_one_token():
    assert read_tree(" (0 (1 x) (2 y)) ") == [(0, "x y"), (1, "x"), (2, "y")]
    assert read_tree("(4 fine)") == [(4, "fine")]


def test_trees_of_any_shape():
    draw = random.Random(0)

    def grow(words):
        """Return a random tree over the words, and its phrases."""
        label = draw.randrange(5)
        if len(words) == 1:
            return f"({label} {words[0]})", [(label, words[0])]
        cut = draw.randrange(1, len(words))
        (left, left_phrases), (right, right_phrases) = grow(words[:cut]), grow(words[cut:])
        return f"({label} {left} {right})", [(label, " ".join(words)), *left_phrases, *right_phrases]

    for size in range(1, 60):
        line, phrases = grow([f"w{i}" for i in range(size)])
        assert read_tree(line) == phrases
        assert len(phrases) == 2 * size - 1


def test_a_deep_tree():
    depth = 5000
    line = "(2 (2 x) " * depth + "(1 y)" + ")" * depth
    assert len(read_tree(line)) == 2 * depth + 1


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("", 1),
        ("fine", 1),
        (")", 1),
        ("(5 fine)", 1),
        ("(x fine)", 1),
        ("(3)", 1),
        ("(3 )", 4),
        ("(3 fine", 1),
        ("(3 (2 a))", 9),
        ("(3 (2 a) (2 b) (2 c))", 21),
        ("(3 a (2 b))", 11),
        ("(3 (2 a) b)", 10),
        ("(3 (2 a) (2 b)", 15),
        ("(3 (2 a) (2 b)) x", 17),
        ("(3 (2 a) (2 b)) (3 c)", 17),
        ("(3 (2 a) (2 b)))", 16),
    ],
)
def test_malformed_trees(line, column):
    with pytest.raises(ValueError, match=rf"^column {column}: expected a tree"):
        read_tree(line)
