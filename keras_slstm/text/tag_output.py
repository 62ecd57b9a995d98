"""Tagged sentences as text: CoNLL columns, JSON with offsets of characters, and HTML with marked spans."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from typing import Any

_COLORS = ("#bfe1d9", "#f9d7a8", "#d5c6ee", "#f5b7b1", "#aed6f1", "#d4e6a5", "#f7dc6f", "#d7ccc8")


def token_offsets(text: str, tokens: Sequence[str]) -> list[tuple[int, int]]:
    """The position of each token in a text: the number of its first character and of the one behind it.

    Raises:
        ValueError: If a token is not found behind the one before it.

    >>> token_offsets("To  Rome.", ["To", "Rome", "."])
    [(0, 2), (4, 8), (8, 9)]
    """
    found, behind = [], 0
    for number, token in enumerate(tokens):
        start = text.find(token, behind) if token else -1
        if start < 0:
            raise ValueError(
                f"Token {number}, {token!r}, does not stand in the text from character {behind} on: {text!r}."
            )
        behind = start + len(token)
        found.append((start, behind))
    return found


def as_conll(sentences: Iterable[Sequence[str]], tags: Iterable[Sequence[str]]) -> str:
    r"""Tagged sentences in columns: a token and its tag a line, an empty line after each sentence.

    Raises:
        ValueError: If a sentence has not as many tags as tokens, or a token or a tag is empty or holds white space,
            which separates the columns.

    >>> as_conll([["To", "Rome"]], [["O", "B-LOC"]])
    'To O\nRome B-LOC\n\n'
    """
    lines = []
    for number, (tokens, names) in enumerate(zip(sentences, tags, strict=True)):
        if len(tokens) != len(names):
            raise ValueError(f"Sentence {number} has {len(tokens)} tokens, but {len(names)} tags.")
        for token, name in zip(tokens, names):
            for kind, text in (("Token", token), ("Tag", name)):
                if text.split() != [text]:
                    raise ValueError(f"{kind} {text!r} of sentence {number} is empty or holds white space.")
            lines.append(f"{token} {name}\n")
        lines.append("\n")
    return "".join(lines)


def as_records(
    sentences: Iterable[Sequence[str]], spans: Iterable[Iterable[Any]], texts: Iterable[str] | None = None
) -> list[dict[str, Any]]:
    """The spans of sentences, with offsets of characters, as dicts that JSON can hold.

    Args:
        sentences: The tokens of each sentence.
        spans: The spans of each sentence, from `tagger.find_spans` or `tags_to_spans`.
        texts: The sentences as text, in which the tokens stand; None to join the tokens by spaces.

    Returns:
        For each sentence its `text`, `tokens` and `spans`; for each span its `type`, `text`, the numbers `start` and
        `end` of its first character and the one behind its last, those of its tokens, `start_token` and `end_token`,
        and `confidence`, where it has one.

    Raises:
        ValueError: If there is not one text and one list of spans a sentence, or a token does not stand in its text, or
            a span does not lie in its sentence.

    >>> from keras_slstm.text import Span
    >>> as_records([["To", "Rome"]], [[Span("LOC", 1, 2)]])[0]["spans"]
    [{'type': 'LOC', 'text': 'Rome', 'start': 3, 'end': 7, 'start_token': 1, 'end_token': 2}]
    """
    sentences = [list(tokens) for tokens in sentences]
    texts = [" ".join(tokens) for tokens in sentences] if texts is None else texts
    records = []
    for number, (text, tokens, found) in enumerate(zip(texts, sentences, spans, strict=True)):
        offsets = token_offsets(text, tokens)
        marked = []
        for span in found:
            if not 0 <= span.start < span.end <= len(tokens):
                raise ValueError(
                    f"The span {span.type!r} from token {span.start} to {span.end} does not lie in sentence {number}, "
                    f"which has {len(tokens)} tokens."
                )
            start, end = offsets[span.start][0], offsets[span.end - 1][1]
            record = {"type": span.type, "text": text[start:end], "start": start, "end": end}
            record.update(start_token=span.start, end_token=span.end)
            if hasattr(span, "confidence"):
                record["confidence"] = float(span.confidence)
            marked.append(record)
        records.append({"text": text, "tokens": tokens, "spans": marked})
    return records


def as_json(records: Iterable[dict[str, Any]]) -> str:
    """Records of `as_records` as lines of JSON, one a sentence."""
    return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)


def as_html(records: Iterable[dict[str, Any]]) -> str:
    """Records of `as_records` as HTML: each sentence a paragraph, its spans marked with their types."""
    records = list(records)
    types = sorted({span["type"] for record in records for span in record["spans"]})
    colors = {kind: _COLORS[number % len(_COLORS)] for number, kind in enumerate(types)}
    return "".join(f"<p>{_marked(record, colors)}</p>\n" for record in records)


def _marked(record: dict[str, Any], colors: dict[str, str]) -> str:
    text, parts, behind = record["text"], [], 0
    for span in sorted(record["spans"], key=lambda span: span["start"]):
        kind = html.escape(span["type"])
        title = f' title="{span["confidence"]:.3f}"' if "confidence" in span else ""
        parts.append(html.escape(text[behind : span["start"]]))
        parts.append(
            f'<mark style="background:{colors[span["type"]]};padding:.2em;border-radius:.3em"{title}>'
            f"{html.escape(span['text'])} <small><b>{kind}</b></small></mark>"
        )
        behind = span["end"]
    return "".join([*parts, html.escape(text[behind:])])
