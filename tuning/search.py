"""Search for the best settings of two encoders, one of them your own, and test the winner (extra: `tuner`).

    python tuning/search.py

The data are requests to a travel desk, which the package generates. Each trial trains a classifier on some of them,
with an S-LSTM or with the bidirectional GRU that this file registers. keras-tuner chooses the settings of the trials;
the package runs each training in a separate process.

If you interrupt the search and repeat the command, it continues. More trials extend a finished search:

    python tuning/search.py --trials 12

To search without writing Python, see `keras-slstm search --help`.
"""

import argparse
import dataclasses
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras_slstm  # isort: skip  (before Keras, so that it applies TensorFlow's log level)
import keras_slstm.tuning  # isort: skip

import keras

TEXTS = ["Could you book me a flight from Oslo to Rome?", "We do not want to cancel the car, we want to change it."]


def gru(units, return_sequences, **options):
    """Build an encoder: a layer that maps word vectors to word vectors, or to one vector."""
    return keras.layers.Bidirectional(keras.layers.GRU(units, return_sequences=return_sequences, **options))


def gru_space(hp):
    """Declare the hyperparameters of this encoder, and return its options."""
    return {"recurrent_dropout": hp.Float("recurrent_dropout", 0.0, 0.4, step=0.2, default=0.0)}


# Each training runs in a new process that imports this file, so the registrations are at its top level.
keras_slstm.models.register_encoder("gru", gru)
keras_slstm.tuning.register_space("gru", gru_space)


def main():
    """Search, test the winner, and use it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=5, help="maximum number of epochs per training")
    parser.add_argument("--texts", type=int, default=3000, help="number of training texts, out of 8,000")
    parser.add_argument("--output", type=Path, default=Path("runs", "tuning"), help="folder of the search")
    args = parser.parse_args()

    # Data: only some of the training texts, so that trials are short.
    corpus = keras_slstm.datasets.load_corpus("travel_desk")
    if not 1 <= args.texts <= len(corpus.train):
        parser.error(f"--texts must be from 1 to {len(corpus.train):,}, but got {args.texts}")
    corpus = dataclasses.replace(corpus, train=corpus.train.take(range(args.texts)))

    # Space: all settings of a classifier, some with fewer values than the package's default space.
    values = {
        "units": [32, 64],
        "embedding_dim": [64],
        "mlp_layers": [0],
        "dropout": [0.1, 0.3],
        "word_dropout": [0.02],
        "l2": [0.0],
        "batch_size": [32],
        "learning_rate": [4e-3, 8e-3],
        "decay": [0.9],
        "slstm/steps": [4, 6],
        "slstm/window": [1, 3],
    }
    hypermodel = keras_slstm.tuning.ClassificationHyperModel(corpus, ["slstm", "gru"], values=values)

    # Search: the first trial uses the defaults, the others the most promising settings.
    try:
        search = keras_slstm.tuning.Search(
            hypermodel,
            args.output,
            "bayesian",
            max_trials=args.trials,
            epochs=args.epochs,
            resume=(args.output / "search.json").exists(),
        )
    except (ValueError, OSError) as error:
        parser.error(str(error))
    search.search()

    # Trials: print the records from best to worst.
    trials = [trial for trial in keras_slstm.tuning.read_trials(args.output) if "score" in trial]
    print(f"\n{'trial':>5} {'development':>12} {'encoder':>8} {'units':>6} {'rate':>7} {'parameters':>11}")
    for trial in sorted(trials, key=lambda trial: -trial["score"]):
        settings = trial["settings"]
        print(
            f"{trial['trial']:>5} {trial['score']:12.4f} {settings['encoder']:>8} {settings['units']:6} "
            f"{settings['learning_rate']:7.4f} {trial['parameters']:11,}"
        )

    # Test: train the best settings and the defaults again with one seed, and evaluate both on unseen texts.
    found = keras_slstm.tuning.confirm(search, corpus.test, number=1)
    for each in found["configurations"]:
        print(f"{each['name']}: test accuracy {each['test'][0]:.4f}")

    # Use: the best model is in the folder of the search.
    model = keras.saving.load_model(args.output / "best.keras")
    for label, text in zip(model.classify(TEXTS), TEXTS):
        print(f"{label}\t{text}")
    print(f"Saved {args.output / 'best.keras'}; pictures: keras-slstm search --report {args.output}")


if __name__ == "__main__":
    main()
