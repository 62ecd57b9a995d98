"""Train a classifier of sentence pairs, test it, save it, and use it.

    python examples/match_sentences.py

Do two requests to a travel desk ask for the same thing? One encoder reads both sentences, and a small network compares
the two vectors, as in natural language inference and in duplicate question detection. The package generates the
requests; this script pairs them.

For your own pairs, `keras_slstm.datasets.load_pair_corpus` reads files with the columns `text_a`, `text_b` and `label`.
"""

import argparse
import os
import random
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras_slstm  # isort: skip  (before Keras, so that it applies TensorFlow's log level)

import keras

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--epochs", type=int, default=8)
parser.add_argument("--output", type=Path, default=Path("runs/travel_desk-pairs"), help="folder of the model")
args = parser.parse_args()


def make_pairs(texts, intents, count, seed):
    """Draw pairs of requests, about half of which ask for the same thing, and return them with their labels."""
    draw = random.Random(seed)
    by_intent = {intent: [t for t, i in zip(texts, intents) if i == intent] for intent in sorted(set(intents))}
    pairs, labels = [], []
    for _ in range(count):
        first, second = draw.sample(list(by_intent), 2)
        label = draw.choice(["same", "different"])
        pairs.append((draw.choice(by_intent[first]), draw.choice(by_intent[first if label == "same" else second])))
        labels.append(label)
    return pairs, labels


# Data: no request of the test split occurs in the training split.
corpus = keras_slstm.datasets.load_corpus("travel_desk")
train, train_labels = make_pairs(corpus.train.texts, corpus.train.labels, len(corpus.train), seed=0)
validation = make_pairs(corpus.validation.texts, corpus.validation.labels, len(corpus.validation), seed=1)
test, test_labels = make_pairs(corpus.test.texts, corpus.test.labels, len(corpus.test), seed=2)
print(f"{len(train):,} pairs to train, {len(test):,} to test. For example, {train_labels[0]}:")
print(f"  {train[0][0]}\n  {train[0][1]}")

# Model: the features "paraphrase", |s1 - s2| and s1 * s2, do not depend on the order of the two sentences.
keras.utils.set_random_seed(0)
model = keras_slstm.SentencePairClassifier(
    ["different", "same"],
    encoder="bilstm",
    units=64,
    embedding_dim=64,
    pooling="max",
    features="paraphrase",
    mlp_units=(64,),
    mlp_dropout=0.1,
    mlp_batch_norm=False,
    dropout=0.1,
    trainable_embeddings=True,
)
model.adapt(train)

# Training.
batches = model.batches(train, train_labels, batch_size=32, seed=0)
# XLA would compile once per sentence length, which takes longer than this training. JAX requires it.
compiled = keras.backend.backend() == "jax"
model.compile(keras.optimizers.Adam(2e-3, global_clipnorm=5.0), jit_compile=compiled)
best = keras.callbacks.EarlyStopping("val_accuracy", patience=2, restore_best_weights=True)
model.fit(batches, validation_data=validation, epochs=args.epochs, callbacks=[best], verbose=2)
_, accuracy = model.evaluate(test, test_labels, verbose=0)
print(f"Test accuracy: {accuracy:.3f}")

# Use: another program needs only the last lines.
args.output.mkdir(parents=True, exist_ok=True)
path = args.output / "model.keras"
model.save(path)
print(f"Saved {path}")
model = keras.saving.load_model(path)
pairs = [
    ("Cancel the hotel in Paris, but leave my flight as it is.", "I do not need the room in Oslo, please call it off."),
    ("Cancel the hotel in Paris, but leave my flight as it is.", "Please change my flight to Oslo."),
]
labels, probabilities = model.classify(pairs, return_probabilities=True)
for label, row, (first, second) in zip(labels, probabilities, pairs):
    print(f"{label:10} {row.max():.2f}  {first} | {second}")
