"""Inspection of saved models: depths of words, and vertical gates."""

from __future__ import annotations

import argparse
import random
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keras_slstm.cli.options import check_not_given
from keras_slstm.cli.tasks.saved import load_model
from keras_slstm.datasets.any_texts import read_any_texts
from keras_slstm.datasets.readers import read_lines
from keras_slstm.files import read_json, write_json
from keras_slstm.models.gate_histograms import GateHistograms, read_gates
from keras_slstm.models.seq2seq import Seq2Seq
from keras_slstm.models.word_depths import DepthCounts, ReadSentence, find_grn, read_depths
from keras_slstm.plots import check_picture_name, depth_histogram, gate_histograms, word_depths
from keras_slstm.printable import printable

# Terminal colours (of 256), from dark for shallow words to bright for deep words.
COLORS = (240, 67, 32, 36, 40, 148, 184, 214, 208, 196)


def inspect(arguments: argparse.Namespace) -> int:
    """Count and draw depths if the model has a depth-adaptive GRN, and gates otherwise; return the exit status."""
    if arguments.output:
        check_picture_name(arguments.output)
    model = load_model(arguments.model)
    kind, look = ("depths", inspect_depths) if has_depths(model) else ("gates", inspect_gates)
    if kind == "gates":
        check_gates(model)
    check_options(arguments, kind)
    output = arguments.output or Path(arguments.model).with_name(f"{kind}.png")
    check_places(files_of(kind, output))
    texts = choose_texts(arguments, model)
    look(arguments, model, texts, output)
    written = files_of(kind, output)
    print(f"Wrote {', '.join(map(str, written))}")
    return 0


def check_options(arguments: argparse.Namespace, kind: str) -> None:
    """Raise ValueError for an option or a text that does not apply to depths or to gates."""
    if kind == "depths":
        check_not_given(arguments, ["bins"], f"is for gates, but {arguments.model} has depths")
        return
    if arguments.text:
        raise ValueError(
            f"TEXT is for depths, but {arguments.model} has none: use --file or --dataset to count its gates"
        )
    check_not_given(arguments, ["show"], f"is for depths, but {arguments.model} has none")


def files_of(kind: str, output: Path) -> list[Path]:
    """The files to write: pictures, and the numbers in them."""
    if kind == "gates":
        return [output, output.with_suffix(".json")]
    histogram = output.with_name(f"{output.stem}-histogram{output.suffix}")
    return [output, histogram, histogram.with_suffix(".json")]


def check_places(paths: Sequence[Path]) -> None:
    """Raise FileExistsError if the output would replace a file that is not from an earlier inspection."""
    before = [path for path in paths if path.exists()]
    if before and not is_own_table(paths[-1]):
        raise FileExistsError(f"--output: {before[-1]} exists and was not written by inspect: choose another file")


def is_own_table(path: Path) -> bool:
    """Whether an inspection has written this file of numbers."""
    try:
        names = set(read_json(path))
    except (OSError, ValueError):
        return False
    return names in ({"texts", "words", "mean", "counts"}, {"sentences", "words", "layers"})


def has_depths(model: Any) -> bool:
    """Whether the words of a model have depths."""
    try:
        find_grn(model)
    except ValueError:
        return False
    return True


def check_gates(model: Any) -> None:
    """Raise ValueError if a model has no vertical gates."""
    for _ in read_gates(model, []):  # without texts, this only checks the model
        pass


def choose_texts(arguments: argparse.Namespace, model: Any) -> list[str]:
    """The texts to count: at most `--limit`, drawn at random."""
    if arguments.file:
        texts = read_lines(arguments.file)
    else:
        name = arguments.dataset or ("office_notes" if isinstance(model, Seq2Seq) else "travel_desk")
        texts = read_any_texts(name, arguments.data_dir, arguments.manual_dir, arguments.text_column)
    draw = random.Random(arguments.seed).random
    return sorted(texts, key=lambda _: draw())[: arguments.limit]


def inspect_depths(arguments: argparse.Namespace, model: Any, texts: list[str], output: Path) -> None:
    """Print and draw the depths of words."""
    largest = find_grn(model).max_depth
    read = read_depths(model, texts)
    shown = read_depths(model, arguments.text) if arguments.text else read[: arguments.show]
    counts = DepthCounts(largest)
    for sentence in read:
        counts.add(sentence.depths)
    for sentence in shown:
        print(with_depths(sentence, largest, colored=sys.stdout.isatty()))
    report_depths(counts, read)
    _, histogram, numbers = files_of("depths", output)
    word_depths(shown, largest, output)
    depth_histogram(counts.counts, histogram)
    found = {"texts": len(texts), "words": counts.words, "mean": counts.mean, "counts": counts.counts.tolist()}
    write_json(numbers, found)


def with_depths(sentence: ReadSentence, largest: int, colored: bool) -> str:
    """The words, in the colours of their depths, or each with its depth."""
    pairs = [(printable(word), int(depth)) for word, depth in zip(sentence.words, sentence.depths)]
    if not colored:
        return " ".join(f"{word}/{depth}" for word, depth in pairs)
    scale = (len(COLORS) - 1) / max(largest - 1, 1)
    return " ".join(f"\033[38;5;{COLORS[round((depth - 1) * scale)]}m{word}\033[0m" for word, depth in pairs)


def report_depths(counts: DepthCounts, read: Sequence[ReadSentence]) -> None:
    """Print how many words stop at each depth, and the shallowest and deepest frequent words."""
    print(f"\n{len(read):,} texts, {counts.words:,} words, mean depth {counts.mean:.2f} of {len(counts.counts)}\n")
    print(f"{'depth':>5} {'words':>9} {'share':>7}")
    for depth, count in enumerate(counts.counts, start=1):
        share = count / max(counts.words, 1)
        print(f"{depth:5} {count:9,} {100 * share:6.1f}% {'#' * round(40 * share)}")
    by_word: dict[str, list[int]] = defaultdict(list)
    for sentence in read:
        for word, depth in zip(sentence.words, sentence.depths):
            by_word[word].append(int(depth))
    means = sorted((sum(depths) / len(depths), word) for word, depths in by_word.items() if len(depths) >= 5)
    for which, chosen in (("shallowest", means[:15]), ("deepest", means[:-16:-1])):
        print(f"\n{which}: " + ", ".join(f"{printable(word)} {mean:.1f}" for mean, word in chosen))
    print()


def inspect_gates(arguments: argparse.Namespace, model: Any, texts: list[str], output: Path) -> None:
    """Print and draw the vertical gates."""
    histograms = GateHistograms(arguments.bins)
    for gates, mask in read_gates(model, texts):
        histograms.add(gates, mask)
    report_gates(histograms, len(texts))
    gate_histograms(histograms.layers, output)
    layers = {
        layer: {name: row.tolist() for name, row in h._asdict().items()} for layer, h in histograms.layers.items()
    }
    _, numbers = files_of("gates", output)
    write_json(numbers, {"sentences": len(texts), "words": histograms.words, "layers": layers})


def report_gates(histograms: GateHistograms, texts: int) -> None:
    """Print, for each layer, the means, and the fractions of gates that are nearly closed and nearly open."""
    print(f"{texts:,} texts, {histograms.words:,} words")
    print(f"\n{'layer':>5} {'mean g':>8} {'g < 0.1':>8} {'g > 0.9':>8} {'mean range':>11} {'mean |g - o|':>13}")
    tenth = histograms.bins // 10
    for layer, counts in sorted(histograms.layers.items()):
        whole = counts.gates.sum() / 100
        closed, opened = counts.gates[:tenth].sum() / whole, counts.gates[-tenth:].sum() / whole
        mean = histograms.means(layer)
        print(f"{layer:5} {mean.gates:8.3f} {closed:7.1f}% {opened:7.1f}% {mean.ranges:11.3f} {mean.differences:13.3f}")
    print()
