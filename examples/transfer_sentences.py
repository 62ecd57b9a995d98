"""Evaluate a sentence encoder: train it on inference, freeze it, and test its vectors on ten tasks, as in SentEval.

The tasks are MR, CR, SUBJ, MPQA, SST, TREC, MRPC, SICK-R, SICK-E and STS-B. A logistic regression (or an MLP) is
trained on the vectors; its regularisation is chosen by cross-validation or on the development part. A task is left out
if its files are not in `--manual-dir` and cannot be downloaded.

InferSent as in the paper of the SuBiLSTM, trained on SNLI, and a small BiLSTM for minutes on two cores:

    python examples/transfer_sentences.py --encoder subilstm --vectors glove.840B.300d.txt --manual-dir PATH
    python examples/transfer_sentences.py --encoder bilstm --units 256 --dataset snli/subset \
        --vectors glove.840B.300d.txt --manual-dir PATH --tasks MR TREC MRPC SICK-R --folds 5

A model that was trained by this script, match_sentences.py or classify_text.py:

    python examples/transfer_sentences.py --model runs/snli-full-subilstm-infersent/model.keras --classifier mlp

The options of the training are those of match_sentences.py. Repeat an interrupted command to go on: the training
resumes after its last epoch, the evaluation after its last task. Every task appends a line to `results.jsonl`.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # fewer log messages

import keras
import match_sentences
from _classification import finished_before
from _common import command, fail

from keras_slstm.extras import require
from keras_slstm.models.sentence_encoder import SentenceEncoder
from keras_slstm.training.results import append_result, read_results
from keras_slstm.transfer import CLASSIFIERS, TASKS, TaskData, evaluate, load_task

Results = dict[str, Any]


def main() -> int:
    """Train a model, unless one is given, and evaluate it; return the exit status."""
    args, training = parse_arguments()
    try:
        require("sklearn.linear_model", "examples")
        status = train(training) if training else 0
        return status or evaluate_all(args, Path(training.output, "model.keras") if training else Path(args.model))
    except (ValueError, OSError, TypeError, ImportError) as error:  # TypeError: Keras, of a class that it does not know
        return fail(error)
    except KeyboardInterrupt:
        same = "same command without --overwrite" if args.overwrite else "same command"
        print(f"\nInterrupted. The {same} goes on after the last finished task.", file=sys.stderr)
        return 130


def train(training: argparse.Namespace) -> int:
    """Train, unless the same command has done so before; return the exit status."""
    if not (training.output / "model.keras").exists() or training.overwrite:
        return match_sentences.train_all(training, texts_of_tasks(training))
    given = command("match_sentences.py", match_sentences.make_parser(), training)
    before = finished_before(training, training.output, given)
    if before["seed"] != training.seed[0]:
        raise ValueError(f"{training.output} holds a model of seed {before['seed']}: choose another --output.")
    print(f"{training.output} holds the model already")
    return 0


def texts_of_tasks(args: argparse.Namespace) -> Iterator[str]:
    """All texts of the available tasks. As in InferSent, the model gets the vectors of their words, too."""
    for name in TASKS:
        with contextlib.suppress(FileNotFoundError):
            yield from load_task(name, args.data_dir, args.manual_dir).texts()


def evaluate_all(args: argparse.Namespace, model_path: Path) -> int:
    """Evaluate a saved model on the tasks that are not done yet, and print a table; return the exit status."""
    encode = SentenceEncoder(keras.saving.load_model(model_path))
    digest = hashlib.sha256(model_path.read_bytes()).hexdigest()[:16]
    run = model_path.with_name("results.json")
    encoder = json.loads(run.read_text(encoding="utf-8"))["encoder"] if run.exists() else encode.model.encoder.name
    of_all = {"classifier": args.classifier, "folds": args.folds, "seed": args.seed[0], "limit": args.task_limit}
    before = read_results(args.results) if args.results.exists() and not args.overwrite else []
    results, absent, failed = [], [], []
    print(f"\n{encoder} of {model_path}, on {len(args.tasks)} tasks")
    for name in args.tasks:
        settings = {**of_all, "task": name, "model": digest}
        result = next((one for one in before if one.get("transfer") == settings), None)
        if result is None:
            try:
                data = load_task(name, args.data_dir, args.manual_dir)
            except FileNotFoundError as error:
                absent.append(name)
                print(f"{name:6}  left out: {str(error).partition(chr(10))[0]}")
                continue
            try:
                result = evaluate_task(args, encode, data, {"encoder": encoder, "transfer": settings})
            except ValueError as error:  # the other tasks may still succeed
                failed.append(name)
                print(f"{name:6}  failed: {error}", file=sys.stderr)
                continue
            append_result(args.results, result)
        else:
            print(f"{name:6}  finished before")
        results.append(result)
    print_table(results)
    if absent:
        print(f"Left out, as their files are absent: {', '.join(absent)}")
    if failed:
        return fail(ValueError(f"These tasks failed: {', '.join(failed)}."))
    return 0 if results else fail(FileNotFoundError("The files of no task are available: see --manual-dir."))


def evaluate_task(args: argparse.Namespace, encode: SentenceEncoder, data: TaskData, beside: Results) -> Results:
    """Evaluate on one task and print the result; return the line for the file of results."""
    if args.task_limit:
        data = data.limited(args.task_limit, args.seed[0])

    def show(line: str) -> None:
        if sys.stdout.isatty():
            print(f"\r{data.task.name:6}  {line:40}", end="", flush=True)

    found = evaluate(encode, data, args.classifier, args.folds, args.seed[0], show)
    show("")
    seconds = f"{found['seconds_to_encode']:.0f} + {found['seconds_to_fit']:.0f} s"
    print(f"{chr(13) if sys.stdout.isatty() else ''}{data.task.name:6}  {headline(found)}  ({seconds})", flush=True)
    return {
        "data": data.task.dataset,
        **beside,
        "parameters": encode.model.count_params(),
        "command": command("transfer_sentences.py", make_parser(), args),
        **found,
    }


def headline(found: Results) -> str:
    """The measures of a task, as text."""
    percent = {name: f"{name} {100 * found[name]:.2f}" for name in ("accuracy", "f1") if name in found}
    plain = {name: f"{name} {found[name]:.4f}" for name in ("pearson", "spearman") if name in found}
    return ", ".join([*percent.values(), *plain.values()])


def print_table(results: Sequence[Results]) -> None:
    """Print the development and test measures of each task: accuracies in percent, or correlations."""
    print(f"\n{'task':6}  {'data':18} {'train':>7} {'development':>12} {'test':>8}")
    for result in results:
        is_accuracy = "accuracy" in result
        cells = [result["development"], result["accuracy" if is_accuracy else "pearson"]]
        development, test = (f"{100 * cell:.2f}" if is_accuracy else f"{cell:.4f}" for cell in cells)
        further = f"   F1 {100 * result['f1']:.2f}" if "f1" in result else ""
        further += f"   Spearman {result['spearman']:.4f}" if "spearman" in result else ""
        name, size = result["transfer"]["task"], result["sizes"]["train"]
        print(f"{name:6}  {result['data']:18} {size:7,} {development:>12} {test:>8}{further}")


def make_parser() -> argparse.ArgumentParser:
    """All options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    transfer = parser.add_argument_group("transfer")
    transfer.add_argument("--model", default="infersent", metavar="FILE",
                          help="a saved .keras file, or the model to train: infersent or siamese")  # fmt: skip
    transfer.add_argument("--tasks", nargs="+", default=list(TASKS), choices=tuple(TASKS), metavar="TASK",
                          help=f"(all: {', '.join(TASKS)})")  # fmt: skip
    transfer.add_argument("--classifier", default="logistic", choices=tuple(CLASSIFIERS), help="on the vectors")
    transfer.add_argument("--folds", type=int, default=10, help="folds of each cross-validation")
    transfer.add_argument("--task-limit", type=int, help="largest number of training examples of a task")
    match_sentences.add_training_options(parser)
    parser.set_defaults(dataset=["snli/full"], encoder="subilstm")
    return parser


def parse_arguments() -> tuple[argparse.Namespace, argparse.Namespace | None]:
    """The options, and those of the training; None if there is nothing to train."""
    parser = make_parser()
    args = parser.parse_args()
    for name, least in (("folds", 2), ("task_limit", 1)):
        value = vars(args)[name]
        if value is not None and value < least:
            parser.error(f"--{name.replace('_', '-')} must be at least {least}, but got {value}")
    if len(args.seed) > 1 or args.variants or len(args.dataset) > 1:
        parser.error("only one model is trained and evaluated: give one --seed, one --dataset and no --variants")
    if args.model == "esim":
        parser.error("--model esim has no sentence vectors, because it compares words")
    if args.model not in match_sentences.MODELS:
        args.results = args.results or Path(args.model).parent.parent / "results.jsonl"
        return args, None
    names = vars(match_sentences.make_parser().parse_args([]))
    training = argparse.Namespace(**{name: vars(args).get(name, default) for name, default in names.items()})
    match_sentences.complete_arguments(parser, training)
    args.results = training.results
    return args, training


if __name__ == "__main__":
    sys.exit(main())
