"""The loader behind `load_corpus`, `load_pair_corpus`, `load_tagged_corpus` and `load_parallel_corpus`.

Every corpus is read as rows: from your own files, from a generator of this package, or from a TFDS data set. Rows keep
their origin, so that an error can name the line of the file.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Generic, NamedTuple, TypeVar

from keras_slstm.datasets import prepared
from keras_slstm.datasets.records import PathLike
from keras_slstm.errors import DataError
from keras_slstm.suggestions import did_you_mean, list_names

PARTS = ("train", "validation", "test")
NO_SCORE = -1.0  # TFDS gives this score to all examples of a test part without published scores


@dataclass(frozen=True)
class Examples:
    """Base class of the parts of a corpus: two columns of the same length."""

    def __post_init__(self) -> None:
        (x_name, x), (y_name, y) = ((field.name, getattr(self, field.name)) for field in fields(self))
        if len(x) != len(y):
            raise ValueError(f"Pass as many {y_name} as {x_name}, not {len(y)} {y_name} for {len(x)} {x_name}.")

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def take(self, indices: Sequence[int]) -> Any:
        """Return some of the examples, in the order of `indices`."""
        return type(self)(*([getattr(self, field.name)[i] for i in indices] for field in fields(self)))


Part = TypeVar("Part", bound=Examples)


@dataclass(frozen=True)
class Splits(Generic[Part]):
    """Base class of the corpora: the three parts."""

    name: str
    train: Part
    validation: Part
    test: Part


class Row(NamedTuple):
    """An example: its input, its target, and its line numbers in the file (one, or one per word)."""

    x: Any
    y: Any
    lines: Sequence[int] = ()


@dataclass(frozen=True)
class Source:
    """The rows of a part, and their origin: the path of a file, or the name of a part of a data set."""

    origin: PathLike
    rows: list[Row]
    is_file: bool = False

    def error(self, row: Row, problem: str, position: int = 0) -> ValueError:
        """Return an error that identifies a row by its line in the file or, without a file, by its text."""
        if self.is_file:
            return DataError(self.origin, row.lines[position], problem)
        text = " ".join(row.x) if isinstance(row.x, (list, tuple)) else row.x
        return ValueError(f"{os.fspath(self.origin)}, sentence {text[:200]!r}: {problem}")

    def part(self, kind: Callable[[list[Any], list[Any]], Part]) -> Part:
        """Return the rows as the two columns of a part."""
        return kind([row.x for row in self.rows], [row.y for row in self.rows])


@dataclass(frozen=True)
class Sources:
    """The existing parts of a corpus, and the names of its labels if the data set defines their order."""

    parts: dict[str, Source]
    label_names: list[str] | None = None

    def labels(self) -> list[str]:
        """Return the names of all labels: from the data set, or else from the training part, sorted."""
        return sorted({row.y for row in self.parts["train"].rows}) if self.label_names is None else self.label_names

    def check_labels(self, known: Sequence[str], what: str = "label", given: bool = False) -> None:
        """Raise ValueError at the first label that is not known: from the training part, or given by the caller."""
        every = set(known)
        reason, names = ("is unknown", "known") if given else ("does not occur in the training part", "its")
        for source in self.parts.values():
            for row in source.rows:
                for position, label in enumerate(row.y if isinstance(row.y, list) else [row.y]):
                    if label not in every:
                        found = f'the {what} "{label}" {reason}; {names} {what}s: {list_names(known)}'
                        raise source.error(row, f"{found}.{did_you_mean(label, known)}", position)

    def complete(
        self, kind: Callable[[list[Any], list[Any]], Part], validation: float, test: float, seed: int
    ) -> dict[str, Part]:
        """Return all three parts; see `complete_parts`."""
        return complete_parts({name: source.part(kind) for name, source in self.parts.items()}, validation, test, seed)


Generated = Mapping[str, Callable[[], Sources]]
ReadRow = Callable[[dict[str, Any]], Row | None]  # from a TFDS record to a row; None: skip the record
# Takes the name of a data set and its builder. Returns a function that reads rows, and the names of the labels.
Convert = Callable[[str, Any], tuple[ReadRow, list[str] | None]]


def read_sources(
    name: Any,
    is_file: bool,
    held_out: Mapping[str, Any],
    read_file: Callable[[Any], list[Row]],
    generated: Generated,
    convert: Convert,
    data_dir: PathLike | None = None,
    manual_dir: PathLike | None = None,
) -> Sources:
    """Read the existing parts of a corpus.

    Args:
        name: The name of a corpus, or a file (or a tuple of files).
        is_file: Whether `name` is a file.
        held_out: The files of the validation and test parts (or None), by the loader's argument for each.
        read_file: A function that reads a file (or a tuple of files).
        generated: The generators of corpora, by name.
        convert: A function that chooses the features of a TFDS data set.
        data_dir, manual_dir: See `load_corpus`.
    """
    if is_file:
        paths = dict(zip(PARTS, (name, *held_out.values())))
        parts = {}
        for part, path in paths.items():
            if path is not None:
                origin = path[0] if isinstance(path, tuple) else path
                parts[part] = Source(origin, read_file(path), is_file=True)
        return Sources(parts)
    name = os.fspath(name)
    if any(path is not None for path in held_out.values()):
        raise ValueError(
            f"{' and '.join(f'`{argument}`' for argument in held_out)} need a file as `name`, but got {name!r}."
        )
    if name in generated:
        return generated[name]()
    if name.partition("/")[0] in generated:
        raise ValueError(f"Unknown corpus {name!r}. Expected one of {list_names(generated)}.")
    builder = prepared.prepare(name, data_dir, manual_dir)
    row_of, label_names = convert(name, builder)
    parts = {}
    for part in PARTS:
        if part in builder.info.splits:
            rows = [row for record in prepared.read_split(builder, part) if (row := row_of(record)) is not None]
            if not all(row.y == NO_SCORE for row in rows):
                parts[part] = Source(f'the part "{part}" of {name}', rows)
    if "train" not in parts:
        raise ValueError(
            f'The data set "{name}" has no labelled split "train"; its splits: {list(builder.info.splits)}'
        )
    return Sources(parts, label_names)


def generated_sources(name: str, splits: Mapping[str, Iterable[Row]], label_names: list[str] | None = None) -> Sources:
    """Return the parts of a generated corpus."""
    parts = {part: Source(f'the part "{part}" of {name}', list(rows)) for part, rows in splits.items()}
    return Sources(parts, label_names)


# --- random parts --------------------


def complete_parts(parts: Mapping[str, Part], validation: float, test: float, seed: int) -> dict[str, Part]:
    """Draw the missing parts from the training part.

    Args:
        parts: The existing parts, by name.
        validation, test, seed: See `load_corpus`.
    """
    train = parts["train"]
    order = shuffled(len(train), seed)
    complete = dict(parts)
    for name, share in (("validation", validation), ("test", test)):
        if name not in parts:
            size = part_size(name, share, len(train))
            complete[name] = train.take(order[:size])
            order = order[size:]
    if len(order) < len(train):
        complete["train"] = train.take(order)
    return complete


def check_shares(validation: float, test: float) -> None:
    """Raise ValueError unless the two shares leave texts for training."""
    check_share("validation", validation)
    check_share("test", test)
    if validation + test >= 1:
        raise ValueError(f"`validation` + `test` must be below 1, but got {validation} + {test}.")


def check_share(argument: str, share: float) -> None:
    """Raise ValueError unless a share is between 0 and 1."""
    if not 0 < share < 1:
        raise ValueError(f"`{argument}` must lie between 0 and 1, but got {share}.")


def part_size(name: str, share: float, total: int) -> int:
    """Return the number of examples in a part.

    Raises:
        ValueError: If it is 0.
    """
    size = round(share * total)
    if not size:
        are_too_few = "example is too few" if total == 1 else "examples are too few"
        raise ValueError(f"{total} {are_too_few}: the {name} part would be empty")
    return size


def shuffled(size: int, seed: int) -> list[int]:
    """Return the integers below `size` in a random order that is the same on every machine and Python version."""
    draw = random.Random(seed).random
    return sorted(range(size), key=lambda _: draw())
