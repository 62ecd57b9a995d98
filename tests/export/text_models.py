"""The text models of the export matrix."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from keras import ops

import keras_slstm
from tests.export.cases import SHAPES, mask_of, randomize

TEXTS = ["book a flight to Oslo", "cancel my hotel", "which trains go to Rome today", "my flight"]
SMALL = {"units": 4, "embedding_dim": 3, "character_dim": 2, "character_units": 4}


def _classifier(encoder: str) -> Any:
    model = keras_slstm.SentenceClassifier(["book", "cancel", "ask"], encoder=encoder, **SMALL)
    model.adapt(TEXTS)
    return model


def _tagger(**options: Any) -> Any:
    labels = ["O", "B-city", "I-city"]
    model = keras_slstm.SequenceTagger(
        labels, scheme="BIO", **{"encoder": "slstm", "characters": "cnn", **SMALL, **options}
    )
    model.adapt([text.split() for text in TEXTS])
    return model


def _pairs() -> Any:
    model = keras_slstm.SentencePairClassifier(["same", "other"], encoder="slstm", **SMALL)
    model.adapt([(one, other) for one, other in itertools.pairwise(TEXTS)])
    return model


TEXT_MODELS: dict[str, Callable[[], Any]] = {
    "SentenceClassifier": lambda: _classifier("slstm"),
    "SentenceClassifier(bilstm)": lambda: _classifier("bilstm"),
    "SequenceTagger": _tagger,
    "SequenceTagger(softmax)": lambda: _tagger(head="softmax"),
    "SequenceTagger(words)": lambda: _tagger(characters=None),
    "SentencePairClassifier": _pairs,
}


def make(name: str) -> tuple[Any, list[dict[str, np.ndarray]], list[dict[str, np.ndarray]]]:
    """Return a model with random weights, batches of ids, and its outputs for them."""
    model = TEXT_MODELS[name]()
    randomize(model)
    random = np.random.default_rng(2)
    batches = []
    for batch, time, side in SHAPES:
        mask = mask_of(batch, time, side)
        if model.sentence_axes:
            mask = np.stack([mask, mask[::-1]], axis=1)
        inputs = {"words": random.integers(1, model.vectorizer.vocabulary_size, mask.shape) * mask}
        if model.characters:
            shape = (*mask.shape, 4)
            inputs["characters"] = random.integers(1, model.vectorizer.characters_size, shape) * mask[..., None]
        batches.append({name: x.astype("int32") for name, x in inputs.items()})
    found = [model.serve({name: ops.convert_to_tensor(x) for name, x in each.items()}) for each in batches]
    return model, batches, [{name: ops.convert_to_numpy(x) for name, x in each.items()} for each in found]
