"""One way to every corpus of translations: the generated one, those of TFDS, and a person's own aligned files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from keras_slstm.datasets import office_notes, prepared
from keras_slstm.datasets.corpus import check_shares, complete_parts
from keras_slstm.datasets.records import OnError, PathLike, Problems
from keras_slstm.errors import DataError
from keras_slstm.extras import require
from keras_slstm.suggestions import did_you_mean
from keras_slstm.text.lines import decode, raw_lines


@dataclass(frozen=True)
class TextPairs:
    """Texts and their translations, in the same order."""

    sources: list[str]
    targets: list[str]

    def __post_init__(self):
        if len(self.sources) != len(self.targets):
            raise ValueError(
                f"As many targets as sources expected: {len(self.sources)} sources, {len(self.targets)} targets"
            )

    def __len__(self) -> int:
        return len(self.sources)

    def take(self, indices: Sequence[int]) -> TextPairs:
        """Some of the pairs, in the order of `indices`."""
        return TextPairs([self.sources[i] for i in indices], [self.targets[i] for i in indices])


@dataclass(frozen=True)
class ParallelCorpus:
    """A corpus of translations: three parts."""

    name: str
    train: TextPairs
    validation: TextPairs
    test: TextPairs


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

    A part that the corpus does not come with is drawn at random from its training part; the same seed draws the same
    part.

    Args:
        name: `"office_notes/to_figures"` or `"office_notes/to_words"`, generated notes in English and German, for
            which neither network nor TFDS is needed (without configuration, the former); the name of a set of TFDS
            with a translation feature, such as `"ted_hrlr_translate/pt_to_en"`; or the paths of two text files, whose
            lines translate each other (see `read_aligned_lines`).
        data_dir: Where TFDS keeps prepared data: by default `$TFDS_DATA_DIR` or `~/tensorflow_datasets`.
        manual_dir: Folder of files that you got yourself, for data sets that can be read from such.
        seed: Seed of the random parts.
        validation: Share of the pairs that become the validation part, where there is none.
        test: Share of the pairs that become the test part, where there is none.
        validation_paths: Files of the validation part, if `name` is a pair of files.
        test_paths: Files of the test part, likewise.
        source: The language to translate from: a key of the translation feature. Default: as the set says.
        target: The language to translate into.
        on_error: What a malformed line of a file does: `"raise"`, or `"skip"` with a warning.

    Returns:
        A `ParallelCorpus`.

    Raises:
        DataError: If a file is malformed; the message names file and line.
        FileNotFoundError: If a file is missing.
        ImportError: If TFDS is needed and not installed.
        ValueError: If the name is unknown, the set has no translation feature, or has not these languages.

    Example:

    ```python
    corpus = load_parallel_corpus("office_notes/to_words")
    print(corpus.train.sources[0], "->", corpus.train.targets[0])
    ```
    """
    check_shares(validation, test)
    if isinstance(name, tuple):
        paths = {"train": name, "validation": validation_paths, "test": test_paths}
        parts = {part: read_aligned_lines(*pair, on_error) for part, pair in paths.items() if pair is not None}
        name = " and ".join(os.fspath(path) for path in name)
    else:
        if validation_paths or test_paths:
            raise ValueError(f"`validation_paths` and `test_paths` go with files. Received: name={os.fspath(name)!r}")
        parts = _read_set(os.fspath(name), data_dir, manual_dir, source, target)
    return ParallelCorpus(os.fspath(name), **complete_parts(parts, validation, test, seed))


def read_aligned_lines(source_path: PathLike, target_path: PathLike, on_error: OnError = "raise") -> TextPairs:
    r"""Read two text files in UTF-8 whose lines translate each other, plain or with `.gz` behind.

    Lines end at a line feed (after an optional carriage return), or at carriage returns in a file without any line
    feed. Lines that are empty in both files are passed over.

    Args:
        source_path: The file of the texts.
        target_path: The file of their translations.
        on_error: `"raise"` stops at the first line that is empty in one of the files or not UTF-8; `"skip"` leaves such
            lines out, together with their translations, and warns how many. Files of different lengths are always an
            error.

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
        raise DataError(source_path, 1, "the file holds no text")
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


def _read_set(
    name: str, data_dir: PathLike | None, manual_dir: PathLike | None, source: str | None, target: str | None
) -> dict[str, TextPairs]:
    base, _, config = name.partition("/")
    if base == "office_notes":
        source, target = _languages(name, ("en", "de"), ("en", "de"), source, target)
        notes = office_notes.generate_splits(task=config or office_notes.TASKS[0])
        columns = {"en": lambda note: note.english, "de": lambda note: note.german}
        return {
            part: TextPairs(list(map(columns[source], found)), list(map(columns[target], found)))
            for part, found in notes.items()
        }
    tfds = require("tensorflow_datasets", "datasets")
    builder = prepared.prepare(name, data_dir, manual_dir)
    features = builder.info.features
    if not isinstance(features, tfds.features.Translation):
        raise ValueError(f'"{name}" is no data set of translations: its features are {list(features)}')
    source, target = _languages(name, tuple(features.keys()), builder.info.supervised_keys, source, target)
    parts = {}
    for part in ("train", "validation", "test"):
        if part in builder.info.splits:
            rows = [
                (record[source].decode("utf-8"), record[target].decode("utf-8"))
                for record in prepared.read_split(builder, part)
            ]
            rows = [row for row in rows if row[0].strip() and row[1].strip()]  # nothing is no translation
            parts[part] = TextPairs([row[0] for row in rows], [row[1] for row in rows])
    if "train" not in parts:
        raise ValueError(f'The data set "{name}" has no split "train"; its splits: {list(builder.info.splits)}')
    return parts


def _languages(
    name: str, known: Sequence[str], default: Sequence[str] | None, source: str | None, target: str | None
) -> tuple[str, str]:
    """The two languages: those asked for; where one is, the other of two; else those of the set."""
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
