"""Options of `keras-slstm search`."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from keras_slstm.cli import options
from keras_slstm.cli.names import DTYPES, STUDIES, TUNERS
from keras_slstm.cli.options import Parser, check_not_given
from keras_slstm.cli.search_workers import MEMBER, end_with_launcher, run_workers
from keras_slstm.cli.training_options import add_data_options, check_data_options, short_name

SUMMARY = "Search for good hyperparameters, keep the best model, and write a report."
EXAMPLES = """
  keras-slstm search --values units=50,100 embedding_dim=50,100 batch_size=32 --epochs 5
  keras-slstm predict runs/travel_desk-random/best.keras "I need a car"
  keras-slstm search --data mails.tsv --encoders slstm bilstm --tuner bayesian --max-trials 40 --confirm 3
  keras-slstm search --dataset trec/coarse --tuner hyperband --epochs 27 --workers 2
  keras-slstm search --task tagging --dataset conll2003 --manual-dir PATH --only --values slstm/steps=5,7,9
  keras-slstm search --study figure2 --dataset movie_review --vectors glove.6B.300d.txt --seeds 0 1 2
  keras-slstm search --report runs/travel_desk-random

Run the same command again to resume an interrupted search; raise --max-trials to extend a finished one.
"""
# The default data set and encoder of each task.
TASKS = {
    "classification": ("travel_desk", "slstm"),
    "tagging": ("travel_desk", "slstm"),
    "pairs": ("sick/entailment", "bi_caslstm"),
}
# Options of some tasks only.
TASKS_OF_OPTIONS = {"scheme": ("tagging",), "tokenizer": ("classification", "pairs"), "features": ("pairs",)}


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    data = parser.group("data")
    data.add("--task", choices=TASKS, default="classification", help="task of the models")
    add_data_options(parser, "that of the task", "as for classify, tag and match", "examples", several=False)
    data.add("--scheme", choices=("BIO", "BIOES"), advanced=True,
             help="scheme of tags for spans (default: as in the data)")  # fmt: skip
    data.add("--tokenizer", choices=("words", "whitespace"), advanced=True,
             help="how to split texts (default: whitespace for tokenised data sets, else words)")  # fmt: skip
    data.add("--cased", action="store_true", advanced=True, help="distinguish upper and lower case")
    data.add("--vectors", metavar="FILE", shown="PATH", advanced=True,
             help="word vectors in GloVe's text format (default: none)")  # fmt: skip
    data.add("--features", choices=("inference", "paraphrase"), advanced=True,
             help="how to combine the vectors of a pair (default: paraphrase for scores, else inference)")  # fmt: skip

    space = parser.group("space")
    space.add("--encoders", nargs="+", metavar="NAME",
              help="encoders to try (default: slstm; bi_caslstm for pairs)")  # fmt: skip
    space.add("--values", nargs="+", default=[], type=choice, metavar="NAME=VALUE[,...]",
              help="values to try for a hyperparameter, such as slstm/steps=5,7 or units=100")  # fmt: skip
    space.add("--only", action="store_true", advanced=True, help="keep all other hyperparameters at their defaults")
    space.add("--study", choices=STUDIES, advanced=True, help="repeat a grid search of the S-LSTM paper")
    space.add("--import", nargs="+", default=[], dest="imports", metavar="MODULE", advanced=True,
              help="Python modules that register your own encoders and search spaces")  # fmt: skip

    search = parser.group("search")
    search.add("--tuner", choices=TUNERS, help="method that chooses the trials (default: random; grid for --study)")
    search.add("--max-trials", type=options.positive_int, metavar="N",
               help="maximum number of trials (default: 20; no limit "
               "for hyperband and grid)")  # fmt: skip
    search.add("--epochs", type=options.positive_int, default=20, metavar="N", help="maximum number of epochs per run")
    search.add("--patience", type=options.non_negative_int, default=5, metavar="N", advanced=True,
               help="stop a training run after N epochs without a better development score; 0: never")  # fmt: skip
    search.add("--seeds", type=options.seed, nargs="+", default=[0], metavar="N", advanced=True,
               help="random seeds, with one training for each in every trial")  # fmt: skip
    search.add("--objective", metavar="NAME", advanced=True,
               help="metric to optimise, such as val_loss (default: accuracy, F1 or Pearson's correlation on the "
               "development part)")  # fmt: skip
    search.add("--confirm", type=options.positive_int, metavar="N",
               help="at the end, train and test both the best and the default settings N times")  # fmt: skip
    search.add("--seed", type=options.seed, default=0, metavar="N", advanced=True, help="seed for choosing trials")
    search.add("--factor", type=options.at_least_two, default=3, metavar="N", advanced=True,
               help="for hyperband: let one trial in N continue, with N times as many epochs")  # fmt: skip
    search.add("--dtype", default="float32", choices=DTYPES, advanced=True, help="precision")
    search.add("--jit-compile", action=argparse.BooleanOptionalAction, advanced=True,
               help="compile with XLA or torch.compile, once for each text length (default: only on JAX)")  # fmt: skip
    search.add("--output", type=Path, metavar="FOLDER", shown="never",
               help="folder for the search (default: runs/DATA-TUNER)")  # fmt: skip
    search.add(
        "--overwrite",
        action="store_true",
        shown="never",
        help="delete the search in --output instead of continuing it",
    )
    search.add("--report", type=Path, metavar="FOLDER", shown="never",
               help="do not search; write the report on the search in this folder")  # fmt: skip
    parser.hide("test_data", "confirm", "overwrite")

    devices = parser.group("devices")
    devices.add("--workers", type=options.positive_int, default=1, metavar="N", shown="never", advanced=True,
                help="number of processes on this machine that train trials in parallel")  # fmt: skip
    devices.add("--gpus", nargs="+", default=[], metavar="GPU", shown="never", advanced=True,
                help="GPUs to distribute among the workers, such as 0 1 (default: every worker sees all)")  # fmt: skip
    devices.add("--strategy", choices=("mirrored",), shown="never", advanced=True,
                help="mirrored: each training uses all GPUs of its machine (default: one device)")  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Search, or report on a search."""
    if arguments.report:
        others = [name for name in vars(arguments) if name not in ("report", "imports")]
        check_not_given(arguments, [*others, "import"], "cannot be combined with --report, which only reads a search")
        from keras_slstm.cli.tasks.search_report import report

        return report(arguments.report)
    end_with_launcher()
    set_defaults(arguments)
    if arguments.workers > 1:
        status = run_workers(worker_words(arguments), arguments.workers, arguments.gpus)
        if status:
            return status
        arguments.overwrite = False  # the search has just ended: only read it from here on
    from keras_slstm.cli.tasks.search import search

    return search(arguments)


def set_defaults(arguments: argparse.Namespace) -> None:
    """Set the defaults that depend on other options; raise ValueError for contradictory options."""
    dataset, arguments.default_encoder = TASKS[arguments.task]
    for name, tasks in TASKS_OF_OPTIONS.items():
        if arguments.task not in tasks:
            check_not_given(arguments, [name], f"belongs to --task {' and '.join(tasks)}, not {arguments.task}")
    check_data_options(arguments, dataset)
    if arguments.study and arguments.tuner not in (None, "grid"):
        raise ValueError(f"--study needs --tuner grid, not {arguments.tuner}")
    if MEMBER in os.environ:
        for name, given in (("confirm", arguments.confirm), ("workers", arguments.workers > 1)):
            if given:
                raise ValueError(f"--{name} starts its own processes: unset {MEMBER}")
    if arguments.gpus and arguments.workers < 2:
        raise ValueError(f"--gpus needs --workers of at least 2, but got {arguments.workers}")
    arguments.tuner = arguments.tuner or ("grid" if arguments.study else "random")
    if arguments.tuner != "hyperband":
        check_not_given(arguments, ["factor"], f"belongs to --tuner hyperband, not {arguments.tuner}")
    if arguments.max_trials is None and arguments.tuner in ("random", "bayesian"):
        arguments.max_trials = 20
    if arguments.output is None:
        source = short_name(arguments.data or arguments.dataset[0])
        arguments.output = Path("runs", f"{source}-{arguments.study or arguments.tuner}")


def worker_words(arguments: argparse.Namespace) -> list[str]:
    """The command of each process of a search, without the options that start processes."""
    words, skipping = [], False
    for word in arguments.words:
        if word.startswith("--"):
            skipping = word.partition("=")[0] in ("--workers", "--gpus", "--confirm")
        if not skipping:
            words.append(word)
    return words


def choice(text: str) -> tuple[str, list[Any]]:
    """Parse `slstm/steps=5,7` as a name and its values, which are JSON or strings."""
    name, equals, values = text.partition("=")
    if not name or not equals or not values:
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE[,VALUE...], but got {text!r}")
    return name, [_value(value) for value in values.split(",")]


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
