"""Train a model of classify_text.py on several devices or machines; one script for one process and for many.

All options of classify_text.py, and `--strategy`, of which `auto` takes what there is: several processes, several
GPUs, one, none. `--batch-size` counts the sentences of all of them together. On one machine, in one process, and in
two that are started for trying it out (as often again as one of them fails):

    python examples/train_distributed.py --dataset travel_desk
    python -m keras_slstm.distribute --workers 2 --restarts 3 examples/train_distributed.py --save-every 20

On several machines start the same command on each, with TF_CONFIG, under Slurm, or in Kubernetes:

    sbatch examples/cluster/slurm.sh --dataset sst/phrases_2 --vectors glove.840B.300d.txt
    kubectl apply -f examples/cluster/kubernetes.yaml

`--output` must be a folder that all machines see. The first process writes there and prints; a training in which a
process died goes on, after the last epoch or `--save-every` steps, when all are started again.
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # TensorFlow is talkative

import classify_text
from _classification import Job, Results, run_script, train_jobs
from _common import command, fail

from keras_slstm import distribute
from keras_slstm.distribute.strategies import NAMES
from keras_slstm.text.word_vectors import WordVectors


def main() -> int:
    """Train; the exit status."""
    args = classify_text.parse_arguments(make_parser())
    try:
        # First of all: TensorFlow and JAX connect their processes before they touch a device.
        strategy = distribute.strategy(args.strategy, args.timeout)
    except ValueError as error:
        return fail(error)
    if not distribute.is_chief():
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (until the end)
    try:
        return run_script(args, functools.partial(train_all, strategy), classify_text.predict, classify_text.MODELS)
    except distribute.WorkerLost as error:
        return fail(error, status=3)


def train_all(strategy: Any, args: argparse.Namespace) -> int:
    """Train once for each data set, fold, variant and seed, where the strategy says."""

    def train(args: argparse.Namespace, job: Job, vectors: WordVectors | None) -> Results:
        with strategy.scope():
            return classify_text.train(args, job, vectors)

    # As `classify_text.train` writes it: the same training, on other machines.
    given = command("classify_text.py", classify_text.make_parser(), args)
    return train_jobs(args, classify_text.plan, lambda part: part.texts, train, given)


def make_parser() -> argparse.ArgumentParser:
    """The options of classify_text.py and those of a training on several devices."""
    parser = classify_text.make_parser()
    parser.description = __doc__
    group = parser.add_argument_group("devices")
    group.add_argument("--strategy", choices=NAMES, default="auto", help="where to train (default: what there is)")
    group.add_argument("--save-every", type=int, metavar="STEPS", help="write the state not only after epochs")
    group.add_argument(
        "--timeout", type=float, default=600.0, metavar="SECONDS", help="to wait for another process (default: 600)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
