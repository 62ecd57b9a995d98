"""The texts of a data set, whatever they are for."""

from __future__ import annotations

from keras_slstm.datasets import office_notes, prepared, travel_desk
from keras_slstm.datasets.readers import PathLike
from keras_slstm.extras import require

PARTS = ("validation", "test", "train")


def read_any_texts(
    name: str,
    data_dir: PathLike | None = None,
    manual_dir: PathLike | None = None,
    columns: list[str] | None = None,
) -> list[str]:
    """Read the texts of the development part of a data set: all of its features that are texts, empty ones left out.

    Where there is no development part, those of the test part, or else of the training part.

    Args:
        name: `"travel_desk"`, `"office_notes"` (the English notes), which need no TFDS, or a name as of `load_corpus`
            and `load_parallel_corpus`.
        data_dir, manual_dir: See `load_corpus`.
        columns: The features to read. Default: all texts.

    Raises:
        ImportError: If TFDS is needed and not installed.
        ValueError: If the name is unknown, or the set has no such texts.
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
            raise ValueError(f'"{name}" has no text "{column}"; its texts: {", ".join(known) or "none"}')
    part = next((part for part in PARTS if part in builder.info.splits), None)
    if not known or part is None:
        raise ValueError(f'"{name}" has no texts: its features are {list(features)}')
    texts = [record[key].decode("utf-8") for record in prepared.read_split(builder, part) for key in columns or known]
    return [text for text in texts if text.strip()]
