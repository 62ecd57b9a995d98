"""Tagged sentences as text: CoNLL columns, JSON with character offsets, and HTML with highlighted spans."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from typing import Any

_COLORS = ("#bfe1d9", "#f9d7a8", "#d5c6ee", "#f5b7b1", "#aed6f1", "#d4e6a5", "#f7dc6f", "#d7ccc8")


def token_offsets(text: str, tokens: Sequence[str]) -> list[tuple[int, int]]:
    """The character offsets of each token in a text: its start and its exclusive end.

    Raises:
        ValueError: If a token is not found after the previous one.

    >>> token_offsets("To  Rome.", ["To", "Rome", "."])
    [(0, 2), (4, 8), (8, 9)]
    """
    found, behind = [], 0
    for number, token in enumerate(tokens):
        start = text.find(token, behind) if token else -1
        if start < 0:
            raise ValueError(
                f"Token {number}, {token!r}, is not found in the text from character {behind} onwards: {text!r}."
            )
        behind = start + len(token)
        found.append((start, behind))
    return found


def as_conll(sentences: Iterable[Sequence[str]], tags: Iterable[Sequence[str]]) -> str:
    r"""Tagged sentences in columns: one token and its tag per line, an empty line after each sentence.

    Raises:
        ValueError: If a sentence does not have one tag per token, or a token or tag is empty or contains white space,
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
                    raise ValueError(f"{kind} {text!r} of sentence {number} is empty or contains white space.")
            lines.append(f"{token} {name}\n")
        lines.append("\n")
    return "".join(lines)


def as_records(
    sentences: Iterable[Sequence[str]], spans: Iterable[Iterable[Any]], texts: Iterable[str] | None = None
) -> list[dict[str, Any]]:
    """The spans of sentences with character offsets, as JSON-serialisable dicts.

    Args:
        sentences: The tokens of each sentence.
        spans: The spans of each sentence, from `tagger.find_spans` or `tags_to_spans`.
        texts: The sentences as text. None: the tokens joined by spaces.

    Returns:
        For each sentence its `text`, `tokens` and `spans`; for each span its `type`, its `text`, its character offsets
        `start` and `end`, its token offsets `start_token` and `end_token` (ends are exclusive), and its `confidence`,
        if it has one.

    Raises:
        ValueError: If there is not one text and one list of spans per sentence, a token is not found in its text, or a
            span lies outside its sentence.

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
                    f"The span {span.type!r} from token {span.start} to {span.end} lies outside sentence {number}, "
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
    """Records of `as_records` as JSON lines, one per sentence."""
    return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)


def as_html(records: Iterable[dict[str, Any]]) -> str:
    """Records of `as_records` as HTML: one paragraph per sentence, with the spans highlighted and their types named."""
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
