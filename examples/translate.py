"""Train a translation model, test it, save it, and use it (extra: `translation`).

    python examples/translate.py

The package generates the data: short English notes about appointments, journeys and payments, and their German
translations. Dates, times and amounts are words in English and figures in German, and German moves the verb to the end
of a subordinate clause. Encoder and decoder are stacks of CAS-LSTMs; the decoder attends to the source. Six epochs take
minutes.

For your own texts, pass two files with one sentence per line: `load_parallel_corpus(("train.en", "train.de"))`.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras_slstm  # isort: skip  (before Keras, so that it applies TensorFlow's log level)

import keras

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--epochs", type=int, default=6)
parser.add_argument("--output", type=Path, default=Path("runs/office_notes"), help="folder of the model")
args = parser.parse_args()

# Data: lists of texts and their translations.
corpus = keras_slstm.datasets.load_parallel_corpus("office_notes/to_figures")
print(f"{len(corpus.train):,} notes to train, {len(corpus.test):,} to test. For example:")
print(f"  {corpus.train.sources[0]}\n  {corpus.train.targets[0]}")

# Model: both languages share 800 subwords, so no word is unknown.
keras.utils.set_random_seed(0)
model = keras_slstm.Seq2Seq(
    cell="caslstm",  # or "lstm"
    units=64,
    num_layers=2,
    bidirectional=True,
    embedding_dim=64,
    dropout=0.0,
    vectorizer={"max_tokens": 800},
)
model.adapt([*corpus.train.sources, *corpus.train.targets])
print(f"{model.count_params():,} parameters, {model.vectorizer.vocabulary_size} subwords")

# Training: the model predicts the next subword, given the source and the previous subwords.
batches = model.batches(corpus.train.sources, corpus.train.targets, batch_size=32, seed=0)
rate = keras.optimizers.schedules.ExponentialDecay(1e-2, len(batches), 0.95, staircase=True)
# XLA would compile once per sentence length, which takes longer than this training. JAX requires it.
compiled = keras.backend.backend() == "jax"
model.compile(keras.optimizers.Adam(rate, global_clipnorm=1.0), jit_compile=compiled)
best = keras.callbacks.EarlyStopping("val_loss", patience=3, restore_best_weights=True)
validation = (corpus.validation.sources, corpus.validation.targets)
model.fit(batches, validation_data=validation, epochs=args.epochs, callbacks=[best], verbose=2)

# Test: BLEU and the share of exact translations, with beam size 5.
found = model.translate(corpus.test.sources, beam=5, batch_size=64)
scores = keras_slstm.models.score_translations(found, corpus.test.targets)
print(f"Test: BLEU {scores.bleu:.1f}, {100 * scores.exact:.1f}% exactly right")

# Use: another program needs only the last lines.
args.output.mkdir(parents=True, exist_ok=True)
path = args.output / "model.keras"
model.save(path)
print(f"Saved {path}")
model = keras.saving.load_model(path)
notes = [
    "The course on the third of May lasts two and a half hours.",
    "If Mr Keller paid two hundred and twelve euros on January the first, please call us.",
]
for note, translation in zip(notes, model.translate(notes, beam=5)):
    print(f"{note}\n  {translation}")
