"""Counts how deep a depth-adaptive GRN reads words, by frequency, part of speech and negation (Figure 4 of its paper).

    python -m benchmarks.word_depths benchmarks/studies/grn_documents.toml "adaptive depth" --root PATH

The models are those of a row of a study of classifiers, one for each seed; `--work` names the folder of its trainings.
They read the words of the English web treebank (`ud_ewt`), which has parts of speech. The frequencies are those in the
training texts. The interval of the difference from all words covers seeds and sentences.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
from numpy.typing import NDArray

import keras_slstm
from benchmarks.study import Study, Training, chosen_value, lines_of, read_study, training_folder
from benchmarks.study_statistics import paired_interval, score
from keras_slstm.cli.main import parse
from keras_slstm.cli.tasks import classify
from keras_slstm.cli.tasks.jobs import limited
from keras_slstm.training.results import append_result, read_results

RESULTS = Path(__file__).parent / "results" / "word_depths.jsonl"
NEGATIONS = {"no", "not", "n't", "never", "nothing", "nobody", "none", "nor", "neither", "nowhere", "without", "cannot"}
# The largest number of occurrences in the training texts, and the name of the group.
FREQUENCIES = {0: "unseen", 1: "seen once", 10: "seen 2 to 10 times", 100: "seen 11 to 100 times"}
ALL = "all words"
Words = Sequence[str]


def groups_of(words: Words, tags: Words, seen: Counter[str]) -> list[set[str]]:
    """Return the names of the groups of each word of a sentence.

    Args:
        words: The words, as the model reads them.
        tags: Their parts of speech.
        seen: The number of occurrences of each word in the training texts.
    """
    found = []
    for word, tag in zip(words, tags, strict=True):
        often = next((name for most, name in FREQUENCIES.items() if seen[word] <= most), "seen more often")
        found.append({ALL, often, f"part of speech {tag}", *(["negation"] if word in NEGATIONS else [])})
    return found


def spread(words: Words, tags: Words, tokenize: Callable[[str], Words]) -> list[str]:
    """Return a part of speech for each word that the model reads: its tokeniser splits some words of the treebank."""
    return [tag for word, tag in zip(words, tags, strict=True) for _ in tokenize(word)]


def add_up(depths: Iterable[Sequence[int]], groups: Sequence[Sequence[set[str]]], name: str) -> NDArray[np.float64]:
    """Return the sum of the depths and, twice, the number of words of a group in each sentence, `(sentences, 3)`.

    The score of such counts is the mean depth.
    """
    counts = []
    for of_words, of_groups in zip(depths, groups, strict=True):
        chosen = [depth for depth, names in zip(of_words, of_groups, strict=True) if name in names]
        counts.append([float(sum(chosen)), len(chosen), len(chosen)])
    return np.array(counts)


def measure(depths: Sequence[Sequence[Sequence[int]]], groups: Sequence[Sequence[set[str]]]) -> list[dict[str, Any]]:
    """Return a line per group with its mean depth, and the interval of its difference from all words.

    Args:
        depths: The depths of the words, by model and sentence.
        groups: The groups of the words, by sentence.
    """
    of_all = np.stack([add_up(of_model, groups, ALL) for of_model in depths])
    lines = []
    for name in sorted({name for sentence in groups for names in sentence for name in names}):
        counts = np.stack([add_up(of_model, groups, name) for of_model in depths])
        line = {"group": name, "words": int(counts[0, :, 1].sum()), "depths": score(counts).tolist()}
        if name != ALL:
            line |= {"difference": float(np.mean(score(counts) - score(of_all)))}
            line |= {"interval": paired_interval((counts, of_all))}
        lines.append(line)
    return lines


def table() -> str:
    """Return the recorded groups as a Markdown table, the deepest first."""
    lines = read_results(RESULTS) if RESULTS.exists() else []
    if not lines:
        return "Not measured yet."
    rows = ["| words | number | mean depth | against all words [95%] |", "| --- | ---: | ---: | ---: |"]
    for line in sorted(lines, key=lambda line: np.mean(line["depths"]), reverse=True):
        cell = ""
        if "difference" in line:
            low, high = line["interval"]
            cell = f"{line['difference']:+.2f} [{low:+.2f}, {high:+.2f}]"
        rows.append(f"| {line['group']} | {line['words']:,} | {np.mean(line['depths']):.2f} | {cell} |")
    return "\n".join(rows)


def trainings_of(study: Study, row: str) -> list[Training]:
    """The trainings of a row on the first data set, one for each seed.

    Raises:
        ValueError: If the study is not one of classifiers, lacks the row, or has not chosen its searched value yet.
    """
    if study.command != "classify":
        raise ValueError(f"study {study.name}: the models must be classifiers (`classify`), not `{study.command}`")
    if row not in study.rows:
        raise ValueError(f"study {study.name}: no row {row!r}; the rows are {', '.join(map(repr, study.rows))}")
    data = next(iter(study.data))
    value = chosen_value(study, lines_of(study), row, data) if study.search else None
    if study.search and value is None:
        raise ValueError(f"study {study.name}: the search of {row!r} is not finished")
    return [Training(study, row, data, seed, value) for seed in study.seeds]


def training_texts(training: Training, root: Path) -> list[str]:
    """The texts that a training reads."""
    command, *words = training.words(root)
    arguments = parse(command, words)
    ((corpus, _),) = classify.load(arguments)
    return list(limited(corpus, arguments.limit).train.texts)


def main() -> None:
    """Read the sentences with each model, print the table, and replace the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path, metavar="FILE", help="study")
    parser.add_argument("row", metavar="ROW", help="its row with a depth-adaptive GRN")
    parser.add_argument("--root", type=Path, default=Path(), help="folder of the original files and word vectors")
    parser.add_argument("--work", type=Path, default=Path("runs/studies"), help="folder of the trainings")
    args = parser.parse_args()
    try:
        study = read_study(args.study)
        trainings = trainings_of(study, args.row)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    treebank = keras_slstm.datasets.load_tagged_corpus("ud_ewt", manual_dir=args.root).test
    texts = [" ".join(words) for words in treebank.tokens]
    depths: list[list[Any]] = []
    groups: list[list[set[str]]] = []
    for training in trainings:
        model: Any = keras.saving.load_model(training_folder(training, args.work) / "model.keras", compile=False)
        read = keras_slstm.models.read_depths(model, texts)
        depths.append([sentence.depths.tolist() for sentence in read])
        if not groups:
            tokenized = model.vectorizer.tokenize_all(training_texts(training, args.root))
            seen = Counter(word for words in tokenized for word in words)
            for found, words, tags in zip(read, treebank.tokens, treebank.tags, strict=True):
                groups.append(groups_of(found.words, spread(words, tags, model.vectorizer.tokenize), seen))
    lines = measure(depths, groups)
    RESULTS.unlink(missing_ok=True)
    for line in lines:
        append_result(RESULTS, {"study": study.name, "row": args.row, **line})
    print(table())


if __name__ == "__main__":
    main()
