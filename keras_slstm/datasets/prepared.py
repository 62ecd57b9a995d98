"""TFDS data sets of this package and others, prepared once and then read without TensorFlow."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from keras_slstm.datasets.records import KINDS, PathLike
from keras_slstm.extras import require
from keras_slstm.suggestions import did_you_mean

GENERATED = ("travel_desk", "office_notes")
BLOCK = 1000


def prepare(name: str, data_dir: PathLike | None = None, manual_dir: PathLike | None = None) -> Any:
    """Prepare a data set, unless it has been prepared before.

    Args:
        name: A name from `keras_slstm.datasets.builders.BUILDERS` or from TFDS, with the configuration after a slash:
            `"sst/phrases_2"`, `"glue/sst2"`. By default, the first configuration is used.
        data_dir, manual_dir: See `load_corpus`.

    Returns:
        The `tfds.core.DatasetBuilder`.

    Raises:
        FileNotFoundError: If the folder `manual_dir` does not exist.
        ImportError: If TFDS is not installed.
        ValueError: If the data set is unknown, or has no such configuration.
    """
    if manual_dir is not None and not Path(manual_dir).expanduser().is_dir():
        raise FileNotFoundError(f"The folder {os.fspath(manual_dir)} (`manual_dir`) does not exist.")
    tfds = require("tensorflow_datasets", "datasets")
    options = {
        "download_config": tfds.download.DownloadConfig(manual_dir=manual_dir),
        # Array records can be read without TensorFlow. Already prepared data keeps its format.
        "file_format": "array_record" if importlib.util.find_spec("array_record") else None,
    }
    builder = _builder(tfds, name, data_dir)
    was_prepared = builder.data_path.exists()
    try:
        builder.download_and_prepare(**options)
    except Exception:  # the type depends on the file system
        if was_prepared or not builder.data_path.exists():
            raise
        # Another process has prepared the data set meanwhile, so that TFDS could not move its own copy there.
        builder = _builder(tfds, name, data_dir)
        builder.download_and_prepare(**options)
    return builder


def read_split(builder: Any, split: str) -> Iterator[dict[str, Any]]:
    """Read the records of a prepared split, always in the same order."""
    tfds = require("tensorflow_datasets", "datasets")
    try:
        source = builder.as_data_source(split=split)
    except NotImplementedError:  # only TensorFlow can read this format
        yield from tfds.as_numpy(builder.as_dataset(split=split))
        return
    for start in range(0, len(source), BLOCK):  # much faster than record by record
        yield from source.__getitems__(list(range(start, min(start + BLOCK, len(source)))))


def _builder(tfds: Any, name: str, data_dir: PathLike | None) -> Any:
    from keras_slstm.datasets.builders import BUILDERS

    base, _, config = name.partition("/")
    if base in BUILDERS:
        known = list(BUILDERS[base].builder_configs)
        if config and config not in known:
            configs = f"one of {', '.join(known)}" if known else "no configuration"
            hint = did_you_mean(config, known)
            raise ValueError(f'"{base}" has no configuration "{config}". Expected {configs}.{hint}')
        return BUILDERS[base](config=config or None, data_dir=data_dir)
    try:
        return tfds.builder(name, data_dir=data_dir)
    except tfds.core.DatasetNotFoundError as error:
        raise ValueError(
            f"Unknown corpus {name!r}. Expected {', '.join(GENERATED)}, {', '.join(BUILDERS)}, the name of a TFDS "
            f"data set, or a file named {', '.join(KINDS[:-1])} or {KINDS[-1]}."
            + did_you_mean(base, [*GENERATED, *BUILDERS, *tfds.list_builders(with_community_datasets=False)])
        ) from error


def feature(
    name: str, features: Any, role: str, kind: str, wanted: Any, usual_names: Sequence[str], sequence: bool = False
) -> str:
    """Return the name of the feature that contains the text, the label, ... of a data set.

    Args:
        name: The data set, for messages.
        features: The features of the data set.
        role: The loader's argument for the feature, without `_column`.
        kind: The class of the feature.
        wanted: The feature that the user has chosen, or None.
        usual_names: Usual names of the feature, in order of preference.
        sequence: Whether the feature is a sequence of that class.

    Raises:
        ValueError: If there is no such feature, or several fit.
    """
    kinds = getattr(require("tensorflow_datasets", "datasets").features, kind)
    fitting = [
        key
        for key in features
        if isinstance(getattr(features[key], "feature", None) if sequence else features[key], kinds)
    ]
    if wanted:
        fitting = [key for key in fitting if key == wanted]
    elif len(fitting) > 1 or sequence:
        fitting = [key for key in usual_names if key in fitting][:1]
    if len(fitting) != 1:
        found = ", ".join(f"{key} ({type(features[key]).__name__})" for key in features)
        asked = f'the feature "{wanted}"' if wanted else f"a feature that is clearly the {role}"
        raise ValueError(
            f'"{name}" does not have {asked}, a {"sequence of " * sequence}{kind}; its features: {found}. Name one as '
            f"`{role}_column`.{did_you_mean(wanted, features) if wanted else ''}"
        )
    return fitting[0]
