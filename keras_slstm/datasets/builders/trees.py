"""Labelled binary trees in the bracket notation of the Stanford Sentiment Treebank."""

from __future__ import annotations

import re
from dataclasses import dataclass

# "(3 " opens a node, "(3 fine" a leaf, ")" closes either. Only plain spaces separate: tokens contain no-break spaces.
_PIECE = re.compile(r"\(([0-4]) +([^()]*?) *(?=[()])|\) *")


@dataclass
class _OpenNode:
    """A node whose bracket is still open."""

    position: int
    first_word: int
    children: int  # the children so far; a node is complete with two phrases, or with one token, which counts as two


def read_tree(line: str) -> list[tuple[int, str]]:
    """Read the phrases of a tree with their labels: the sentence itself, then all its parts.

    Args:
        line: A tree, `(label left right)` or `(label token)`, with labels from 0 to 4.

    Raises:
        ValueError: If the line is not such a tree; the message gives the column.
    """
    words: list[str] = []
    phrases: list[tuple[int, str]] = []
    open_nodes: list[_OpenNode] = []
    line = line.strip(" ")
    end = 0
    while end < len(line):
        piece = _PIECE.match(line, end)
        if piece is None or (phrases and not open_nodes):
            raise _malformed(end)
        label, token = piece.groups()
        if label is not None:
            if open_nodes:
                open_nodes[-1].children += 1
            open_nodes.append(_OpenNode(len(phrases), len(words), children=2 if token else 0))
            phrases.append((int(label), ""))  # the text is set when its bracket closes
            if token:
                words.append(token)
        else:
            if not open_nodes or open_nodes[-1].children != 2:
                raise _malformed(end)
            node = open_nodes.pop()
            phrases[node.position] = (phrases[node.position][0], " ".join(words[node.first_word :]))
        end = piece.end()
    if open_nodes or not phrases:
        raise _malformed(end)
    return phrases


def _malformed(end: int) -> ValueError:
    return ValueError(f"column {end + 1}: expected a tree (label left right) or (label token) with labels from 0 to 4")
