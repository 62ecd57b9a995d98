"""One way to every corpus of labelled texts: the generated one, those of TFDS, and a person's own files."""

from __future__ import annotations

import importlib.util
import os
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keras_slstm.data import travel_desk
from keras_slstm.data.errors import DataError
from keras_slstm.data.readers import OnError, PathLike, file_kind, read_labelled_text
from keras_slstm.extras import require

# Names that published data sets give to their text, the first that fits is taken.
TEXT_FEATURES = ("text", "sentence", "description", "content", "review", "review_body")


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
    / 1,066 for the 10,662 sentences of `"movie_review"`.

    Args:
        name: `"travel_desk"` (generated: needs neither network nor TFDS), `"movie_review"`, the name of any
            TFDS data set with a text and a label (`"imdb_reviews"`, `"ag_news_subset"`, `"glue/sst2"`), or
            the path of a `.tsv`, `.csv` or `.jsonl` file (see `read_labelled_text`).
        data_dir: Where TFDS keeps prepared data: by default `$TFDS_DATA_DIR` or `~/tensorflow_datasets`. Data
            is prepared once, and an interrupted preparation is never taken for a finished one.
        manual_dir: Folder of files that you got yourself, for data sets that can be read from such.
        seed: Seed of the random parts.
        validation: Share of the texts that become the validation part, where there is none.
        test: Share of the texts that become the test part, where there is none.
        validation_path: File of the validation part, if `name` is a file.
        test_path: File of the test part, if `name` is a file.
        text_column: Column, JSON key or TFDS feature of the text, if it cannot be told from its name or type.
        label_column: The same for the label.
        on_error: What a malformed line of a file does: `"raise"`, or `"skip"` with a warning.

    Returns:
        A `Corpus`.

    Raises:
        DataError: If a file is malformed; the message names file and line.
        FileNotFoundError: If a file is missing; for `"movie_review"` the message says what to put where.
        ImportError: If TFDS is needed and not installed.
        ValueError: If the name is unknown, or the data set lacks a text or a label.

    Example:

    ```python
    corpus = load_corpus("travel_desk")
    print(len(corpus.train), corpus.label_names)
    print(corpus.train.texts[0], "->", corpus.train.labels[0])
    ```
    """
    for share, argument in ((validation, "validation"), (test, "test")):
        if not 0 < share < 1:
            raise ValueError(f"`{argument}` must lie between 0 and 1. Received: {argument}={share}")
    if validation + test >= 1:
        raise ValueError(f"Nothing is left to train on. Received: validation={validation}, test={test}")

    if _is_file(name):
        paths = {"train": Path(name), "validation": validation_path, "test": test_path}
        parts, labels = _read_files(paths, text_column or "text", label_column or "label", on_error)
    elif validation_path or test_path:
        raise ValueError(f"`validation_path` and `test_path` go with a file. Received: name={os.fspath(name)!r}")
    elif name == "travel_desk":
        parts = {
            split: Texts([request.text for request in requests], [request.intent for request in requests])
            for split, requests in travel_desk.generate_splits().items()
        }
        labels = travel_desk.INTENTS
    else:
        parts, labels = _read_tfds(os.fspath(name), data_dir, manual_dir, text_column, label_column)
    return Corpus(os.fspath(name), **_complete(parts, validation, test, seed), label_names=list(labels))


def _complete(parts: dict[str, Texts], validation: float, test: float, seed: int) -> dict[str, Texts]:
    """Draw the parts that are missing from the training part."""
    train = parts["train"]
    draw = random.Random(seed).random
    order = sorted(range(len(train)), key=lambda _: draw())
    complete = dict(parts)
    for name, share in (("validation", validation), ("test", test)):
        if name not in parts:
            size = round(share * len(train))
            if not size:
                raise ValueError(f"{len(train)} texts are too few: no one would be left for the {name} part")
            complete[name] = _take(train, order[:size])
            order = order[size:]
    if len(order) < len(train):
        complete["train"] = _take(train, order)
    return complete


def _take(texts: Texts, indices: Sequence[int]) -> Texts:
    return Texts([texts.texts[i] for i in indices], [texts.labels[i] for i in indices])


# --- files --------------------


def _is_file(name: PathLike) -> bool:
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


# --- TFDS --------------------


def _read_tfds(
    name: str,
    data_dir: PathLike | None,
    manual_dir: PathLike | None,
    text_column: str | None,
    label_column: str | None,
) -> tuple[dict[str, Texts], list[str]]:
    tfds = require("tensorflow_datasets", "datasets")
    from keras_slstm.data import builders

    own = {"movie_review": builders.MovieReview}
    try:
        builder = own[name](data_dir=data_dir) if name in own else tfds.builder(name, data_dir=data_dir)
    except tfds.core.DatasetNotFoundError as error:
        raise ValueError(
            f'No corpus is named {name!r}. Expected "travel_desk", "movie_review", the name of a TFDS data '
            "set, or a .tsv, .csv or .jsonl file."
        ) from error
    builder.download_and_prepare(
        download_config=tfds.download.DownloadConfig(manual_dir=manual_dir),
        # Read without TensorFlow, where the format is at hand; data prepared before keeps its own format.
        file_format="array_record" if importlib.util.find_spec("array_record") else None,
    )

    features = builder.info.features
    text = _feature(name, features, "text", tfds.features.Text, text_column, TEXT_FEATURES)
    label = _feature(name, features, "label", tfds.features.ClassLabel, label_column, ("label",))
    label_names = features[label].names

    parts = {}
    for split in ("train", "validation", "test"):
        if split in builder.info.splits:
            records = [(record[text], int(record[label])) for record in _records(tfds, builder, split)]
            # Some published test sets (those of GLUE) have no labels: -1. They count as missing.
            if all(index >= 0 for _, index in records):
                parts[split] = Texts(
                    [content.decode("utf-8") for content, _ in records],
                    [label_names[index] for _, index in records],
                )
    if "train" not in parts:
        raise ValueError(
            f'The data set "{name}" has no labelled split "train"; its splits: {list(builder.info.splits)}'
        )
    return parts, label_names


def _records(tfds: Any, builder: Any, split: str) -> Iterable[dict[str, Any]]:
    try:
        return builder.as_data_source(split=split)
    except NotImplementedError:
        return tfds.as_numpy(builder.as_dataset(split=split))


def _feature(name: str, features: Any, role: str, kind: type, wanted: str | None, usual_names: Sequence[str]) -> str:
    """Tell which feature holds the text or the label."""
    fitting = [key for key in features if isinstance(features[key], kind)]
    if wanted is not None:
        fitting = [key for key in fitting if key == wanted]
    elif len(fitting) > 1:
        fitting = [key for key in usual_names if key in fitting][:1]
    if len(fitting) != 1:
        found = ", ".join(f"{key} ({type(features[key]).__name__})" for key in features)
        asked = f'"{wanted}"' if wanted else f"the one that holds the {role}"
        raise ValueError(
            f'Among the features of "{name}" ({found}) {asked} is not a {kind.__name__} or cannot be told: '
            f"name it as `{role}_column`"
        )
    return fitting[0]
