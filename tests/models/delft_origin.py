"""Writes a model as DeLFT saves its BidLSTM_CRF, built of layers of Keras 2 and the CRF of tensorflow-addons.

Usage: `python -m tests.models.delft_origin FOLDER`. It writes the weights, two JSON files, word vectors, and the
model's predictions for its sentences.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tf_keras
from tf_keras import layers

from tests.models.delft_cases import DIM, LABELS, SENTENCES

WORDS = ["Paris", "in", "0000", "was", "Rome"]
CHARACTERS, WORD_UNITS, CHARACTER_UNITS, CHARACTER_DIM = 30, 7, 4, 5


def main() -> None:
    from keras_slstm.ops.kernels import addons

    addons.load()
    from tensorflow_addons.text.crf_wrapper import CRFModelWrapper

    letters = {"<PAD>": 0, "<UNK>": 1, **{c: i for i, c in enumerate("0189abeinPRrswx", start=2)}}
    words = tf_keras.Input((None, DIM), name="word_input")
    characters = tf_keras.Input((None, CHARACTERS), dtype="int32", name="char_input")
    length = tf_keras.Input(batch_shape=(None, 1), dtype="int32", name="length_input")
    table = layers.Embedding(len(letters), CHARACTER_DIM, mask_zero=True, name="char_embeddings")
    x = layers.TimeDistributed(table)(characters)
    x = layers.TimeDistributed(layers.Bidirectional(layers.LSTM(CHARACTER_UNITS)))(x)
    x = layers.Dropout(0.5)(layers.Concatenate()([words, x]))
    x = layers.Bidirectional(layers.LSTM(WORD_UNITS, return_sequences=True, recurrent_dropout=0.3))(x)
    x = layers.Dense(WORD_UNITS, activation="tanh")(layers.Dropout(0.5)(x))
    model = CRFModelWrapper(tf_keras.Model([words, characters, length], x), len(LABELS))

    rng = np.random.default_rng(0)
    vectors = dict(zip(WORDS, rng.normal(size=(len(WORDS), DIM)).astype("float32")))
    time = max(map(len, SENTENCES))
    x_words, x_characters = (
        np.zeros((len(SENTENCES), time, DIM), "float32"),
        np.zeros((len(SENTENCES), time, CHARACTERS)),
    )
    for i, tokens in enumerate(SENTENCES):
        for j, token in enumerate(tokens):
            x_words[i, j] = vectors.get(re.sub("[0-9]", "0", token), np.zeros(DIM))
            ids = [letters.get(c, 1) for c in token[:CHARACTERS]]
            x_characters[i, j, : len(ids)] = ids
    inputs = [x_words, x_characters.astype("int32"), np.array([[len(tokens)] for tokens in SENTENCES])]
    model(inputs)
    model.set_weights([rng.normal(0, 0.7, weight.shape) for weight in model.get_weights()])
    labels, potentials, _, transitions = model.crf_layer(model.base_model(inputs))

    folder = Path(sys.argv[1])
    model.save_weights(str(folder / "model_weights.hdf5"))
    config = {
        "architecture": "BidLSTM_CRF",
        "word_embedding_size": DIM,
        "char_embedding_size": CHARACTER_DIM,
        "num_char_lstm_units": CHARACTER_UNITS,
        "num_word_lstm_units": WORD_UNITS,
        "max_char_length": CHARACTERS,
        "char_vocab_size": len(letters),
        "dropout": 0.5,
        "recurrent_dropout": 0.3,
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    tags = {label: i for i, label in enumerate(LABELS)}
    stored = {"vocab_char": letters, "vocab_tag": tags, "max_char_length": CHARACTERS}
    (folder / "preprocessor.json").write_text(json.dumps(stored), encoding="utf-8")
    lines = (f"{word} {' '.join(map(str, vector))}\n" for word, vector in vectors.items())
    (folder / "vectors.txt").write_text("".join(lines), encoding="utf-8")
    np.savez(folder / "found.npz", labels=labels, potentials=potentials, transitions=transitions)


if __name__ == "__main__":
    main()
