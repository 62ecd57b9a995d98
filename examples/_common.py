"""Shared code of the scripts: options, messages, and the results of a training."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import shlex
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, NoReturn

from keras_slstm.distribute import is_chief
from keras_slstm.files import read_json, write_json
from keras_slstm.text.word_vectors import WordVectors
from keras_slstm.training.results import append_result
from keras_slstm.training.run_folder import RunFolder
from keras_slstm.training.training_run import TrainingRun

# Errors that a script reports in one line; a loss that is no number is an ArithmeticError.
FAILURES = (ValueError, OSError, ArithmeticError)
# Options that name places on one machine: `command` shows PATH, or leaves them out.
FILE_OPTIONS = (
    "data", "dev_data", "test_data", "manual_dir", "vectors",
    "source_file", "target_file", "validation_source", "validation_target", "test_source", "test_target",
)  # fmt: skip
LEFT_OUT = ("output", "results", "data_dir", "overwrite", "seed", "strategy", "timeout", "save_every")

# The numbers that options take.
_COUNT, _POSITIVE, _SHARE = "an integer of at least 1", "a number above 0", "in [0, 1)"
_IN_RANGE: dict[str, Callable[[float], bool]] = {
    _COUNT: lambda value: value >= 1,
    "an integer of at least 2": lambda value: value >= 2,
    "at least 0": lambda value: 0 <= value < math.inf,
    _POSITIVE: lambda value: 0 < value < math.inf,
    _SHARE: lambda value: 0 <= value < 1,
    "above 0, and at most 1": lambda value: 0 < value <= 1,
    "between 0 and 4294967295": lambda value: 0 <= value < 2**32,
}
RANGES = {
    **dict.fromkeys(("units", "embedding_dim", "mlp_layers", "num_layers", "subwords", "longest"), _COUNT),
    **dict.fromkeys(("batch_size", "epochs", "patience", "limit", "max_length", "beam", "save_every"), _COUNT),
    "folds": "an integer of at least 2",
    **dict.fromkeys(("mlp_units", "plateau", "l2", "weight_decay", "length_penalty"), "at least 0"),
    **dict.fromkeys(("learning_rate", "clip"), _POSITIVE),
    **dict.fromkeys(("dropout", "mlp_dropout", "word_dropout", "label_smoothing"), _SHARE),
    "decay": "above 0, and at most 1",
    **dict.fromkeys(("seed", "split_seed"), "between 0 and 4294967295"),
}


class Parser(argparse.ArgumentParser):
    """A parser of the command line that says in one line what is wrong."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (--help lists all options)\n")

    def parse_args(self, *given: Any, **options: Any) -> Any:
        args = super().parse_args(*given, **options)
        for name, allowed in RANGES.items():
            values = vars(args).get(name)
            for value in values if isinstance(values, list) else [values]:
                if value is not None and not _IN_RANGE[allowed](value):
                    self.error(f"--{name.replace('_', '-')} must be {allowed}, but got {value}")
        return args


def command(script: str, parser: argparse.ArgumentParser, args: argparse.Namespace) -> str:
    """The command that was given, to be repeated elsewhere: without the places of one machine."""
    words = ["python", f"examples/{script}"]
    for name, value in vars(args).items():
        written = name.replace("_", "-")
        if name in LEFT_OUT or value == parser.get_default(name):
            continue
        if isinstance(value, bool):
            words.append(f"--{written}" if value else f"--no-{written}")
        elif name in FILE_OPTIONS:
            words += [f"--{written}", "PATH"]
        else:
            words += [f"--{written}", *map(_written, value if isinstance(value, list) else [value])]
    return shlex.join(words)


def _written(value: Any) -> str:
    return f"{value[0]}={json.dumps(value[1])}" if isinstance(value, tuple) else str(value)


def option(text: str) -> tuple[str, Any]:
    """`num_layers=3` as a name and a value: JSON, or else a string."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"NAME=VALUE expected, but got {text!r}")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def add_preset_options(
    parser: argparse.ArgumentParser,
    presets: dict[str, dict[str, Any]],
    group: Any,
    in_group: Collection[str],
) -> None:
    """An option for every setting of the presets, which say its type and its default."""
    first, *_ = presets.values()
    for name, value in first.items():
        values = ", ".join(f"{preset[name]} {which}" for which, preset in presets.items())
        where = group if name in in_group else parser
        where.add_argument(f"--{name.replace('_', '-')}", type=type(value), help=f"({values})")


def saved_model(args: argparse.Namespace, kinds: Collection[str] = ()) -> str | None:
    """The file that `--model` names, unless it names one of the kinds of model that can be trained."""
    return None if args.model in kinds else args.model


def check_prediction_options(
    parser: argparse.ArgumentParser, args: argparse.Namespace, kinds: Collection[str] = ()
) -> None:
    """End the program where `--model`, `--predict` and `--predict-file` do not go together."""
    saved = saved_model(args, kinds)
    if saved and not (args.predict or args.predict_file):
        parser.error("--model needs --predict or --predict-file" + (f", or one of {', '.join(kinds)}" if kinds else ""))
    if args.predict_file and not saved:
        parser.error("--predict-file needs --model")


def short_name(name: str) -> str:
    """A name of a data set, or of a file, as part of a folder's name."""
    return Path(name).name.split(".")[0] if Path(name).suffix else name.replace("/", "-").replace(":", "-")


def fail(error: Exception, status: int = 2) -> int:
    """Say what is wrong in one line; the exit status, by default that of bad input."""
    print(" ".join(str(error).replace("overwrite=True", "--overwrite").split()), file=sys.stderr)
    return status


def train_seeds(args: argparse.Namespace, train: Callable[[int, Path], dict[str, Any]]) -> list[dict[str, Any]]:
    """Train once for each seed, in a folder for each, and collect the results; finished trainings are not repeated."""
    results = []
    for seed in args.seed:
        folder = args.output / f"seed{seed}" if len(args.seed) > 1 else args.output
        if len(args.seed) > 1:
            print(f"\n--- {folder.name}")
            if not args.overwrite and RunFolder(folder).is_finished():
                print("finished before")
                results.append(read_json(folder / "results.json"))
                continue
        results.append(train(seed, folder))
    return results


@contextlib.contextmanager
def options_named(*names: str) -> Iterator[None]:
    """Name the options whose NAME=VALUE pairs become arguments, where these do not fit."""
    try:
        yield
    except TypeError as error:
        raise ValueError(f"{' or '.join(names)} does not fit: {error}") from error


def check_dimension(wanted: int | None, vectors: WordVectors | None) -> None:
    """Raise ValueError where `--embedding-dim` contradicts the word vectors."""
    if wanted is not None and vectors is not None and wanted != vectors.dim:
        raise ValueError(f"--embedding-dim {wanted} does not fit --vectors, which have {vectors.dim} numbers per word")


def report_best(run: TrainingRun, monitor: str, name: str, digits: int = 4) -> float:
    """Print which epoch is the best, and return its score."""
    score = run.history[monitor][run.best_epoch - 1]
    if run.best_epoch:
        print(f"\nBest epoch {run.best_epoch}: {name} {score:.{digits}f}")
    else:
        print(f"\nNo best epoch: {name} is no number in any epoch")
    return score


def write_result(run: TrainingRun, path: Path, result: dict[str, Any]) -> dict[str, Any]:
    """Write a result into the folder of its run, and once into the file of all results."""
    result = {"run": run.id, **result}
    if is_chief():
        write_json(run.folder / "results.json", result)
        append_result(path, result)
    return result


def draw(path: Path, picture: Callable[[Path], None]) -> None:
    """Draw a picture, and say so where that fails: no training is lost for it."""
    try:
        picture(path)
    except Exception as error:
        print(f"{path} could not be drawn: {' '.join(str(error).split())}", file=sys.stderr)
