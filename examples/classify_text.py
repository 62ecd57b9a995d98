"""Train a sentence classifier, test it, save it, and use it.

    python examples/classify_text.py

The data are requests to a travel desk, which the package generates: 8,000 to train, 1,000 to choose the best epoch and
1,000 to test. Each asks for one of twelve things, and most also mention a second thing in similar words, so single
words do not reveal the intent.

To train on your own texts, pass a .tsv, .csv or .jsonl file with the columns `text` and `label`:

    python examples/classify_text.py --data mails.tsv --output runs/mails

If you interrupt the training and repeat the command, it continues after the last finished epoch.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras_slstm  # isort: skip  (before Keras, so that it applies TensorFlow's log level)

import keras
import numpy as np

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--data", default="travel_desk", help="a file of your own, or the name of a data set")
parser.add_argument("--encoder", default="slstm", help="bilstm, caslstm, subilstm, depth_adaptive_grn, ...")
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--output", type=Path, help="folder of the run (default: runs/DATA-ENCODER)")
args = parser.parse_args()
output = args.output or Path("runs", f"{Path(args.data).stem}-{args.encoder}")

# Data: lists of texts and labels in three splits. A file is split at random.
try:
    corpus = keras_slstm.datasets.load_corpus(args.data)
except (ValueError, OSError) as error:
    parser.error(str(error))
sizes = f"{len(corpus.train):,} to train, {len(corpus.validation):,} to choose the epoch, {len(corpus.test):,} to test"
print(f"{corpus.name}: {sizes}; {len(corpus.label_names)} labels")

# Model: word vectors, the encoder and a softmax. `adapt` builds the vocabulary.
settings: dict = {"encoder": args.encoder, "units": 48, "embedding_dim": 64, "dropout": 0.1, "word_dropout": 0.02}
if args.encoder == "slstm":
    settings["encoder_options"] = {"steps": 8, "window": 3}
keras.utils.set_random_seed(0)
model = keras_slstm.SentenceClassifier(corpus.label_names, **settings)
model.adapt(corpus.train.texts)
print(f"{args.encoder}: {model.count_params():,} parameters, {model.vectorizer.vocabulary_size:,} words")

# Training: batches contain sentences of similar length; the learning rate falls linearly to zero.
# XLA compiles once per length, which would take longer than this training. JAX requires it, so it gets few lengths.
compiled = keras.backend.backend() == "jax"
lengths: dict = {} if compiled else {"multiple_of": 1, "max_lengths": None}
batches = model.batches(corpus.train.texts, corpus.train.labels, batch_size=16, seed=0, **lengths)
rate = keras.optimizers.schedules.PolynomialDecay(6e-3, args.epochs * len(batches), end_learning_rate=0.0)
# Muon for the recurrent kernels of the S-LSTM, Adam for all other weights.
optimizer = keras_slstm.training.RecurrentMuon(rate, global_clipnorm=3.0)
model.compile(optimizer, jit_compile=compiled)
try:
    run = keras_slstm.training.TrainingRun(output, {**settings, "data": args.data})
except (ValueError, OSError) as error:
    parser.exit(1, f"{error}\n")
validation = (corpus.validation.texts, corpus.validation.labels)
run.fit(model, batches, validation_data=validation, epochs=args.epochs, patience=3, verbose=2)
run.save(model)
print(f"The best epoch was {run.best_epoch}. Saved {run.model_path}")

# Test: `predict` returns probabilities in the order of the labels; `classify`, below, returns label names.
found = model.predict(corpus.test.texts, verbose=0).argmax(axis=-1)
wanted = [corpus.label_names.index(label) for label in corpus.test.labels]
print(f"Test accuracy: {np.mean(found == wanted):.3f}")
counts = np.zeros((len(corpus.label_names), len(corpus.label_names)), int)
np.add.at(counts, (wanted, found), 1)
keras_slstm.plots.confusion_matrix(counts, corpus.label_names, output / "confusion.png")

# Use: another program needs only these lines.
model = keras.saving.load_model(run.model_path)
sentences = corpus.test.texts[:3]
if corpus.name == "travel_desk":
    sentences = [
        "Could you please book me a flight from Oslo to Rome on Friday?",
        "Cancel the hotel in Paris, but leave my flight as it is.",
        "We do not want to cancel the car, we want to change it.",
    ]
labels, probabilities = model.classify(sentences, return_probabilities=True)
for label, row, sentence in zip(labels, probabilities, sentences):
    print(f"{label:16} {row.max():.2f}  {sentence}")
