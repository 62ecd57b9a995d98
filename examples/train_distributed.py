"""Train a model of classify_text.py on several devices or machines: one script for one process and for many.

Takes all options of classify_text.py. `--strategy auto` uses what it finds: several processes, several GPUs, one GPU or
the CPU. `--batch-size` counts the sentences of all processes together. On one machine, train in one process, or try
two, which are started again up to three times if one of them fails:

    python examples/train_distributed.py --dataset travel_desk
    python -m keras_slstm.distribute --workers 2 --restarts 3 examples/train_distributed.py --save-every 20

On several machines, start the same command on each: with TF_CONFIG, under Slurm, or in Kubernetes:

    sbatch examples/cluster/slurm.sh --dataset sst/phrases_2 --vectors glove.840B.300d.txt
    kubectl apply -f examples/cluster/kubernetes.yaml

`--output` must be a folder that all machines share. The first process writes and prints. If a process dies, start all
of them again: the training resumes after the last finished epoch, or the last `--save-every` steps.
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # silences TensorFlow's information messages

import classify_text
from _classification import Job, Results, run_script, train_jobs
from _common import FILE_OPTIONS, command, fail

from keras_slstm import distribute
from keras_slstm.distribute.strategies import NAMES, TIMEOUT
from keras_slstm.text.word_vectors import WordVectors

# Options that may differ between machines.
OWN_OPTIONS = {*FILE_OPTIONS, "data_dir", "output", "results", "timeout"}


def main() -> int:
    """Train, and return the exit status: 2 for a wrong option, 3 if another process is lost."""
    args = classify_text.parse_arguments(make_parser())
    try:
        # TensorFlow and JAX must connect their processes before they touch a device.
        strategy = distribute.strategy(args.strategy, args.timeout)
        options = {name: value for name, value in vars(args).items() if name not in OWN_OPTIONS}
        distribute.check_equal({"option": options}, "options")
    except ValueError as error:
        return fail(error)
    except distribute.WorkerLost as error:
        return fail(error, status=3)
    if not distribute.is_chief():
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (open until the process ends)
    try:
        return run_script(args, functools.partial(train_all, strategy), classify_text.predict, classify_text.MODELS)
    except distribute.ProcessesDiffer as error:
        return fail(error)
    except distribute.WorkerLost as error:
        return fail(error, status=3)


def train_all(strategy: Any, args: argparse.Namespace) -> int:
    """Train a model for each data set, fold, variant and seed, in the scope of the strategy."""

    def train(args: argparse.Namespace, job: Job, vectors: WordVectors | None) -> Results:
        with strategy.scope():
            return classify_text.train(args, job, vectors)

    # The results name classify_text.py: it trains the same model on one device.
    given = command("classify_text.py", classify_text.make_parser(), args)
    return train_jobs(args, classify_text.plan, lambda part: part.texts, train, given)


def make_parser() -> argparse.ArgumentParser:
    """Add the options of distributed training to those of classify_text.py."""
    parser = classify_text.make_parser()
    parser.description = __doc__
    group = parser.add_argument_group("devices")
    group.add_argument("--strategy", choices=NAMES, default="auto", help="where to train (default: auto)")
    group.add_argument("--save-every", type=int, metavar="STEPS", help="save the state after so many steps, too")
    group.add_argument(
        "--timeout",
        type=float,
        default=TIMEOUT,
        metavar="SECONDS",
        help=f"give up a process that does not connect or answer for so long (default: {TIMEOUT:g})",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
