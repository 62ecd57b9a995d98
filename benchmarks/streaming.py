"""Compares streamed corpora with texts in memory: `python -m benchmarks.streaming`.

    python -m benchmarks.streaming                                            # a million lines, both ways
    python -m benchmarks.streaming --lines 39000000 --ways streamed --steps 600   # about 5 GB of text
    python -m benchmarks.streaming --lines 20000 --steps 20                   # a trial

The benchmark writes a file of generated lines with 5 to 30 words each, drawn from 200,000 words by Zipf's law with
exponent 1.05. Each way runs in a separate process, from the file to the first training step of a BiLSTM classifier (64
units, a vocabulary of 30,000 words), and then takes further steps. For each way, the benchmark prints the CPU time and
the wall-clock time to the end of the first step, the peak resident set size, and for the further steps the sentences
per second, the share of the time spent waiting for batches, and the share of padding. `--output` also appends these
numbers to a file. With `--processes`, the peak is an upper bound: for each process, it adds that of the largest one.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

WAYS = ("streamed", "in memory")
WORDS, EXPONENT, LABELS = 200_000, 1.05, 4
BLOCK = 20_000  # lines generated at a time
BATCH, UNITS, MAX_TOKENS = 64, 64, 30_000


def main() -> None:
    """Write the file, measure each way in a new process, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=1_000_000, help="lines of the file (default: %(default)s)")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS, help="default: both")
    parser.add_argument("--steps", type=int, default=200, help="steps after the first one (default: %(default)s)")
    parser.add_argument("--processes", type=int, default=1, help="processes for the preparation (default: %(default)s)")
    parser.add_argument("--folder", type=Path, help="folder for the files (default: a temporary one)")
    parser.add_argument("--output", type=Path, help="JSON Lines file to append the results to")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)  # in the new process
    args = parser.parse_args()
    if args.way:
        print(json.dumps(_measure(args)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        args.folder = args.folder or Path(temporary)
        args.folder.mkdir(parents=True, exist_ok=True)
        _generate(_texts(args), args.lines)
        for way in args.ways:
            print(json.dumps(result := _in_new_process(args, way), indent=1))
            if args.output:
                with args.output.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(result) + "\n")


def _texts(args: argparse.Namespace) -> Path:
    return Path(args.folder / f"texts-{args.lines}.tsv")


def _generate(path: Path, lines: int) -> None:
    """Write labelled lines, which are the same each time, unless the file exists."""
    if path.exists():
        return
    from keras_slstm.files import complete_file

    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = np.array(["".join(rng.choice(letters, size)) for size in rng.integers(2, 10, WORDS)])
    probabilities = 1 / np.arange(1, WORDS + 1) ** EXPONENT
    cumulated = np.cumsum(probabilities / probabilities.sum())
    with complete_file(path) as unfinished, unfinished.open("w", encoding="utf-8") as file:
        file.write("label\ttext\n")
        for start in range(0, lines, BLOCK):
            lengths = rng.integers(5, 30, min(BLOCK, lines - start))
            drawn = words[np.minimum(np.searchsorted(cumulated, rng.random(lengths.sum())), WORDS - 1)].tolist()
            at = 0
            for length, label in zip(lengths, rng.integers(0, LABELS, len(lengths))):
                file.write(f"c{label}\t{' '.join(drawn[at : at + length]).capitalize()}, isn't it?\n")
                at += length


def _in_new_process(args: argparse.Namespace, way: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.streaming", "--way", way, "--folder", args.folder]
    command += ["--lines", args.lines, "--steps", args.steps, "--processes", args.processes]
    done = subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True)
    size = _texts(args).stat().st_size
    return {
        "way": way,
        "lines": args.lines,
        "megabytes": size / 1e6,
        "processes": args.processes,
        "steps": args.steps,
        **json.loads(done.stdout.splitlines()[-1]),
    }


def _measure(args: argparse.Namespace) -> dict[str, Any]:
    """Train from the file, and return the measurements."""
    began = time.perf_counter()

    import keras_slstm
    from benchmarks.memory import largest_resident_set, largest_resident_set_of_children
    from keras_slstm.training.results import conditions

    labels, vectorizer, batches = (_streamed if args.way == "streamed" else _in_memory)(args)
    ready = time.perf_counter()
    model = keras_slstm.SentenceClassifier(labels, encoder="lstm", units=UNITS, vectorizer=vectorizer)
    model.compile("adam")
    model.train_on_batch(*batches[0])
    times = os.times()
    found: dict[str, Any] = {
        "conditions": conditions(),
        "seconds_to_batches": ready - began,
        "seconds": time.perf_counter() - began,
        "cpu_seconds": times.user + times.system + times.children_user + times.children_system,
    }
    for index in range(1, 9):  # compile the functions for all lengths
        model.train_on_batch(*batches[index % len(batches)])
    began, waited, sentences, words, places = time.perf_counter(), 0.0, 0, 0, 0
    for step in range(args.steps):
        asked = time.perf_counter()
        x, y = batches[(9 + step) % len(batches)]
        waited += time.perf_counter() - asked
        model.train_on_batch(x, y)
        sentences += len(y)
        words += int(np.count_nonzero(x))
        places += x.size
    seconds = time.perf_counter() - began
    found["sentences_per_second"] = sentences / seconds
    found["share_of_waiting"] = waited / seconds
    found["share_of_padding"] = 1 - words / places
    found["peak_megabytes"] = largest_resident_set()
    if args.way == "streamed" and args.processes > 1:
        found["peak_megabytes"] += args.processes * largest_resident_set_of_children()
    return found


def _streamed(args: argparse.Namespace) -> tuple[list[str], Any, Any]:
    from keras_slstm import streaming
    from keras_slstm.text import TextVectorizer

    folder = args.folder / "prepared"
    shutil.rmtree(folder, ignore_errors=True)  # of a former run
    vectorizer = TextVectorizer(max_tokens=MAX_TOKENS)
    corpus = streaming.prepare_corpus(_texts(args), folder, vectorizer, processes=args.processes)
    return corpus.labels, corpus.vectorizer, streaming.StreamedBatches(corpus, BATCH)


def _in_memory(args: argparse.Namespace) -> tuple[list[str], Any, Any]:
    from keras_slstm.datasets import read_labelled_text
    from keras_slstm.text import TextBatches, TextVectorizer

    examples = read_labelled_text(_texts(args))
    texts, names = [example.text for example in examples], [example.label for example in examples]
    labels = sorted(set(names))
    vectorizer = TextVectorizer(max_tokens=MAX_TOKENS)
    vectorizer.adapt(texts)
    ids = {label: number for number, label in enumerate(labels)}
    batches = TextBatches(vectorizer.encode(texts), [ids[name] for name in names], batch_size=BATCH)
    return labels, vectorizer, batches


if __name__ == "__main__":
    main()
