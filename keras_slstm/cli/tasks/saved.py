"""Loading of saved models."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import keras

import keras_slstm.public  # noqa: F401  (registers all classes with Keras)
from keras_slstm.models.sentence_classifier import SentenceClassifier
from keras_slstm.models.sentence_pair_classifier import SentencePairClassifier
from keras_slstm.models.seq2seq import Seq2Seq
from keras_slstm.models.sequence_tagger import SequenceTagger

MODELS = (SentenceClassifier, SentencePairClassifier, SequenceTagger, Seq2Seq)


def load_model(path: str) -> Any:
    """Load a model of this package.

    Raises:
        ValueError: If the file contains another model, or none.
    """
    if not Path(path).exists():
        raise FileNotFoundError(f"{path} does not exist")
    if Path(path).is_dir():
        inside = sorted(Path(path).glob("*.keras"))
        advice = f"pass {inside[0]}" if inside else "pass a .keras file"
        raise IsADirectoryError(f"{path} is a folder: {advice}")
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} is damaged, or is not a model that Keras saved (.keras)")
    try:
        model = keras.saving.load_model(path)
    except (zipfile.BadZipFile, zlib.error, KeyError) as error:
        raise ValueError(f"{path} is damaged, or is not a model that Keras saved (.keras): {error}") from error
    except TypeError as error:  # raised by Keras for an unknown class
        raise ValueError(str(error)) from error
    if not isinstance(model, MODELS):
        known = ", ".join(each.__name__ for each in MODELS)
        raise ValueError(f"{path} contains a {type(model).__name__}, not one of {known}")
    return model
