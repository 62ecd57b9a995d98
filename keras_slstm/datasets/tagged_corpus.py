"""Corpora of tagged sentences: the generated corpus, TFDS data sets, and your own files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from keras_slstm.datasets import prepared, travel_desk
from keras_slstm.datasets.conll import Column, TaggedSentence, keep_valid, read_conll
from keras_slstm.datasets.loading import (
    Examples,
    ReadRow,
    Row,
    Source,
    Sources,
    Splits,
    check_shares,
    generated_sources,
    read_sources,
)
from keras_slstm.datasets.records import OnError, PathLike
from keras_slstm.text.tag_schemes import SCHEMES, convert_tags, detect_scheme, scheme_labels

# Names that published data sets give to their tags, in order of preference.
TAG_FEATURES = ("tags", "ner", "ner_tags", "upos")


@dataclass(frozen=True)
class TaggedSentences(Examples):
    """The words of sentences and the tags of the words, in the same order."""

    tokens: list[list[str]]
    tags: list[list[str]]

    def __post_init__(self) -> None:
        if list(map(len, self.tokens)) != list(map(len, self.tags)):
            raise ValueError("Every sentence must have one tag per word.")


@dataclass(frozen=True)
class TaggedCorpus(Splits[TaggedSentences]):
    """A corpus for tagging: three parts, the names of all tags in their fixed order, and their scheme.

    `scheme` is `"BIO"` or `"BIOES"` if the tags encode spans, and None if each tag stands alone.
    """

    label_names: list[str]
    scheme: str | None


def load_tagged_corpus(
    name: PathLike,
    data_dir: PathLike | None = None,
    manual_dir: PathLike | None = None,
    seed: int = 0,
    validation: float = 0.1,
    test: float = 0.1,
    validation_path: PathLike | None = None,
    test_path: PathLike | None = None,
    token_column: Column | None = None,
    tag_column: Column | None = None,
    scheme: str | None = "auto",
    on_error: OnError = "raise",
    labels: Sequence[str] | None = None,
) -> TaggedCorpus:
    r"""Load a corpus of tagged sentences, by name or from a file.

    If the corpus lacks a validation or test part, the part is drawn at random from its training part, as in
    `load_corpus`.

    | name | tags (`tag_column`) | parts |
    | --- | --- | --- |
    | `travel_desk` | slots of generated requests, 12 types of span | all three |
    | `conll2003` | `ner` (default): entities, 4 types of span; `chunks`: 10; `pos`: 45 parts of speech | all three |
    | `ud_ewt` | `upos` (default): 17 parts of speech; `xpos`: 49 | all three |
    | `conll2002`, `wikiann/en` ... | TFDS data sets with `tokens` and tags | |

    Args:
        name: A name from the table (`"travel_desk"` needs neither a network nor TFDS), or the path of a column file
            (see `read_conll`).
        manual_dir: A folder with files that you downloaded yourself: `eng.train`, `eng.testa` and `eng.testb` for
            `conll2003`, the `.conllu` files for `ud_ewt`; or a folder with a subfolder named after the data set.
        token_column: Column of the words in a file, or TFDS feature. Default: the usual one.
        tag_column: Likewise for the tags.
        scheme: `"BIO"` or `"BIOES"`: the tags encode spans and are converted to that scheme from any of `SCHEMES`.
            None: the tags are used unchanged. `"auto"`: BIO if any tag of the training part begins with `B-`, `I-`,
            `E-` or `S-`, and unchanged otherwise.
        on_error: How to treat malformed sentences in a file: `"raise"`, or `"skip"` with a warning.
        labels: The names of all tags in their order, for example those of a trained model. Default: see the returned
            `label_names`.
        data_dir, seed, validation, test, validation_path, test_path: See `load_corpus`.

    Returns:
        A `TaggedCorpus`. Its `label_names` are `labels`. By default, they are all tags of the scheme for the span types
        of the training part or, without a scheme, the tags of the training part.

    Raises:
        DataError: If a file is malformed, its tags do not fit their scheme, or a tag is not one of `labels` or, by
            default, does not occur in the training part. The message names the file and the line.
        FileNotFoundError: If a file is missing. For the data sets above, the message says where to put which files.
        ImportError: If TFDS is needed and not installed.
        ValueError: If the name is unknown, or the data set lacks words or tags.

    Example:

    ```python
    corpus = load_tagged_corpus("travel_desk", scheme="BIOES")
    for token, tag in zip(corpus.train.tokens[0], corpus.train.tags[0]):
        print(token, tag)
    ```
    """
    check_shares(validation, test)
    held_out = {"validation_path": validation_path, "test_path": test_path}
    columns = (token_column, tag_column)
    sources, scheme = read_tagged(name, data_dir, manual_dir, columns, scheme, on_error, held_out)
    names = _label_names(sources.parts["train"].rows, scheme) if labels is None else list(labels)
    sources.check_labels(names, "tag", given=labels is not None)
    parts = sources.complete(TaggedSentences, validation, test, seed)
    return TaggedCorpus(os.fspath(name), **parts, label_names=names, scheme=scheme)


def read_tagged(
    name: PathLike,
    data_dir: PathLike | None = None,
    manual_dir: PathLike | None = None,
    columns: tuple[Column | None, Column | None] = (None, None),
    scheme: str | None = "auto",
    on_error: OnError = "raise",
    held_out: Mapping[str, PathLike | None] | None = None,
) -> tuple[Sources, str | None]:
    """Read the existing parts of a corpus of tagged sentences, and find their scheme; see `load_tagged_corpus`."""
    if scheme not in ("auto", "BIO", "BIOES", None):
        raise ValueError(f'`scheme` must be "BIO", "BIOES", "auto" or None, but got {scheme!r}.')
    token_column, tag_column = columns
    is_file = Path(name).is_file() or "." in Path(name).name  # read_conll reports a missing file
    for argument, column in (("token_column", token_column), ("tag_column", tag_column)):
        if not is_file and (isinstance(column, int) or (column and name == "travel_desk")):
            raise ValueError(f"`{argument}` must be a feature of {name!r}, but got {column!r}.")

    def read_file(path: PathLike) -> list[Row]:
        return [Row(*sentence) for sentence in read_conll(path, tag_column, token_column, on_error=on_error)]

    def convert(name: str, builder: Any) -> tuple[ReadRow, None]:
        return tagged_features(name, builder, token_column, tag_column), None

    generated = {"travel_desk": _travel_desk}
    sources = read_sources(name, is_file, held_out or {}, read_file, generated, convert, data_dir, manual_dir)
    if scheme == "auto":
        scheme = "BIO" if any(_marks_span(tag) for row in sources.parts["train"].rows for tag in row.y) else None
    if scheme:
        found = _detect_schemes(sources.parts)
        converted = {part: _convert(source, found[part], scheme, on_error) for part, source in sources.parts.items()}
        sources = Sources(converted)
    return sources, scheme


def _detect_schemes(parts: Mapping[str, Source]) -> dict[str, str]:
    """Guess the scheme of each part, because the files of a corpus may differ.

    BIO and IOB1 have the same letters, and one error makes a small file of the one look like the other. Such parts are
    therefore judged together.
    """
    found = {part: detect_scheme(row.y for row in source.rows) for part, source in parts.items()}
    alike = [part for part, scheme in found.items() if scheme in ("BIO", "IOB1")]
    together = detect_scheme(row.y for part in alike for row in parts[part].rows)
    return {**found, **dict.fromkeys(alike, together)}


def tagged_features(name: str, builder: Any, token_column: Any = None, tag_column: Any = None) -> ReadRow:
    """Return a function that converts the records of a TFDS data set of tagged words to rows."""
    features = builder.info.features
    tokens = prepared.feature(name, features, "token", "Text", token_column, ("tokens",), sequence=True)
    tags = prepared.feature(name, features, "tag", "ClassLabel", tag_column, TAG_FEATURES, sequence=True)
    names = features[tags].feature.names

    def row_of(record: dict[str, Any]) -> Row | None:
        if not len(record[tokens]):  # some data sets contain an empty sentence
            return None
        return Row([token.decode("utf-8") for token in record[tokens]], [names[tag] for tag in record[tags]])

    return row_of


def _convert(source: Source, found: str, wanted: str, on_error: OnError) -> Source:
    """Convert the tags to another scheme. Sentences that are invalid in scheme `found` are errors, or skipped."""
    rows = source.rows
    if source.is_file:
        sentences = [TaggedSentence(row.x, row.y, list(row.lines)) for row in rows]
        rows = [Row(*sentence) for sentence in keep_valid(source.origin, sentences, found, on_error)]
    converted = []
    for row in rows:
        try:
            converted.append(row._replace(y=convert_tags(row.y, found, wanted)))
        except ValueError as error:
            raise source.error(row, str(error)) from error
    return replace(source, rows=converted)


def _marks_span(tag: str) -> bool:
    return tag[:1] in SCHEMES["BIOES"] and tag[1:2] == "-"


def _label_names(rows: Sequence[Row], scheme: str | None) -> list[str]:
    tags = {tag for row in rows for tag in row.y}
    return scheme_labels({tag[2:] for tag in tags - {"O"}}, scheme) if scheme else sorted(tags)


def _travel_desk() -> Sources:
    splits = travel_desk.generate_splits()
    rows = {part: [Row(request.tokens, request.tags) for request in found] for part, found in splits.items()}
    return generated_sources("travel_desk", rows)
