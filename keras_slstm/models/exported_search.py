"""Export of the search of a translation model (`Seq2Seq`) for runtimes other than Keras."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import keras

from keras_slstm.models.exported import SUFFIXES, ServedModel, write_file
from keras_slstm.models.translation_search import SearchModel
from keras_slstm.types import Tensor

FORMATS = ("tf_saved_model", *(format for format in SUFFIXES if format != "torch"))
INPUT, OUTPUTS = "source", ("ids", "scores")


def check_search_format(format: str) -> None:
    """Raise ValueError if Keras cannot write a search in a format."""
    if format == "torch":
        raise ValueError('`format="torch"` cannot express the loop of a search: export with KERAS_BACKEND=tensorflow.')
    if format not in FORMATS:
        raise ValueError(f"`format` must be one of {FORMATS}, but got {format!r}.")
    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            f"Keras on {keras.backend.backend()} cannot write a search for any number of words: load the model with "
            "KERAS_BACKEND=tensorflow and export it there."
        )


def write_search(search: SearchModel, about: dict[str, Any], filepath: Any, format: str, **kwargs: Any) -> None:
    """Write a search, and next to it a JSON file that describes its use.

    Args:
        search: The search as a model.
        about: The vocabulary and the tokenizer.
        filepath: The file, or the folder of a SavedModel.
        format: One of `FORMATS`.
        **kwargs: Further arguments of `keras.Model.export`.
    """

    def serve(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        return dict(zip(OUTPUTS, search(inputs[INPUT]), strict=True))

    served = ServedModel(search, serve)
    signature = {INPUT: keras.InputSpec(shape=(None, None), dtype="int32", name=INPUT)}
    about = {"inputs": [INPUT], "outputs": [*OUTPUTS], **about}
    if format != "tf_saved_model":
        write_file(served, filepath, format, signature, about, **kwargs)
        return
    served.export(filepath, format=format, **{"verbose": False, "input_signature": [signature], **kwargs})
    path = Path(filepath, "assets.extra", "model.json")  # the place for assets that no graph function reads
    path.parent.mkdir()
    path.write_text(json.dumps(about, ensure_ascii=False, indent=1), encoding="utf-8")
