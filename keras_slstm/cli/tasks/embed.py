"""Computation and evaluation of sentence vectors."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from keras_slstm.cli.main import make_parser
from keras_slstm.cli.options import recorded_command
from keras_slstm.cli.tasks.jobs import Results, describe_data, finished_before
from keras_slstm.cli.tasks.match import load, match
from keras_slstm.cli.tasks.saved import load_model
from keras_slstm.datasets.records import Problems, decoded_lines
from keras_slstm.errors import DataError
from keras_slstm.extras import require
from keras_slstm.files import complete_file, read_json
from keras_slstm.models.sentence_encoder import SentenceEncoder
from keras_slstm.training.results import append_result, read_results
from keras_slstm.training.run_folder import RunFolder
from keras_slstm.transfer import TASKS, TaskData, evaluate, load_task


def embed(arguments: argparse.Namespace) -> int:
    """Write vectors; or train a model (unless one is given) and test it; return the exit status."""
    if arguments.write is not None:
        return write_vectors(arguments)
    require("sklearn.linear_model", "examples")
    if arguments.model:
        return evaluate_all(arguments, Path(arguments.model))
    return train(arguments) or evaluate_all(arguments, arguments.output / "model.keras")


def write_vectors(arguments: argparse.Namespace) -> int:
    """Write an array with one row per line of a file."""
    texts = read_texts(arguments.file)
    vectors = SentenceEncoder(load_model(arguments.model))(texts)
    with complete_file(arguments.write) as unfinished, open(unfinished, "wb") as file:
        np.save(file, vectors)
    print(f"Wrote {arguments.write}: {vectors.shape[0]:,} vectors of size {vectors.shape[1]:,}")
    return 0


def read_texts(path: str) -> list[str]:
    """Read a file with one text per line. Only its last lines may be empty, so that row i is line i."""
    texts: list[str] = []
    for number, text in decoded_lines(path, Problems(path, "raise")):
        if number > len(texts) + 1:
            raise DataError(
                path, len(texts) + 1, "expected a text, because each line gets a vector; found an empty line"
            )
        texts.append(text)
    if not texts:
        raise DataError(path, 1, "the file contains no texts")
    return texts


def train(arguments: argparse.Namespace) -> int:
    """Train, unless the same command has already done so; return the exit status."""
    training = match_arguments(arguments)
    if training.overwrite or not RunFolder(training.output).is_finished():
        return match(training, texts_of_tasks(training))
    # A data set has the same contents under the same name; a file may have changed.
    data = describe_data(training, load(training, training.data), None) if training.data else {}
    before = finished_before(training, training.output, data)
    if before["seed"] != training.seed[0]:
        raise ValueError(f"{training.output} contains a model of seed {before['seed']}: choose another --output.")
    print(f"{training.output} already contains the model")
    return 0


def match_arguments(arguments: argparse.Namespace) -> argparse.Namespace:
    """The options for `keras-slstm match`: the same run serves all tasks."""
    parser = make_parser("match")
    defaults = vars(parser.parse_args([]))
    training = argparse.Namespace(**{name: getattr(arguments, name, value) for name, value in defaults.items()})
    training.command_line, training.local_options = recorded_command(parser, training), parser.local_options()
    return training


def texts_of_tasks(arguments: argparse.Namespace) -> Iterator[str]:
    """All texts of the available tasks. As in InferSent, the model also gets the vectors of their words."""
    for name in TASKS:
        with contextlib.suppress(FileNotFoundError):
            yield from load_task(name, arguments.data_dir, arguments.manual_dir).texts()


def evaluate_all(arguments: argparse.Namespace, path: Path) -> int:
    """Test a saved model on the tasks that are not finished yet, and print a table; return the exit status.

    Raises:
        ValueError: If a task failed; the others are finished.
        FileNotFoundError: If no task has its files.
    """
    encode = SentenceEncoder(load_model(str(path)))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    run = path.with_name("results.json")
    trained = read_json(run) if run.exists() else {}  # of an evaluation, it names no encoder
    encoder = trained.get("encoder", encode.model.encoder.name)
    common = {
        "classifier": arguments.classifier,
        "folds": arguments.folds,
        "seed": arguments.seed[0],
        "limit": arguments.task_limit,
    }
    before = read_results(arguments.results) if arguments.results.exists() and not arguments.overwrite else []
    results, absent, failed = [], [], []
    print(f"\n{encoder} of {path}, on {len(arguments.tasks)} tasks")
    for name in arguments.tasks:
        settings = {**common, "task": name, "model": digest}
        result = next((one for one in before if one.get("transfer") == settings), None)
        if result is not None:
            print(f"{name:6}  already finished")
        else:
            try:
                data = load_task(name, arguments.data_dir, arguments.manual_dir)
                result = evaluate_task(arguments, encode, data, {"encoder": encoder, "transfer": settings})
            except FileNotFoundError as error:
                absent.append(name)
                print(f"{name:6}  skipped: {str(error).partition(chr(10))[0]}")
                continue
            except ValueError as error:  # the other tasks may still succeed
                failed.append(name)
                print(f"{name:6}  failed: {error}", file=sys.stderr)
                continue
            append_result(arguments.results, result)
        results.append(result)
    print_table(results)
    if absent:
        print(f"Skipped, because their files are missing: {', '.join(absent)}")
    if failed:
        raise ValueError(f"These tasks failed: {', '.join(failed)}.")
    if not results:
        raise FileNotFoundError("No task has its files: pass their folder with --manual-dir.")
    return 0


def evaluate_task(arguments: argparse.Namespace, encode: SentenceEncoder, data: TaskData, beside: Results) -> Results:
    """Test on one task and print the result; return the line for the results file."""
    if arguments.task_limit:
        data = data.limited(arguments.task_limit, arguments.seed[0])

    def show(line: str) -> None:
        if sys.stdout.isatty():
            print(f"\r{data.task.name:6}  {line:40}", end="", flush=True)

    found = evaluate(encode, data, arguments.classifier, arguments.folds, arguments.seed[0], show)
    show("")
    seconds = f"{found['seconds_to_encode']:.0f} + {found['seconds_to_fit']:.0f} s"
    print(f"{chr(13) if sys.stdout.isatty() else ''}{data.task.name:6}  {headline(found)}  ({seconds})", flush=True)
    return {
        "data": data.task.dataset,
        **beside,
        "parameters": encode.model.count_params(),
        "command": arguments.command_line,
        **found,
    }


def headline(found: Results) -> str:
    """The metrics of a task, as text."""
    percent = {name: f"{name} {100 * found[name]:.2f}" for name in ("accuracy", "f1") if name in found}
    plain = {name: f"{name} {found[name]:.4f}" for name in ("pearson", "spearman") if name in found}
    return ", ".join([*percent.values(), *plain.values()])


def print_table(results: Sequence[Results]) -> None:
    """Print the development and test metrics of each task: accuracies in percent, or correlations."""
    print(f"\n{'task':6}  {'data':18} {'train':>7} {'development':>12} {'test':>8}")
    for result in results:
        is_accuracy = "accuracy" in result
        cells = [result["development"], result["accuracy" if is_accuracy else "pearson"]]
        development, test = (f"{100 * cell:.2f}" if is_accuracy else f"{cell:.4f}" for cell in cells)
        further = f"   F1 {100 * result['f1']:.2f}" if "f1" in result else ""
        further += f"   Spearman {result['spearman']:.4f}" if "spearman" in result else ""
        name, size = result["transfer"]["task"], result["sizes"]["train"]
        print(f"{name:6}  {result['data']:18} {size:7,} {development:>12} {test:>8}{further}")
