"""Data sets of TFDS, the package's own and the published ones: prepared once, then read without TensorFlow."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_slstm.datasets.pair_readers import PAIR_COLUMNS, Pair
from keras_slstm.datasets.records import KINDS, PathLike
from keras_slstm.extras import require
from keras_slstm.suggestions import did_you_mean

# Names that published data sets give to their text, the first that fits is taken.
TEXT_FEATURES = ("text", "sentence", "description", "content", "review", "review_body")
# Sets whose papers classify more than one feature, joined by a space.
JOINED_FEATURES = {"ag_news_subset": "title+description", "dbpedia": "title+content"}
GENERATED = ("travel_desk", "office_notes")
BLOCK = 1000


def prepare(name: str, data_dir: PathLike | None = None, manual_dir: PathLike | None = None) -> Any:
    """Prepare a data set, unless that has been done before.

    Args:
        name: A name of `keras_slstm.datasets.builders.BUILDERS` or of TFDS, with the configuration behind a slash:
            `"sst/phrases_2"`, `"glue/sst2"`. Without one, it is the first that the set has.
        data_dir: Where TFDS keeps prepared data: by default `$TFDS_DATA_DIR` or `~/tensorflow_datasets`.
        manual_dir: Folder of files that you got yourself, for data sets that can be read from such.

    Returns:
        The `tfds.core.DatasetBuilder`.

    Raises:
        FileNotFoundError: If there is no folder `manual_dir`.
        ImportError: If TFDS is not installed.
        ValueError: If TFDS has no set of that name, or the set no such configuration.
    """
    if manual_dir is not None and not Path(manual_dir).expanduser().is_dir():
        raise FileNotFoundError(f"There is no folder {os.fspath(manual_dir)} (`manual_dir`).")
    tfds = require("tensorflow_datasets", "datasets")
    builder = _builder(tfds, name, data_dir)
    builder.download_and_prepare(
        download_config=tfds.download.DownloadConfig(manual_dir=manual_dir),
        # Read without TensorFlow, where the format is at hand; data prepared before keeps its own format.
        file_format="array_record" if importlib.util.find_spec("array_record") else None,
    )
    return builder


def read_split(builder: Any, split: str) -> Iterator[dict[str, Any]]:
    """Read the records of a prepared split, always in the same order."""
    tfds = require("tensorflow_datasets", "datasets")
    try:
        source = builder.as_data_source(split=split)
    except NotImplementedError:  # prepared in a format that only TensorFlow reads
        yield from tfds.as_numpy(builder.as_dataset(split=split))
        return
    for start in range(0, len(source), BLOCK):  # many times faster than one by one
        yield from source.__getitems__(list(range(start, min(start + BLOCK, len(source)))))


def read_texts(
    name: str,
    data_dir: PathLike | None = None,
    manual_dir: PathLike | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
) -> tuple[dict[str, list[tuple[str, str]]], list[str]]:
    """Read the labelled texts of each split, and the names of all labels; see `load_corpus`."""
    tfds = require("tensorflow_datasets", "datasets")
    builder = prepare(name, data_dir, manual_dir)
    features = builder.info.features
    columns = (text_column or JOINED_FEATURES.get(builder.name, "")).split("+")
    texts = [_feature(name, features, "text", tfds.features.Text, column, TEXT_FEATURES) for column in columns]
    label = _feature(name, features, "label", tfds.features.ClassLabel, label_column or "", ("label",))
    label_names = features[label].names

    parts = {}
    for split in ("train", "validation", "test"):
        if split in builder.info.splits:
            rows = [
                (" ".join(record[text].decode("utf-8") for text in texts if record[text]), int(record[label]))
                for record in read_split(builder, split)
            ]
            # Some published test sets (those of GLUE) have no labels: -1. They count as missing.
            if all(index >= 0 for _, index in rows):
                parts[split] = [(text, label_names[index]) for text, index in rows]
    if "train" not in parts:
        raise ValueError(
            f'The data set "{name}" has no labelled split "train"; its splits: {list(builder.info.splits)}'
        )
    return parts, label_names


def read_pairs(
    name: str,
    data_dir: PathLike | None = None,
    manual_dir: PathLike | None = None,
    first_column: str | None = None,
    second_column: str | None = None,
    label_column: str | None = None,
) -> tuple[dict[str, list[tuple[Pair, Any]]], list[str]]:
    """Read the labelled pairs of each split, and the names of all labels (none: scores); see `load_pair_corpus`."""
    tfds = require("tensorflow_datasets", "datasets")
    builder = prepare(name, data_dir, manual_dir)
    features = builder.info.features
    firsts, seconds = zip(*PAIR_COLUMNS)
    first = _feature(name, features, "first", tfds.features.Text, first_column or "", firsts)
    second = _feature(name, features, "second", tfds.features.Text, second_column or "", seconds)
    if first == second:
        raise ValueError(f'"{name}" does not hold pairs: its one text is "{first}"')
    target, label_names = _target(name, features, label_column or "")

    parts = {}
    for split in ("train", "validation", "test"):
        if split in builder.info.splits:
            rows = [
                ((record[first].decode("utf-8"), record[second].decode("utf-8")), record[target])
                for record in read_split(builder, split)
            ]
            if label_names:  # pairs without a label have -1
                rows = [(texts, label_names[int(label)]) for texts, label in rows if label >= 0]
            elif all(score == -1 for _, score in rows):  # as in the test part of GLUE
                rows = []
            else:  # float32, back to the number that was written
                rows = [(texts, float(str(np.float32(score)))) for texts, score in rows]
            if rows:
                parts[split] = rows
    if "train" not in parts:
        raise ValueError(
            f'The data set "{name}" has no labelled split "train"; its splits: {list(builder.info.splits)}'
        )
    return parts, label_names


def _target(name: str, features: Any, wanted: str) -> tuple[str, list[str]]:
    """Tell which feature holds the label, and its names; or else which one holds the score, and none."""
    tfds = require("tensorflow_datasets", "datasets")
    numbers = [key for key in features if type(features[key]) in (tfds.features.Scalar, tfds.features.Tensor)]
    scores = [key for key in numbers if not features[key].shape and np.issubdtype(features[key].np_dtype, np.floating)]
    if wanted in scores:
        return wanted, []
    if not wanted and len(scores) == 1 and not any(isinstance(f, tfds.features.ClassLabel) for f in features.values()):
        return scores[0], []
    label = _feature(name, features, "label", tfds.features.ClassLabel, wanted, ("label",))
    return label, list(features[label].names)


def _builder(tfds: Any, name: str, data_dir: PathLike | None) -> Any:
    from keras_slstm.datasets.builders import BUILDERS

    base, _, config = name.partition("/")
    if base in BUILDERS:
        known = list(BUILDERS[base].builder_configs)
        if config and config not in known:
            configs = f"one of {', '.join(known)}" if known else "nothing behind its name"
            hint = did_you_mean(config, known)
            raise ValueError(f'"{base}" has no configuration "{config}". Expected {configs}.{hint}')
        return BUILDERS[base](config=config or None, data_dir=data_dir)
    try:
        return tfds.builder(name, data_dir=data_dir)
    except tfds.core.DatasetNotFoundError as error:
        raise ValueError(
            f"No corpus is named {name!r}. Expected {', '.join(GENERATED)}, {', '.join(BUILDERS)}, the name of a TFDS "
            f"data set, or a file named {', '.join(KINDS[:-1])} or {KINDS[-1]}."
            + did_you_mean(base, [*GENERATED, *BUILDERS, *tfds.list_builders(with_community_datasets=False)])
        ) from error


def _feature(name: str, features: Any, role: str, kind: type, wanted: str, usual_names: Sequence[str]) -> str:
    """Tell which feature holds the text or the label."""
    fitting = [key for key in features if isinstance(features[key], kind)]
    if wanted:
        fitting = [key for key in fitting if key == wanted]
    elif len(fitting) > 1:
        fitting = [key for key in usual_names if key in fitting][:1]
    if len(fitting) != 1:
        found = ", ".join(f"{key} ({type(features[key]).__name__})" for key in features)
        asked = f'"{wanted}"' if wanted else f"the one that holds the {role}"
        raise ValueError(
            f'Among the features of "{name}" ({found}) {asked} is not a {kind.__name__} or cannot be told: '
            f"name it as `{role}_column`.{did_you_mean(wanted, features) if wanted else ''}"
        )
    return fitting[0]
