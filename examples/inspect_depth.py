"""Train a depth-adaptive GRN, and see how many layers each word goes through.

    python examples/inspect_depth.py

The encoder chooses a depth for each word, here between 1 and 6 layers. The script prints the depths of two sentences
and the mean depths of frequent words, and plots depth per word as in Figure 4 of the paper (Liu et al., 2020).
"""

import argparse
import os
from collections import defaultdict
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras_slstm  # isort: skip  (before Keras, so that it applies TensorFlow's log level)

import keras
import numpy as np

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--output", type=Path, default=Path("runs/travel_desk-depths"), help="folder of model and plots")
args = parser.parse_args()

# Data and model, as in classify_text.py.
corpus = keras_slstm.datasets.load_corpus("travel_desk")
keras.utils.set_random_seed(0)
model = keras_slstm.SentenceClassifier(
    corpus.label_names,
    encoder="depth_adaptive_grn",
    units=64,
    encoder_options={"max_depth": 6},
    embedding_dim=64,
    dropout=0.1,
)
model.adapt(corpus.train.texts)
batches = model.batches(corpus.train.texts, corpus.train.labels, batch_size=32, seed=0)
rate = keras.optimizers.schedules.ExponentialDecay(3e-3, len(batches), 0.9, staircase=True)
# XLA would compile once per sentence length, which takes longer than this training. JAX requires it.
compiled = keras.backend.backend() == "jax"
model.compile(keras.optimizers.Adam(rate, global_clipnorm=5.0), jit_compile=compiled)
validation = (corpus.validation.texts, corpus.validation.labels)
model.fit(batches, validation_data=validation, epochs=args.epochs, verbose=2)
_, accuracy = model.evaluate(corpus.test.texts, corpus.test.labels, verbose=0)
print(f"Test accuracy: {accuracy:.3f}")

args.output.mkdir(parents=True, exist_ok=True)
path = args.output / "model.keras"
model.save(path)
print(f"Saved {path}")

# Depths of the words in the test split.
read = keras_slstm.models.read_depths(model, corpus.test.texts)
counts = keras_slstm.models.DepthCounts(6)
of_word = defaultdict(list)
for sentence in read:
    counts.add(sentence.depths)
    for word, depth in zip(sentence.words, sentence.depths):
        of_word[word].append(depth)
print(f"\nMean depth of {counts.words:,} words: {counts.mean:.2f} of 6")
for depth, count in enumerate(counts.counts, start=1):
    share = count / max(counts.words, 1)
    print(f"  {depth}  {100 * share:5.1f}%  {'#' * round(40 * share)}")
means = sorted((np.mean(depths), word) for word, depths in of_word.items() if len(depths) >= 50)
print("Shallow words:", ", ".join(f"{word} {mean:.1f}" for mean, word in means[:8]))
print("Deep words:   ", ", ".join(f"{word} {mean:.1f}" for mean, word in means[:-9:-1]))

# Handwritten sentences.
sentences = [
    "Could you please book me a flight from Oslo to Rome on Friday?",
    "Cancel the hotel in Paris, but leave my flight as it is.",
]
shown = keras_slstm.models.read_depths(model, sentences)
for label, sentence in zip(model.classify(sentences), shown):
    print(f"\n{label}: " + " ".join(f"{word}/{depth}" for word, depth in zip(sentence.words, sentence.depths)))
keras_slstm.plots.word_depths(shown, 6, args.output / "depths.png")
keras_slstm.plots.depth_histogram(counts.counts, args.output / "histogram.png")
print(f"\nDrew {args.output / 'depths.png'} and {args.output / 'histogram.png'}")
