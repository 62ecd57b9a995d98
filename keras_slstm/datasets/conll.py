"""Reader of column files: one word per line with its annotations, and an empty line after each sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from keras_slstm.datasets.records import OnError, PathLike, Problems
from keras_slstm.errors import DataError
from keras_slstm.suggestions import did_you_mean
from keras_slstm.text.lines import decode, raw_lines, without_compression
from keras_slstm.text.tag_schemes import TagError, check_tags

CONLLU_COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_NOT_A_WORD = re.compile(r"\d+[-.]\d+")  # id of a multiword token or an empty node (CoNLL-U)

Column = int | str
Block = list[tuple[int, bytes]]  # the numbered lines of a sentence


class TaggedSentence(NamedTuple):
    """The words of a sentence, with a tag and a line number for each word."""

    tokens: list[str]
    tags: list[str]
    lines: list[int]


def read_conll(
    path: PathLike,
    tag_column: Column | None = None,
    token_column: Column | None = None,
    scheme: str | None = None,
    on_error: OnError = "raise",
    conllu: bool | None = None,
) -> list[TaggedSentence]:
    r"""Read tagged sentences from a column file, which is compressed if its name ends in `.gz` or `.zst`.

    A file named `.conllu` is read as CoNLL-U: ten columns separated by tabs, with comments after `#`. Lines of
    multiword tokens (`3-4`) and empty nodes (`8.1`) hold no word and are skipped. Any other file is read like those of
    CoNLL-2003: all lines have the same number of columns, separated by tabs if the first line contains a tab and by
    spaces otherwise. `-DOCSTART-` lines are skipped.

    Lines end at a line feed (after an optional carriage return), or at carriage returns in a file without any line
    feed. Columns end at tabs or plain spaces, so unusual spaces (U+00A0, U+0085) stay part of a word.

    Args:
        path: The file, in UTF-8.
        tag_column: Index of the tag column, from the end if negative. In CoNLL-U it may also be a name (`"upos"`,
            `"xpos"`). Default: the last column, or `"upos"` in CoNLL-U.
        token_column: Likewise for the word. Default: the first column, or `"form"` in CoNLL-U.
        scheme: The scheme in which the tags must be valid: `"IOB1"`, `"BIO"` or `"BIOES"`. None: the tags can be
            anything, such as parts of speech.
        on_error: `"raise"` stops at the first malformed line. `"skip"` skips sentences with malformed lines and warns
            how many were skipped.
        conllu: Whether the file is CoNLL-U. None: judge by its name.

    Returns:
        The sentences, in the order of the file.

    Raises:
        DataError: If the file contains no sentences, or a line is malformed: a different number of columns from the
            first line, a missing column, an empty word or tag, a tag that the scheme does not allow there, a word id
            that does not continue 1, 2, 3 (CoNLL-U), or invalid UTF-8.
        ValueError: If a column is neither an index nor, in CoNLL-U, a name.

    Example:

    ```python
    from pathlib import Path

    Path("names.txt").write_text("Ada B-PER\nLovelace I-PER\nwrote O\n\nParis B-LOC\n")
    for sentence in read_conll("names.txt", scheme="BIO"):
        print(sentence.tokens, sentence.tags)
    ```
    """
    return list(iterate_conll(path, tag_column, token_column, scheme, on_error, conllu))


def iterate_conll(
    path: PathLike,
    tag_column: Column | None = None,
    token_column: Column | None = None,
    scheme: str | None = None,
    on_error: OnError = "raise",
    conllu: bool | None = None,
) -> Iterator[TaggedSentence]:
    """Yield the sentences of `read_conll` one by one, with only one of them in memory."""
    path = Path(path)
    problems = Problems(path, on_error, unit="sentences with malformed lines")
    if is_conllu(path) if conllu is None else conllu:
        columns: _Columns = _ConlluColumns(path, token_column, tag_column)
    else:
        columns = _Columns(path, token_column, tag_column)
    empty = True
    for block in _blocks(path):
        try:
            sentence = columns.read(block)
            if scheme is not None:
                _check(path, sentence, scheme)
        except DataError as error:
            problems.add(error)
        else:
            if sentence.tokens:  # a block may contain only comments
                empty = False
                yield sentence
    problems.warn(stacklevel=4)  # the warning points to the caller of `read_conll`
    if empty:
        raise DataError(path, 1, "the file contains no sentences")


def keep_valid(
    path: PathLike, sentences: Iterable[TaggedSentence], scheme: str, on_error: OnError = "raise"
) -> list[TaggedSentence]:
    """Return the sentences of a file whose tags are valid in a scheme.

    Args:
        path: The file, for messages.
        sentences: The result of `read_conll`.
        scheme: `"IOB1"`, `"BIO"` or `"BIOES"`.
        on_error: `"raise"` stops at the first invalid tag. `"skip"` skips sentences with invalid tags and warns how
            many were skipped.

    Raises:
        DataError: If a tag is not valid, or no sentence is left.
    """
    problems = Problems(path, on_error, unit="sentences with invalid tags")
    valid = []
    for sentence in sentences:
        try:
            _check(path, sentence, scheme)
        except DataError as error:
            problems.add(error)
        else:
            valid.append(sentence)
    problems.warn()
    if not valid:
        raise DataError(path, 1, f"the file contains no sentences with valid tags ({scheme})")
    return valid


def is_conllu(path: PathLike) -> bool:
    """Whether the name of a file ends in `.conllu`, optionally followed by `.gz` or `.zst`."""
    return without_compression(path).endswith(".conllu")


def _check(path: PathLike, sentence: TaggedSentence, scheme: str) -> None:
    try:
        check_tags(sentence.tags, scheme)
    except TagError as error:
        raise DataError(path, sentence.lines[error.position], error.problem) from error


def _blocks(path: Path) -> Iterator[Block]:
    """Yield the lines of each sentence."""
    block: Block = []
    for number, line in raw_lines(path):
        if line.strip() and not line.startswith(b"-DOCSTART-"):
            block.append((number, line))
        elif block:
            yield block
            block = []
    if block:
        yield block


class _Columns:
    """Reads words and tags from lines. The first line determines the number of columns and their separator."""

    names: tuple[str, ...] = ()
    default_token: Column = 0
    default_tag: Column = -1

    def __init__(self, path: Path, token: Column | None, tag: Column | None):
        self.path = path
        self.token = self._index("token_column", self.default_token if token is None else token)
        self.tag = self._index("tag_column", self.default_tag if tag is None else tag)
        self.width = len(self.names)
        self.separator = "\t"

    def read(self, block: Block) -> TaggedSentence:
        sentence = TaggedSentence([], [], [])
        for number, line in block:
            fields = self.fields(number, decode(self.path, number, line))
            if fields is None:
                continue
            for kind, column, values in (
                ("word", self.token, sentence.tokens),
                ("tag", self.tag, sentence.tags),
            ):
                if not -self.width <= column < self.width:
                    raise DataError(
                        self.path, number, f"no column {column} (counted from 0): the line has {self.width} columns"
                    )
                if not fields[column]:
                    raise DataError(self.path, number, f"the {kind} (column {column}) is empty")
                values.append(fields[column])
            if self.token % self.width == self.tag % self.width:
                both = f"column {self.token % self.width} (counted from 0)"
                problem = f"the word and the tag are both read from {both}; number of columns in the line: {self.width}"
                raise DataError(self.path, number, problem)
            self.check_id(number, fields, len(sentence.tokens))
            sentence.lines.append(number)
        return sentence

    def fields(self, number: int, text: str) -> list[str] | None:
        """Split a line into its columns. Return None if it contains no word."""
        if not self.width and "\t" not in text:
            self.separator = " "
        fields = text.split(self.separator)
        if self.separator == " ":
            fields = [field for field in fields if field]
        self.width = self.width or len(fields)
        if len(fields) != self.width:
            expected = "in CoNLL-U" if self.names else "as in the first line with a word"
            raise DataError(self.path, number, f"expected {self.width} columns {expected}, found {len(fields)}")
        return fields

    def check_id(self, number: int, fields: list[str], expected: int) -> None:
        """Check the column with the position of the word in the sentence."""

    def _index(self, argument: str, column: Column) -> int:
        if isinstance(column, str) and column.lower() in self.names:
            return self.names.index(column.lower())
        if not isinstance(column, int) or isinstance(column, bool):
            names = f" or one of {', '.join(self.names)}" if self.names else ""
            hint = did_you_mean(column, self.names)
            raise ValueError(f"`{argument}` must be a column index{names}, but got {column!r}.{hint}")
        return column


class _ConlluColumns(_Columns):
    names = CONLLU_COLUMNS
    default_token = "form"
    default_tag = "upos"

    def fields(self, number: int, text: str) -> list[str] | None:
        if text.startswith("#"):
            return None
        fields = super().fields(number, text)
        return None if fields is None or _NOT_A_WORD.fullmatch(fields[0]) else fields

    def check_id(self, number: int, fields: list[str], expected: int) -> None:
        if fields[0] != str(expected):
            raise DataError(self.path, number, f'expected the word id {expected}, found "{fields[0]}"')
