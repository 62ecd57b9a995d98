"""Train a sentence encoder, freeze it, and use its vectors for another task with few labels (extra: `examples`).

    python examples/transfer_sentences.py

The encoder learns to classify requests about flights and hotels (eight labels). The other task is about cars, with four
labels and a hundred training examples: a logistic regression on the frozen vectors, whose regularisation strength is
chosen by cross-validation, as in SentEval. The vectors of the untrained encoder are the baseline.

`keras_slstm.transfer.load_task` loads the ten tasks of SentEval instead of this one.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras_slstm  # isort: skip  (before Keras, so that it applies TensorFlow's log level)

import keras
import numpy as np

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--epochs", type=int, default=6)
parser.add_argument("--output", type=Path, default=Path("runs/travel_desk-vectors"), help="folder of the model")
args = parser.parse_args()


def about(part, cars, limit=None):
    """Select at most `limit` requests about cars, or about flights and hotels."""
    chosen = [i for i, label in enumerate(part.labels) if label.endswith("_car") == cars]
    return part.take(chosen[:limit])


# Data.
corpus = keras_slstm.datasets.load_corpus("travel_desk")
train, validation = about(corpus.train, cars=False), about(corpus.validation, cars=False)
task = keras_slstm.transfer.TaskData(
    keras_slstm.transfer.Task("cars", corpus.name),
    {"train": about(corpus.train, cars=True, limit=100), "test": about(corpus.test, cars=True)},
)
print(f"{len(train):,} requests about flights and hotels train the encoder; 100 about cars train the regression")

# The encoder is trained as part of a classifier. As in InferSent, its vocabulary covers all texts.
keras.utils.set_random_seed(0)
labels = [label for label in corpus.label_names if not label.endswith("_car")]
model = keras_slstm.SentenceClassifier(
    labels, encoder="bilstm", units=128, pooling="max", embedding_dim=64, dropout=0.2
)
model.adapt(corpus.train.texts)
encode = keras_slstm.models.SentenceEncoder(model)
before = keras_slstm.transfer.evaluate(encode, task)

batches = model.batches(train.texts, train.labels, batch_size=32, seed=0)
# XLA would compile once per sentence length, which takes longer than this training. JAX requires it.
compiled = keras.backend.backend() == "jax"
model.compile(keras.optimizers.Adam(2e-3, global_clipnorm=5.0), jit_compile=compiled)
best = keras.callbacks.EarlyStopping("val_accuracy", patience=2, restore_best_weights=True)
held_out = (validation.texts, validation.labels)
model.fit(batches, validation_data=held_out, epochs=args.epochs, callbacks=[best], verbose=2)

# The other task, on the vectors of the trained encoder.
after = keras_slstm.transfer.evaluate(encode, task)
print(f"Accuracy on {len(task.parts['test'])} requests about cars: {after['accuracy']:.3f}")
print(f"With the encoder before its training: {before['accuracy']:.3f}")

# Use: find the sentences that are most similar to another one.
args.output.mkdir(parents=True, exist_ok=True)
path = args.output / "model.keras"
model.save(path)
print(f"Saved {path}")
encode = keras_slstm.models.SentenceEncoder(keras.saving.load_model(path))
sentence = "I do not need the room in Oslo any more, please cancel it."
vectors = encode([sentence, *corpus.test.texts])
vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
nearest = np.argsort(-vectors[1:] @ vectors[0])[:3]
print(f"Nearest to: {sentence}")
for place in nearest:
    print(f"  {vectors[0] @ vectors[1 + place]:.2f}  {corpus.test.texts[place]}")
