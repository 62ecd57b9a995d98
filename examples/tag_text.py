"""Train a sequence tagger with a CRF, test it, save it, and use it.

    python examples/tag_text.py

The package generates the data: requests to a travel desk in which each word has a BIOES tag. The tag of a one-word city
is S-city; a longer city name begins with B-city and ends with E-city. There are twelve such span types.

To train on your own sentences, replace "travel_desk" by the path of a column file (one word and its tag per line, an
empty line after each sentence).
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras_slstm  # isort: skip  (before Keras, so that it applies TensorFlow's log level)

import keras

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--output", type=Path, default=Path("runs/travel_desk-tags"), help="folder of model and plot")
args = parser.parse_args()

# Data: lists of words and lists of tags.
corpus = keras_slstm.datasets.load_tagged_corpus("travel_desk", scheme="BIOES")
print(f"{len(corpus.train):,} sentences to train, {len(corpus.test):,} to test; {len(corpus.label_names)} tags")

# Model: vectors of words and characters, an S-LSTM, and a CRF that allows only the scheme's transitions.
keras.utils.set_random_seed(0)
model = keras_slstm.SequenceTagger(
    corpus.label_names,
    scheme="BIOES",
    encoder="slstm",
    units=64,
    encoder_options={"steps": 4},
    embedding_dim=64,
    dropout=0.2,
    word_dropout=0.05,
)
model.adapt(corpus.train.tokens)

# Training: the loss is the negative log-likelihood of the tag sequence of each sentence.
batches = model.batches(corpus.train.tokens, corpus.train.tags, batch_size=32, seed=0)
rate = keras.optimizers.schedules.ExponentialDecay(4e-3, len(batches), 0.85, staircase=True)
# XLA would compile once per sentence length, which takes longer than this training. JAX requires it.
compiled = keras.backend.backend() == "jax"
model.compile(keras.optimizers.Adam(rate, global_clipnorm=3.0), metrics=[], jit_compile=compiled)
best = keras.callbacks.EarlyStopping("val_loss", patience=2, restore_best_weights=True)
validation = (corpus.validation.tokens, corpus.validation.tags)
model.fit(batches, validation_data=validation, epochs=args.epochs, callbacks=[best], verbose=2)

# Test: a span counts as correct if its type and both boundaries are correct.
found = model.tag(corpus.test.tokens)
precision, recall, f1 = keras_slstm.text.span_scores(corpus.test.tags, found, "BIOES")
print(f"Test: precision {precision:.3f}, recall {recall:.3f}, F1 {f1:.3f}")

# The learned transition scores of the CRF, from each tag to the next.
args.output.mkdir(parents=True, exist_ok=True)
picture = args.output / "transitions.png"
keras_slstm.plots.transition_matrix(model.head_layer.chain_kernel, model.labels, picture, "BIOES")

# Use: another program needs only the last lines.
path = args.output / "model.keras"
model.save(path)
print(f"Saved {path} and {picture}")
model = keras.saving.load_model(path)
sentences = [
    "Could you please book me a flight from Oslo to Rome on Friday ?",
    "My friend Maria Rossi needs a hotel in New York for three nights .",
]
tokens = [sentence.split() for sentence in sentences]
for words, spans in zip(tokens, model.find_spans(tokens)):
    print(" ".join(words))
    for span in spans:
        print(f"  {span.type:14} {' '.join(words[span.start : span.end]):14} {span.confidence:.2f}")
