"""Reads the texts of any data set, without labels."""

from __future__ import annotations

from keras_slstm.datasets import office_notes, prepared, travel_desk
from keras_slstm.datasets.readers import PathLike
from keras_slstm.extras import require
from keras_slstm.suggestions import did_you_mean, list_names

PARTS = ("validation", "test", "train")


def read_any_texts(
    name: str,
    data_dir: PathLike | None = None,
    manual_dir: PathLike | None = None,
    columns: list[str] | None = None,
) -> list[str]:
    """Read all texts of the validation part of a data set or, if it has none, of its test or training part.

    Empty texts are skipped.

    Args:
        name: `"travel_desk"` or `"office_notes"` (the English notes), which do not need TFDS, or another name that
            `load_corpus` or `load_parallel_corpus` accepts.
        data_dir, manual_dir: See `load_corpus`.
        columns: The features to read. Default: all text features.

    Raises:
        ImportError: If TFDS is needed and not installed.
        ValueError: If the name is unknown, or the data set has no such texts.
    """
    base, _, config = name.partition("/")
    if columns is None and base == "travel_desk":
        return [request.text for request in travel_desk.generate_splits()["validation"]]
    if columns is None and base == "office_notes":
        notes = office_notes.generate_splits(task=config or office_notes.TASKS[0])["validation"]
        return [note.english for note in notes]
    tfds = require("tensorflow_datasets", "datasets")
    builder = prepared.prepare(name, data_dir, manual_dir)
    features = builder.info.features
    known = [key for key in features if isinstance(features[key], tfds.features.Text)]
    for column in columns or known:
        if column not in known:
            hint = did_you_mean(column, known)
            raise ValueError(f'"{name}" has no text feature "{column}"; its text features: {list_names(known)}.{hint}')
    part = next((part for part in PARTS if part in builder.info.splits), None)
    if not known or part is None:
        raise ValueError(f'"{name}" has no texts; its features: {list(features)}')
    texts = [record[key].decode("utf-8") for record in prepared.read_split(builder, part) for key in columns or known]
    return [text for text in texts if text.strip()]
