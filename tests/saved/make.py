"""Saves a small model of every kind, with its predictions, as files that later versions must load.

Version 0.1 made the files of this folder on TensorFlow. Make files again only to add a model:
`KERAS_BACKEND=tensorflow python -m tests.saved.make NAME ...` adds models, or replaces them.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np

import keras_slstm
from keras_slstm.models import BCN, ESIM

FOLDER = Path(__file__).parent
PREDICTIONS = FOLDER / "predictions.npz"
TEXTS = ["a room in Rome", "cancel the car", "I need a big car in Paris now", "unheard words"]
PAIRS = list(zip(TEXTS, reversed(TEXTS)))
TOKENS = [text.split() for text in TEXTS]
TAGS = ["O", "B-city", "I-city", "B-thing", "I-thing"]
SMALL = {"units": 4, "embedding_dim": 3}
WITH_CHARACTERS = {"characters": "cnn", "character_dim": 2, "character_units": 4}


def inputs(model: keras.Model) -> Any:
    """Return the input of a model of layers, which begins with as many zero rows as its mask leaves out."""
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(3, *x.shape[1:])).astype("float32") for x in model.inputs]
    for x in arrays:
        x[1, 4:] = 0.0
        x[2, 2:] = 0.0
    return arrays if len(arrays) > 1 else arrays[0]


def predictions(model: Any) -> list[np.ndarray]:
    """Return the arrays that a saved model has to reproduce."""
    if isinstance(model, keras_slstm.Seq2Seq):
        source, target = model.batches(TEXTS, TEXTS, batch_size=8, shuffle=False)[0][0].values()
        return [np.asarray(model.predict({"source": source, "target": target}, verbose=0))]
    if isinstance(model, keras_slstm.SequenceTagger):
        names = [[model.labels.index(label) for label in sentence] for sentence in model.tag(TOKENS)]
        return [*model.predict(TOKENS, verbose=0), *(np.array(row) for row in names)]
    if isinstance(model, keras_slstm.SentencePairClassifier):
        return [model.predict(PAIRS, verbose=0)]
    if isinstance(model, keras_slstm.SentenceClassifier):
        return [model.predict(TEXTS, verbose=0)]
    return [np.asarray(x) for x in keras.tree.flatten(model.predict(inputs(model), verbose=0))]


def over_words(*layers: keras.layers.Layer, shape: tuple[int, ...] = (6, 3), mask: bool = True) -> keras.Model:
    """Return a functional model of layers over masked vectors of words."""
    x = first = keras.Input(shape)
    if mask:
        x = keras.layers.Masking()(x)
    for layer in layers:
        x = layer(x)
    return keras.Model(first, x)


def decoder(cell: keras.layers.Layer) -> keras.Model:
    """Return a functional model of an `AttentionDecoder`."""
    words, memory = keras.Input((6, 3)), keras.Input((6, 4))
    masked = keras.layers.Masking()
    return keras.Model([words, memory], keras_slstm.AttentionDecoder(cell)(masked(words), masked(memory)))


def trained(model: Any, x: Any, y: Any, **options: Any) -> Any:
    """Return a text model that was compiled and trained for an epoch, with an optimizer in its file."""
    model.adapt(x)
    model.compile("adam", **options)
    model.fit(x, y, epochs=1, verbose=0)
    return model


def classifier(**options: Any) -> Any:
    """Return a trained `SentenceClassifier`."""
    model = keras_slstm.SentenceClassifier(["book", "cancel", "other"], **{**SMALL, **options})
    y = ["book", "cancel", "book", "other"]
    return trained(model, TEXTS, y, loss="sparse_categorical_crossentropy", metrics=["accuracy"])


def tagger(**options: Any) -> Any:
    """Return a trained `SequenceTagger`."""
    options = {"character_dim": 2, "character_units": 4, **SMALL, **options}
    model = keras_slstm.SequenceTagger(TAGS, **options)
    return trained(model, TOKENS, [["O"] * len(tokens) for tokens in TOKENS])


def pairs(make: Any = keras_slstm.SentencePairClassifier, **options: Any) -> Any:
    """Return a trained classifier of pairs."""
    labels = None if "score_range" in options else ["entailment", "neutral"]
    y = [1.0, 2.5, 3.0, 5.0] if labels is None else ["neutral", "entailment"] * 2
    model = make(labels=labels, **{"mlp_units": (3,), **SMALL, **options})
    model.adapt(PAIRS)
    model.compile("adam")
    model.fit(PAIRS, y, epochs=1, verbose=0)
    return model


def bcn() -> Any:
    """Return a `BCN`."""
    model = BCN(["book", "cancel"], encoder="subilstm", units=4, embedding_dim=3)
    model.adapt(TEXTS)
    return model


def seq2seq(**options: Any) -> Any:
    """Return a trained `Seq2Seq`."""
    return trained(keras_slstm.Seq2Seq(**{**SMALL, "vectorizer": {"max_tokens": 260}, **options}), TEXTS, TEXTS)


def all_models() -> dict[str, Callable[[], Any]]:
    """Return a function for each model, by the name of its file."""
    k, words = keras_slstm, {"return_sequences": True}
    return {
        "slstm": lambda: over_words(k.SLSTM(4, steps=2, window=2, sentence_nodes=2)),
        "slstm_sequences": lambda: over_words(k.SLSTM(4, steps=3, initial="zeros", return_state=True, **words)),
        "caslstm": lambda: over_words(k.CASLSTM(4, lam="trainable")),
        "caslstm_peephole": lambda: over_words(k.CASLSTM(4, peephole=True, return_state=True)),
        "caslstm_bidirectional": lambda: over_words(keras.layers.Bidirectional(k.CASLSTM(4, lam=None, **words))),
        "caslstm_cell": lambda: over_words(keras.layers.RNN(k.CASLSTMCell(4, lam=0.3))),
        "normalized_lstm": lambda: over_words(k.NormalizedLSTM(4, **words)),
        "normalized_lstm_cell": lambda: over_words(keras.layers.RNN(k.NormalizedLSTMCell(4))),
        "subilstm": lambda: over_words(k.SuBiLSTM(4)),
        "subilstm_untied": lambda: over_words(k.SuBiLSTM(4, tied=False, combine="gate", **words)),
        "depth_adaptive_grn": lambda: over_words(k.DepthAdaptiveGRN(4, max_depth=3, depth_units=5, return_depths=True)),
        "depth_adaptive_grn_plain": lambda: over_words(
            k.DepthAdaptiveGRN(4, max_depth=2, selection="full", sequential="learned", max_length=8, **words)
        ),
        "crf": lambda: over_words(k.CRF(labels=TAGS, scheme="BIO"), k.CRFDecoder(return_probabilities=True)),
        "crf_pairwise": lambda: over_words(k.CRF(3, pairwise=True), k.CRFDecoder()),
        "attention_decoder": lambda: decoder(k.CASLSTMCell(4)),
        "pooling": lambda: over_words(k.AttentionPooling()),
        "pooling_max": lambda: over_words(k.MaskedGlobalMaxPooling1D()),
        "pooling_mean": lambda: over_words(k.MaskedGlobalAveragePooling1D()),
        "char_cnn": lambda: over_words(k.CharCNN(4), shape=(5, 4, 3), mask=False),
        "char_bilstm": lambda: over_words(k.CharBiLSTM(2), shape=(5, 4, 3), mask=False),
        "text_slstm": lambda: classifier(encoder_options={"steps": 2}),
        "text_attention": lambda: classifier(
            encoder="bilstm", pooling="attention", mlp_units=(3,), mlp_dropout=0.1, mlp_batch_norm=True
        ),
        "text_characters": lambda: classifier(encoder="lstm", **WITH_CHARACTERS),
        "text_caslstm": lambda: classifier(encoder="bi_caslstm"),
        "text_normalized": lambda: classifier(encoder="normalized_bilstm"),
        "text_stacked": lambda: classifier(encoder="stacked_bilstm"),
        "text_cnn": lambda: classifier(encoder="stacked_cnn"),
        "text_transformer": lambda: classifier(
            encoder="transformer", encoder_options={"num_blocks": 1, "num_heads": 2}
        ),
        "text_grn": lambda: classifier(encoder="depth_adaptive_grn", encoder_options={"max_depth": 2}),
        "tagger": lambda: tagger(scheme="BIO", encoder_options={"steps": 2}),
        "tagger_pairwise": lambda: tagger(encoder="bilstm", head_options={"pairwise": True}, characters="bilstm"),
        "tagger_softmax": lambda: tagger(encoder="bilstm", head="softmax", characters=None),
        "pairs": lambda: pairs(encoder="lstm", features="paraphrase"),
        "pairs_scores": lambda: pairs(encoder="lstm", score_range=(1, 5)),
        "bcn": bcn,
        "esim": lambda: pairs(ESIM, encoder="bilstm"),
        "seq2seq": lambda: seq2seq(bidirectional=True),
        "seq2seq_lstm": lambda: seq2seq(cell="lstm"),
    }


def randomise(model: keras.Model) -> None:
    """Give every weight different values, so that a lost or swapped weight is noticed."""
    rng = np.random.default_rng(1)
    for weight in model.weights:
        value = rng.normal(scale=0.5, size=weight.shape)
        positive = "variance" in weight.path or "lam" in weight.path
        if weight.dtype.startswith("float"):
            weight.assign(np.abs(value) if positive else value)


def compress(path: Path) -> None:
    """Write the members of a `.keras` file again, compressed."""
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)


def main(names: list[str]) -> None:
    """Save the models of these names, or all."""
    known = dict(np.load(PREDICTIONS)) if PREDICTIONS.exists() else {}
    for name, make in all_models().items():
        if names and name not in names:
            continue
        keras.utils.set_random_seed(0)
        model = make()
        randomise(model)
        model.save(FOLDER / f"{name}.keras")
        compress(FOLDER / f"{name}.keras")
        known = {key: value for key, value in known.items() if key.split("/")[0] != name}
        known.update({f"{name}/{i}": value for i, value in enumerate(predictions(model))})
        print(name, (FOLDER / f"{name}.keras").stat().st_size)
    np.savez_compressed(PREDICTIONS, **known)


if __name__ == "__main__":
    main(sys.argv[1:])
