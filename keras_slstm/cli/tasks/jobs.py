"""The training runs of a command: planning, and running each of them once."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras

from keras_slstm import distribute
from keras_slstm.cli.tasks.summaries import print_summary
from keras_slstm.cli.training_options import short_name
from keras_slstm.distribute.launcher import launch
from keras_slstm.extras import require
from keras_slstm.files import read_json
from keras_slstm.streaming.prepared_corpus import PreparedCorpus
from keras_slstm.training.compile_once import compile_once
from keras_slstm.training.fingerprint import fingerprint
from keras_slstm.training.run_folder import RunFolder

Results = dict[str, Any]
NEEDED = {"sklearn.metrics": "examples", "matplotlib": "plots"}
# Options that are not recorded, but must agree in all processes that train together.
_SHARED_OPTIONS = {"seed", "save_every", "overwrite", "strategy"}
# The entry of `results.json` that identifies the contents of all parts of the data; earlier versions did not write it.
FINGERPRINT = "data_fingerprint"
_WITHOUT_FINGERPRINT = " (by an earlier version: only the name of the data and the sizes of its parts were compared)"
# Options that only add runs to a table; finished runs stay valid.
_TABLE_OPTIONS = re.compile(r" --(variants|ensemble|fold)\b( (?!--)\S+)*")


class Job(NamedTuple):
    """One training run: `variant` names encoder options, such as `lam=0.25`; `fold` is counted from 1."""

    corpus: Any
    fold: int | None
    variant: str
    seed: int
    folder: Path


def limited(corpus: Any, limit: int | None) -> Any:
    """The corpus with only its first `limit` training examples; None for all."""
    if limit is None:
        return corpus
    first = corpus.train.take(range(min(limit, len(corpus.train))))
    return type(corpus)(**{**vars(corpus), "train": first})


def check_labels(corpus: Any) -> None:
    """Raise ValueError if all training examples have the same label."""
    if len(corpus.label_names) == 1:
        label = corpus.label_names[0]
        raise ValueError(f"{corpus.name}: every training example has the label {label!r}: two labels are needed")


def train_all(
    arguments: argparse.Namespace,
    load: Callable[[], Sequence[tuple[Any, int | None]]],
    train: Callable[[Job, Any], Results],
    prepare: Callable[[Sequence[Job]], Any] = lambda jobs: None,
    average: Callable[[Sequence[Job], Sequence[Results]], list[Results]] | None = None,
    needed: dict[str, str] = NEEDED,
) -> int:
    """Train for each data set, fold, variant and seed, and print a table if there are several runs.

    Args:
        arguments: The options.
        load: Returns each corpus with the number of its fold.
        train: Does one run, given the result of `prepare`; returns its results.
        prepare: Reads the data that all runs share, such as word vectors.
        average: Returns further rows of the table, for ensembles.
        needed: Modules that a run will need, with the extras that install them.

    Returns:
        The exit status.
    """
    if arguments.workers > 1 and "TF_CONFIG" not in os.environ:
        command = [sys.executable, "-m", "keras_slstm", *arguments.words]
        return launch(command, arguments.workers, arguments.restarts)
    for module, extra in needed.items():
        require(module, extra)
    try:
        with _on_devices(arguments) as scope, compile_once():
            _train_jobs(arguments, load, train, prepare, average, scope)
    except distribute.WorkerLost as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return 3
    return 0


def _train_jobs(
    arguments: argparse.Namespace,
    load: Callable[[], Sequence[tuple[Any, int | None]]],
    train: Callable[[Job, Any], Results],
    prepare: Callable[[Sequence[Job]], Any],
    average: Callable[[Sequence[Job], Sequence[Results]], list[Results]] | None,
    scope: Callable[[], contextlib.AbstractContextManager[Any]],
) -> None:
    jobs = plan_jobs(arguments, load())
    shared = prepare(jobs)
    in_table = jobs[0].folder != arguments.output
    # All of them before the first training, which would be in vain if the table could not be completed.
    finished = {
        job.folder: finished_before(arguments, job.folder, describe_data(arguments, job.corpus, job.fold))
        for job in jobs
        if in_table and not arguments.overwrite and RunFolder(job.folder).is_finished()
    }
    results = []
    for job in jobs:
        if in_table:
            print(f"\n--- {job.folder.name}")
        if job.folder in finished:
            results.append(finished[job.folder])
            print("already finished" + ("" if FINGERPRINT in results[-1] else _WITHOUT_FINGERPRINT))
            continue
        with scope():
            results.append(train(job, shared))
    if average is not None and arguments.ensemble:
        results += average(jobs, results)
    if len(jobs) > 1:
        print_summary(results)


def plan_jobs(arguments: argparse.Namespace, corpora: Sequence[tuple[Any, int | None]]) -> list[Job]:
    """One job per corpus (or fold), variant and seed.

    If there are several, each has a subfolder of `--output`. So does a single fold, because others may follow.

    Raises:
        ValueError: If two jobs have the same folder.
    """
    variants = getattr(arguments, "variants", None) or [""]
    several = len(corpora) * len(variants) * len(arguments.seed) > 1 or corpora[0][1] is not None
    jobs: dict[Path, Job] = {}
    for corpus, fold in corpora:
        for variant in variants:
            for seed in arguments.seed:
                words = [short_name(corpus.name), f"fold{fold}" if fold else "", variant, f"seed{seed}"]
                name = "-".join(re.sub(r"[^\w.-]+", "_", word) for word in words if word)
                folder = arguments.output / name if several else arguments.output
                job = Job(corpus, fold, variant, seed, folder)
                if folder in jobs:
                    raise ValueError(_repeated(jobs[folder], job, arguments.seed, variants))
                jobs[folder] = job
    return list(jobs.values())


def _repeated(one: Job, other: Job, seeds: Sequence[int], variants: Sequence[str]) -> str:
    """The message about two jobs that would have the same folder."""
    values: list[Any]
    if seeds.count(other.seed) > 1:
        option, values = "--seed", [one.seed, other.seed]
    elif variants.count(other.variant) > 1 or one.variant != other.variant:
        option, values = "--variants", [one.variant, other.variant]
    else:
        option, values = "--dataset", [one.corpus.name, other.corpus.name]
    if values[0] == values[1]:
        return f"{option} names {values[0]} more than once: name each value once"
    return f"{option}: {values[0]} and {values[1]} would have the same folder, {other.folder}: train them one by one"


def describe_data(arguments: argparse.Namespace, corpus: Any, fold: int | None) -> Results:
    """Return the entries of `results.json` about the data of a run, by which a finished run is recognised."""
    parts = (corpus.train, corpus.validation, corpus.test)
    return {
        "data": Path(arguments.data).name if arguments.data else corpus.name,
        FINGERPRINT: fingerprint(*(column for part in parts for column in _columns(part))),
        "split": {"seed": arguments.split_seed, "sizes": [len(part) for part in parts]},
        "fold": fold,
    }


def _columns(part: Any) -> Iterable[Iterable[str]]:
    """The contents of a part; for a part on disk, the fingerprint of its file."""
    if isinstance(part, PreparedCorpus):
        return [[part.fingerprint]]
    return [map(repr, column) for column in vars(part).values()]


def finished_before(arguments: argparse.Namespace, folder: Path, data: Results) -> Results:
    """The results of a finished run.

    Args:
        arguments: The options.
        folder: Its folder.
        data: The present data, from `describe_data`. Of a run of an earlier version, which recorded no fingerprint, the
            other entries are compared. Empty: nothing is compared.

    Raises:
        ValueError: If they are damaged, or belong to another command, another backend or other data.
    """
    path = folder / "results.json"
    before = read_json(path)
    if "command" not in before:
        raise ValueError(f"{path} is not the results file of a run: choose another --output, or add --overwrite")
    alike = {_TABLE_OPTIONS.sub("", line) for line in (before["command"], arguments.command_line)}
    vectors = vectors_name(arguments)  # the recorded command does not name files
    if len(alike) > 1 or before.get("vectors") != vectors:
        found = f"another command ({before['command']}, vectors {before.get('vectors')})"
        raise ValueError(_other_results(folder, found))
    used, backend = before.get("settings", {}).get("backend"), keras.backend.backend()
    if used not in (None, backend):
        raise ValueError(_other_results(folder, f"another backend ({used}, not {backend})"))
    compared = [FINGERPRINT] if FINGERPRINT in before else ["data", "split", "fold"]
    if any(before[name] != data[name] for name in compared if name in before and name in data):
        raise ValueError(_other_results(folder, f"other data ({_size(before)}), or its files have changed since"))
    return before


def _other_results(folder: Path, found: str) -> str:
    return f"{folder} contains the results of {found}: choose another --output, or add --overwrite."


def _size(results: Results) -> str:
    """The name and the size of the data of a run."""
    sizes = " / ".join(map(str, results.get("split", {}).get("sizes", [])))
    return f"{results.get('data')} with {sizes} examples"


def vectors_name(arguments: argparse.Namespace) -> str | None:
    """The name of the word vector file, as recorded in results."""
    path = getattr(arguments, "vectors", None)
    return Path(path).name.removesuffix(".gz") if path else None


@contextlib.contextmanager
def _on_devices(arguments: argparse.Namespace) -> Iterator[Callable[[], contextlib.AbstractContextManager[Any]]]:
    """Join the other processes, if any, and yield a function that makes a scope for building models.

    TensorFlow and JAX must connect their processes before they touch a device. Only the first process prints.
    """
    alone = arguments.timeout is None  # a command without options for devices
    name = arguments.strategy or ("auto" if "TF_CONFIG" in os.environ and not alone else None)
    if name is None:
        yield contextlib.nullcontext
        return
    strategy = distribute.strategy(name, arguments.timeout)
    left_out = {*arguments.local_options, "local_options", "words"} - _SHARED_OPTIONS
    options = {option: value for option, value in vars(arguments).items() if option not in left_out}
    distribute.check_equal({"option": options}, "options")
    if distribute.is_chief():
        yield strategy.scope
    else:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            yield strategy.scope
