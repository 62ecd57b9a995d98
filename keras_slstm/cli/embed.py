"""Options of `keras-slstm embed`."""

from __future__ import annotations

import argparse
from pathlib import Path

from keras_slstm.cli import match, options
from keras_slstm.cli.names import TRANSFER_CLASSIFIERS, TRANSFER_TASKS
from keras_slstm.cli.options import Parser, check_file, check_not_given
from keras_slstm.cli.training_options import add_run_options

SUMMARY = "Compute sentence vectors: train an encoder on pairs and test it on ten tasks, or write vectors to a file."
EXAMPLES = """
  keras-slstm embed --vectors glove.840B.300d.txt --manual-dir PATH          InferSent with SuBiLSTM, as in its paper
  keras-slstm embed --encoder bilstm --units 256 --dataset snli/subset --tasks MR TREC MRPC SICK-R --folds 5
  keras-slstm embed --model runs/snli-full-subilstm-infersent/model.keras --classifier mlp
  keras-slstm embed --model runs/travel_desk-slstm/model.keras --file texts.txt --write vectors.npy

The tasks are MR, CR, SUBJ, MPQA, SST, TREC, MRPC, SICK-R, SICK-E and STS-B, as in SentEval. A classifier is trained on
the frozen vectors; tasks without files are skipped. Run the same command again to resume an interrupted run.
"""
DATASET = "snli/full"
# The options that have an effect when vectors are written, and when a trained model is tested.
WRITING = ("model", "file", "write")
TESTING = ("model", "tasks", "classifier", "folds", "task_limit", "seed", "results", "overwrite",
           "manual_dir", "data_dir")  # fmt: skip


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    transfer = parser.group("sentence vectors")
    transfer.add("--model", metavar="FILE", shown="PATH",
                 help="use this .keras file of classify or match instead of training a model")  # fmt: skip
    transfer.add("--file", metavar="FILE", shown="PATH", help="with --model: file of texts, one per line")
    transfer.add("--write", metavar="FILE", shown="PATH", type=Path, help="with --file: .npy file for the vectors")
    transfer.add("--tasks", nargs="+", default=list(TRANSFER_TASKS), choices=TRANSFER_TASKS, metavar="TASK",
                 help=f"tasks to test the vectors on: {', '.join(TRANSFER_TASKS)} (default: all)")  # fmt: skip
    transfer.add("--classifier", default="logistic", choices=TRANSFER_CLASSIFIERS, advanced=True,
                 help="classifier to train on the vectors")  # fmt: skip
    transfer.add("--folds", type=options.at_least_two, default=10, metavar="N", advanced=True,
                 help="number of folds in each cross-validation")  # fmt: skip
    transfer.add("--task-limit", type=options.positive_int, metavar="N", advanced=True,
                 help="use at most N training examples of each task (default: all)")  # fmt: skip
    match.add_pair_options(parser, DATASET, "subilstm", visible=())
    parser.set_defaults(stream=False)
    add_run_options(parser, "runs/DATA-ENCODER-ARCHITECTURE", devices=False)
    parser.hide("data", "test_data", "task", "overwrite")


def check(arguments: argparse.Namespace) -> None:
    """Raise ValueError for contradictory options; set the defaults that depend on other options."""
    if (arguments.file is None) != (arguments.write is None) or (arguments.file and not arguments.model):
        raise ValueError("use --file and --write together, and with --model")
    if arguments.write is not None and arguments.write.suffix != ".npy":
        raise ValueError(f"--write: expected a name that ends in .npy, but got {arguments.write}")
    if arguments.write is not None:
        others = [name for name in vars(arguments) if name not in WRITING]
        check_not_given(arguments, others, "has no effect with --write, which only reads a model: remove it")
        check_file(arguments.file, "--file")
    elif arguments.model:
        others = [name for name in vars(arguments) if name not in TESTING]
        check_not_given(arguments, others, "is for training, but --model is trained already: remove one of them")
    if len(arguments.seed) > 1 or arguments.variants or len(arguments.dataset or []) > 1:
        raise ValueError("embed trains a single model: use one --seed, one --dataset and no --variants")
    if arguments.architecture == "esim":
        raise ValueError("--architecture esim has no sentence vectors, because it compares words")
    if arguments.model:
        arguments.results = arguments.results or Path(arguments.model).parent.parent / "results.jsonl"
    else:
        arguments.architecture = arguments.architecture or "infersent"
        match.check(arguments, DATASET)


def run(arguments: argparse.Namespace) -> int:
    """Train, test, or write vectors."""
    check(arguments)
    from keras_slstm.cli.tasks.embed import embed

    return embed(arguments)
