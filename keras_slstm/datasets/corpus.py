"""One way to every corpus of labelled texts: the generated one, those of TFDS, and a person's own files."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from keras_slstm.datasets import prepared, travel_desk
from keras_slstm.datasets.readers import OnError, PathLike, file_kind, read_labelled_text
from keras_slstm.errors import DataError

T = TypeVar("T", bound=Any)


@dataclass(frozen=True)
class Texts:
    """Texts and their labels, in the same order."""

    texts: list[str]
    labels: list[str]

    def __post_init__(self):
        if len(self.texts) != len(self.labels):
            raise ValueError(f"As many labels as texts expected: {len(self.texts)} texts, {len(self.labels)} labels")

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, indices: Sequence[int]) -> Texts:
        """Some of the texts, in the order of `indices`."""
        return Texts([self.texts[i] for i in indices], [self.labels[i] for i in indices])


@dataclass(frozen=True)
class Corpus:
    """A corpus for classification: three parts, and the names of all labels in their fixed order."""

    name: str
    train: Texts
    validation: Texts
    test: Texts
    label_names: list[str]


def load_corpus(
    name: PathLike,
    data_dir: PathLike | None = None,
    manual_dir: PathLike | None = None,
    seed: int = 0,
    validation: float = 0.1,
    test: float = 0.1,
    validation_path: PathLike | None = None,
    test_path: PathLike | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    on_error: OnError = "raise",
) -> Corpus:
    """Load a corpus of labelled texts, by name or from a file.

    A part that the corpus does not come with is drawn at random from its training part; the same seed draws
    the same part. The sizes are `round(validation * n)` and `round(test * n)` of the `n` texts: 8,530 / 1,066
    / 1,066 for the 10,662 sentences of `"movie_review"`, 4,907 / 545 / 500 for the questions of `"trec"`.

    | name | texts | labels | parts |
    | --- | --- | --- | --- |
    | `travel_desk` | generated requests | 12 | all three |
    | `movie_review`, `subj`, `cr`, `mpqa` | sentences | 2 | none: see `load_folds`, too |
    | `trec/coarse`, `trec/fine` | questions | 6, 50 | test |
    | `sst/sentences_5`, `sst/sentences_2` | sentences | 5, 2 | all three |
    | `sst/phrases_5`, `sst/phrases_2` | phrases to train on | 5, 2 | all three |
    | `fdu_mtl/books` and 15 more, `fdu_mtl/all` | reviews | 2 | all three |
    | `dbpedia` | titles and abstracts | 14 | test |
    | `imdb_reviews`, `ag_news_subset`, `glue/sst2` ... | sets of TFDS with a text and a label | | |

    Args:
        name: A name of the table (`"travel_desk"` needs neither network nor TFDS), or the path of a `.tsv`, `.csv`
            or `.jsonl` file (see `read_labelled_text`). Without a configuration behind the slash, it is the first of
            the set: `trec/coarse`, `sst/sentences_5`, `fdu_mtl/all`.
        data_dir: Where TFDS keeps prepared data: by default `$TFDS_DATA_DIR` or `~/tensorflow_datasets`. Data
            is prepared once, and an interrupted preparation is never taken for a finished one.
        manual_dir: Folder of files that you got yourself, for data sets that can be read from such: the
            files themselves, or folders of them named after the sets.
        seed: Seed of the random parts.
        validation: Share of the texts that become the validation part, where there is none.
        test: Share of the texts that become the test part, where there is none.
        validation_path: File of the validation part, if `name` is a file.
        test_path: File of the test part, if `name` is a file.
        text_column: Column, JSON key or TFDS feature of the text, if it cannot be told from its name or type.
            Features of TFDS can be joined: `"title+content"`, which is what `dbpedia` has by default (and
            `ag_news_subset` `"title+description"`), as in the papers.
        label_column: The same for the label.
        on_error: What a malformed line of a file does: `"raise"`, or `"skip"` with a warning.

    Returns:
        A `Corpus`.

    Raises:
        DataError: If a file is malformed; the message names file and line.
        FileNotFoundError: If a file is missing; for the sets above the message says what to put where.
        ImportError: If TFDS is needed and not installed.
        ValueError: If the name is unknown, or the data set lacks a text or a label.

    Example:

    ```python
    corpus = load_corpus("travel_desk")
    print(len(corpus.train), corpus.label_names)
    print(corpus.train.texts[0], "->", corpus.train.labels[0])
    ```
    """
    check_shares(validation, test)
    parts, labels = _read_parts(
        name, data_dir, manual_dir, validation_path, test_path, text_column, label_column, on_error
    )
    return Corpus(os.fspath(name), **complete_parts(parts, validation, test, seed), label_names=labels)


def load_folds(
    name: PathLike,
    k: int = 10,
    data_dir: PathLike | None = None,
    manual_dir: PathLike | None = None,
    seed: int = 0,
    validation: float = 0.1,
    text_column: str | None = None,
    label_column: str | None = None,
    on_error: OnError = "raise",
) -> list[Corpus]:
    r"""Load a corpus that has no split k times, for cross-validation.

    Every text is in the test part of one fold. From the others of that fold, the share `validation` is taken at
    random, and the rest is to train on. Folds differ by one text at most in size; labels are not balanced
    between them. The same seed gives the same folds.

    The papers of sentence classification have 10 folds (MR, CR, Subj, MPQA); that of the depth-adaptive GRN
    says 10 in its table of data and 5 in its text.

    Args:
        name: `"movie_review"`, `"subj"`, `"cr"`, `"mpqa"`, another set whose texts are all in one part, or a
            file; see `load_corpus`, also for the other arguments.
        k: Number of folds.
        data_dir: See `load_corpus`.
        manual_dir: See `load_corpus`.
        seed: Seed of the folds.
        validation: Share of the texts outside the test part that become the validation part.
        text_column: See `load_corpus`.
        label_column: See `load_corpus`.
        on_error: See `load_corpus`.

    Returns:
        A `Corpus` for each fold.

    Raises:
        ValueError: If the corpus comes with a validation or test part, or has fewer than `k` texts. And what
            `load_corpus` raises.

    Example:

    ```python
    from pathlib import Path

    Path("mails.tsv").write_text("label\ttext\n" + "".join(f"{i % 2}\tmail {i}\n" for i in range(50)))
    for fold in load_folds("mails.tsv", k=5):
        print(len(fold.train), len(fold.validation), len(fold.test))
    ```
    """
    check_share("validation", validation)
    parts, labels = _read_parts(name, data_dir, manual_dir, None, None, text_column, label_column, on_error)
    texts = parts.pop("train")
    if parts:
        raise ValueError(
            f'"{os.fspath(name)}" comes with a part of its own for {" and ".join(parts)}: use `load_corpus`. '
            "Folds are for a corpus that has no split."
        )
    if not isinstance(k, int) or not 2 <= k <= len(texts):
        raise ValueError(f"`k` must be an integer from 2 to the number of texts, {len(texts)}. Received: k={k!r}")
    order = _shuffled(len(texts), seed)
    folds = []
    for fold in range(k):
        start, end = fold * len(order) // k, (fold + 1) * len(order) // k
        others = order[end:] + order[:start]
        size = _part_size("validation", validation, len(others))
        folds.append(
            Corpus(
                os.fspath(name),
                train=texts.take(others[size:]),
                validation=texts.take(others[:size]),
                test=texts.take(order[start:end]),
                label_names=labels,
            )
        )
    return folds


def _read_parts(
    name: PathLike,
    data_dir: PathLike | None,
    manual_dir: PathLike | None,
    validation_path: PathLike | None,
    test_path: PathLike | None,
    text_column: str | None,
    label_column: str | None,
    on_error: OnError,
) -> tuple[dict[str, Texts], list[str]]:
    """Read the parts that a corpus comes with, and the names of all labels."""
    if is_file(name):
        paths = {"train": Path(name), "validation": validation_path, "test": test_path}
        return _read_files(paths, text_column or "text", label_column or "label", on_error)
    if validation_path or test_path:
        raise ValueError(f"`validation_path` and `test_path` go with a file. Received: name={os.fspath(name)!r}")
    if name == "travel_desk":
        parts = {
            split: Texts([request.text for request in requests], [request.intent for request in requests])
            for split, requests in travel_desk.generate_splits().items()
        }
        return parts, list(travel_desk.INTENTS)
    rows, labels = prepared.read_texts(os.fspath(name), data_dir, manual_dir, text_column, label_column)
    return {
        part: Texts([text for text, _ in pairs], [label for _, label in pairs]) for part, pairs in rows.items()
    }, list(labels)


def complete_parts(parts: dict[str, T], validation: float, test: float, seed: int) -> dict[str, T]:
    """Draw the parts that are missing from the training part.

    Args:
        parts: What has a length and a method `take`, by the name of the part.
        validation, test, seed: See `load_corpus`.
    """
    train = parts["train"]
    order = _shuffled(len(train), seed)
    complete = dict(parts)
    for name, share in (("validation", validation), ("test", test)):
        if name not in parts:
            size = _part_size(name, share, len(train))
            complete[name] = train.take(order[:size])
            order = order[size:]
    if len(order) < len(train):
        complete["train"] = train.take(order)
    return complete


def check_shares(validation: float, test: float) -> None:
    """Raise ValueError unless the shares of the parts leave something to train on."""
    check_share("validation", validation)
    check_share("test", test)
    if validation + test >= 1:
        raise ValueError(f"Nothing is left to train on. Received: validation={validation}, test={test}")


def check_share(argument: str, share: float) -> None:
    """Raise ValueError unless a share lies between 0 and 1."""
    if not 0 < share < 1:
        raise ValueError(f"`{argument}` must lie between 0 and 1. Received: {argument}={share}")


def _part_size(name: str, share: float, total: int) -> int:
    size = round(share * total)
    if not size:
        raise ValueError(f"{total} texts are too few: no one would be left for the {name} part")
    return size


def _shuffled(size: int, seed: int) -> list[int]:
    draw = random.Random(seed).random
    return sorted(range(size), key=lambda _: draw())


# --- files --------------------


def is_file(name: PathLike) -> bool:
    """Whether a name is that of a file of examples, not of a data set."""
    if Path(name).is_file():
        return True
    try:
        file_kind(name)
    except ValueError:
        return False
    return True  # named like one: a missing file is reported as such


def _read_files(
    paths: dict[str, PathLike | None], text_column: str, label_column: str, on_error: OnError
) -> tuple[dict[str, Texts], list[str]]:
    examples = {
        part: read_labelled_text(path, text_column, label_column, on_error)
        for part, path in paths.items()
        if path is not None
    }
    labels = sorted({example.label for example in examples["train"]})
    for part, found in examples.items():
        for example in found:
            if example.label not in labels:
                raise DataError(
                    paths[part] or "",
                    example.line,
                    f'the label "{example.label}" does not occur in the training file; its labels: {labels}',
                )
    parts = {
        part: Texts([example.text for example in found], [example.label for example in found])
        for part, found in examples.items()
    }
    return parts, labels
