"""Train one model on several devices or machines: the same script for one process and for many.

In one process, which uses all visible GPUs, or in two processes on this machine, which restart if one of them dies:

    python examples/train_distributed.py
    python -m keras_slstm.distribute --workers 2 --restarts 3 examples/train_distributed.py

On several machines, start the script on each, by torchrun, Open MPI or Slurm, or with TF_CONFIG set;
`examples/cluster` has a Slurm script and a Kubernetes job. All machines must share the output folder. Each process
computes its part of every batch, and together they compute what one process does with the whole batch. Only the first
process prints and writes files.
"""

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras_slstm  # isort: skip  (before Keras, so that it applies TensorFlow's log level)

import keras
import numpy as np

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--data", default="travel_desk", help="a file of your own, or the name of a data set")
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--save-every", type=int, metavar="STEPS", help="also save the state within epochs")
parser.add_argument("--timeout", type=float, default=600.0, metavar="SECONDS", help="longest wait for a process")
parser.add_argument("--output", type=Path, default=Path("runs/distributed"), help="folder that all processes share")


def main(args):
    """Train, test, save and use a model; every process runs this."""
    # This comes first because the processes must connect before they use a device.
    strategy = keras_slstm.distribute.strategy("auto", args.timeout)
    chief = keras_slstm.distribute.is_chief()

    corpus = keras_slstm.datasets.load_corpus(args.data)
    settings: dict = {"encoder": "bilstm", "units": 64, "embedding_dim": 64, "dropout": 0.2}
    keras.utils.set_random_seed(0)
    with strategy.scope():
        model = keras_slstm.SentenceClassifier(corpus.label_names, **settings)
        model.adapt(corpus.train.texts)
        compiled = keras.backend.backend() == "jax"
        model.compile(keras.optimizers.Adam(2e-3, global_clipnorm=3.0), jit_compile=compiled)

    # `batch_size` counts the sentences of all processes together. The run continues where an interrupted one stopped.
    batches = model.batches(corpus.train.texts, corpus.train.labels, batch_size=64, seed=0)
    run = keras_slstm.training.TrainingRun(args.output, {**settings, "data": args.data})
    run.fit(
        model,
        batches,
        validation_data=(corpus.validation.texts, corpus.validation.labels),
        epochs=args.epochs,
        save_every=args.save_every,
        verbose=2 if chief else 0,
    )
    run.save(model)

    sentences = ["Cancel the hotel in Paris, but leave my flight as it is."]
    found = model.classify(corpus.test.texts)
    labels = model.classify(sentences)  # like every computation, all processes must call it
    if chief:
        right = np.mean([label == wanted for label, wanted in zip(found, corpus.test.labels)])
        print(f"Test accuracy: {right:.3f}. Saved {run.model_path}")
        print(f"{labels[0]}  {sentences[0]}")


if __name__ == "__main__":
    try:
        main(parser.parse_args())
    except (keras_slstm.distribute.ProcessesDiffer, OSError) as error:
        sys.exit(str(error))
    except keras_slstm.distribute.WorkerLost as error:
        print(error, file=sys.stderr)
        sys.exit(3)  # a process was lost: restart all of them to continue the training
