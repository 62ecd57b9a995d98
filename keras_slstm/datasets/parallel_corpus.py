"""Corpora of translations: the generated corpus, TFDS data sets, and your own aligned files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from keras_slstm.datasets import office_notes
from keras_slstm.datasets.loading import Examples, Row, Sources, Splits, check_shares, generated_sources, read_sources
from keras_slstm.datasets.records import OnError, PathLike, Problems
from keras_slstm.errors import DataError
from keras_slstm.suggestions import did_you_mean, list_names
from keras_slstm.text.lines import decode, raw_lines


@dataclass(frozen=True)
class TextPairs(Examples):
    """Texts and their translations, in the same order."""

    sources: list[str]
    targets: list[str]


@dataclass(frozen=True)
class ParallelCorpus(Splits[TextPairs]):
    """A corpus of translations in three parts."""


def load_parallel_corpus(
    name: PathLike | tuple[PathLike, PathLike] = "office_notes",
    data_dir: PathLike | None = None,
    manual_dir: PathLike | None = None,
    seed: int = 0,
    validation: float = 0.1,
    test: float = 0.1,
    validation_paths: tuple[PathLike, PathLike] | None = None,
    test_paths: tuple[PathLike, PathLike] | None = None,
    source: str | None = None,
    target: str | None = None,
    on_error: OnError = "raise",
) -> ParallelCorpus:
    """Load a corpus of translations, by name or from two files.

    If the corpus lacks a validation or test part, the part is drawn at random from its training part, as in
    `load_corpus`.

    Args:
        name: `"office_notes/to_figures"` (the default) or `"office_notes/to_words"`, generated notes in English and
            German, which need neither a network nor TFDS; the name of a TFDS data set with a translation feature, such
            as `"ted_hrlr_translate/pt_to_en"`; or the paths of two text files whose lines are translations of each
            other (see `read_aligned_lines`).
        validation_paths: Files of the validation part, if `name` is a pair of files.
        test_paths: Files of the test part, if `name` is a pair of files.
        source: The language to translate from: a key of the translation feature. Default: the one that the data set
            declares.
        target: The language to translate into, likewise.
        data_dir, manual_dir, seed, validation, test, on_error: See `load_corpus`.

    Returns:
        A `ParallelCorpus`.

    Raises:
        DataError: If a file is malformed. The message names the file and the line.
        FileNotFoundError: If a file is missing.
        ImportError: If TFDS is needed and not installed.
        ValueError: If the name is unknown, or the data set has no translation feature or lacks one of the languages.

    Example:

    ```python
    corpus = load_parallel_corpus("office_notes/to_words")
    print(corpus.train.sources[0], "->", corpus.train.targets[0])
    ```
    """
    check_shares(validation, test)

    def read_file(paths: tuple[PathLike, PathLike]) -> list[Row]:
        pairs = read_aligned_lines(*paths, on_error)
        return [Row(*pair) for pair in zip(pairs.sources, pairs.targets)]

    def convert(name: str, builder: Any) -> Any:
        features = builder.info.features
        if type(features).__name__ != "Translation":
            raise ValueError(f'"{name}" is not a data set of translations: its features are {list_names(features)}.')
        languages = _languages(name, tuple(features.keys()), builder.info.supervised_keys, source, target)

        def row_of(record: dict[str, Any]) -> Row | None:
            row = Row(*(record[language].decode("utf-8") for language in languages))
            return row if row.x.strip() and row.y.strip() else None

        return row_of, None

    held_out = {"validation_paths": validation_paths, "test_paths": test_paths}
    generated = {f"office_notes/{task}": partial(_office_notes, task, source, target) for task in office_notes.TASKS}
    generated["office_notes"] = next(iter(generated.values()))
    is_file = isinstance(name, tuple)
    sources = read_sources(name, is_file, held_out, read_file, generated, convert, data_dir, manual_dir)
    given = " and ".join(os.fspath(path) for path in name) if isinstance(name, tuple) else os.fspath(name)
    return ParallelCorpus(given, **sources.complete(TextPairs, validation, test, seed))


def read_aligned_lines(source_path: PathLike, target_path: PathLike, on_error: OnError = "raise") -> TextPairs:
    r"""Read two text files in UTF-8 whose lines are translations of each other. Names may end in `.gz` or `.zst`.

    Lines end at a line feed (after an optional carriage return), or at carriage returns in a file without any line
    feed. Lines that are empty in both files are skipped.

    Args:
        source_path: The file of the texts.
        target_path: The file of their translations.
        on_error: `"raise"` stops at the first line that is empty in one of the files or not UTF-8. `"skip"` skips such
            lines together with their translations and warns how many were skipped. Files of different lengths are
            always an error.

    Returns:
        The pairs, in the order of the files.

    Raises:
        DataError: If a line is empty in one of the files, or not UTF-8, a file is empty, or one has more lines than the
            other.

    Example:

    ```python
    from pathlib import Path

    Path("notes.en").write_text("at noon\nat ten\n")
    Path("notes.de").write_text("um zwölf\num zehn\n", encoding="utf-8")
    pairs = read_aligned_lines("notes.en", "notes.de")
    print(pairs.sources[1], "->", pairs.targets[1])
    ```
    """
    paths = [Path(source_path), Path(target_path)]
    columns = [[line for _, line in raw_lines(path)] for path in paths]
    filled = [max((number for number, line in enumerate(c, start=1) if line.strip()), default=0) for c in columns]
    longer, shorter = (0, 1) if filled[0] >= filled[1] else (1, 0)
    if len(columns[shorter]) < filled[longer]:
        found = f"which has {len(columns[shorter]):,} lines; this file has {filled[longer]:,}"
        raise DataError(paths[longer], len(columns[shorter]) + 1, f"no translation in {paths[shorter]}, {found}")
    problems = [Problems(path, on_error) for path in paths]
    pairs = []
    for number, lines in enumerate(zip(*columns), start=1):
        if any(line.strip() for line in lines):
            source, target = (_text(path, number, line, p) for path, line, p in zip(paths, lines, problems))
            if source is not None and target is not None:
                pairs.append((source, target))
    for each in problems:
        each.warn()
    if not pairs:
        raise DataError(source_path, 1, "the file contains no texts")
    return TextPairs([source for source, _ in pairs], [target for _, target in pairs])


def _text(path: Path, number: int, line: bytes, problems: Problems) -> str | None:
    try:
        text = decode(path, number, line)
    except DataError as error:
        problems.add(error)
        return None
    if not text.strip():
        problems.report(number, "the line is empty, but its translation is not")
        return None
    return text


def _office_notes(task: str, source: str | None, target: str | None) -> Sources:
    languages = _languages("office_notes", ("en", "de"), None, source, target)
    splits = office_notes.generate_splits(task=task)
    texts = {"en": "english", "de": "german"}
    first, second = (texts[language] for language in languages)
    rows = {part: [Row(getattr(n, first), getattr(n, second)) for n in notes] for part, notes in splits.items()}
    return generated_sources("office_notes", rows)


def _languages(
    name: str, known: Sequence[str], default: Sequence[str] | None, source: str | None, target: str | None
) -> tuple[str, str]:
    """Return the source and target languages: the given ones, completed by those of the data set."""
    for language in (source, target):
        if language is not None and language not in known:
            raise ValueError(
                f'"{name}" has no texts in "{language}". Its languages: {", ".join(known)}.'
                + did_you_mean(language, known)
            )
    first, second = default or tuple(known)[:2]
    if source is None:
        source = first if target != first else second
    if target is None:
        target = second if source != second else first
    if source == target:
        raise ValueError(f'Source and target are the same language, "{source}".')
    return source, target
