"""Show how deep a trained depth-adaptive GRN goes for each word: Figure 4 of Liu et al. (2020).

Of a saved sentence classifier with a `DepthAdaptiveGRN` in it: as coloured text and as a heat map for sentences of your
own (or some of the texts), and as a histogram over the words of the embedded corpus, of a data set, or of your own file
with one text a line:

    python examples/classify_text.py --encoder depth_adaptive_grn
    python examples/inspect_depth.py --model runs/travel_desk-depth_adaptive_grn/model.keras
    python examples/inspect_depth.py --model runs/travel_desk-depth_adaptive_grn/model.keras --file texts.txt
    python examples/inspect_depth.py --model runs/movie_review-depth_adaptive_grn/model.keras --dataset movie_review \
        --sentence "a twisted thriller , and a good film"
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # TensorFlow is talkative

import keras
from _common import fail

from keras_slstm.datasets.any_texts import read_any_texts
from keras_slstm.datasets.readers import read_lines
from keras_slstm.files import write_json
from keras_slstm.models.word_depths import DepthCounts, ReadSentence, find_grn, read_depths
from keras_slstm.plots import check_picture_name, depth_histogram, word_depths

# Of the 256 colours of terminals: dark ones for shallow words, bright ones for deep words.
COLOURS = (240, 67, 32, 36, 40, 148, 184, 214, 208, 196)


def main() -> int:
    """Read, print and draw; the exit status."""
    args = parse_arguments()
    try:
        check_picture_name(args.output)
        model = keras.saving.load_model(args.model)
        layer = find_grn(model)
        texts = choose_texts(args)
        read = read_depths(model, texts)
        shown = read_depths(model, args.sentence) if args.sentence else read[: args.show]
        counts = DepthCounts(layer.max_depth)
        for sentence in read:
            counts.add(sentence.depths)
    except (ValueError, OSError, TypeError, ImportError) as error:  # TypeError: Keras, of a class that it does not know
        return fail(error)
    for sentence in shown:
        print(coloured(sentence, layer.max_depth) if args.colour else plain(sentence))
    report(counts, read)
    histogram, numbers = (
        args.output.with_name(f"{args.output.stem}-histogram{s}") for s in (args.output.suffix, ".json")
    )
    word_depths(shown, layer.max_depth, args.output)
    depth_histogram(counts.counts, histogram)
    write_json(
        numbers, {"texts": len(texts), "words": counts.words, "mean": counts.mean, "counts": counts.counts.tolist()}
    )
    print(f"Wrote {args.output}, {histogram} and the counts behind it, {numbers}")
    return 0


def choose_texts(args: argparse.Namespace) -> list[str]:
    """The texts to read: at most `--limit`, drawn at random."""
    if args.file:
        texts = read_lines(args.file)
    else:
        texts = read_any_texts(args.dataset, args.data_dir, args.manual_dir, args.text_column)
    draw = random.Random(args.seed).random
    return sorted(texts, key=lambda _: draw())[: args.limit]


def coloured(sentence: ReadSentence, max_depth: int) -> str:
    """The words, coloured by their depth, for a terminal."""
    words = []
    for word, depth in zip(sentence.words, sentence.depths):
        colour = COLOURS[round((depth - 1) / max(max_depth - 1, 1) * (len(COLOURS) - 1))]
        words.append(f"\033[38;5;{colour}m{word}\033[0m")
    return " ".join(words)


def plain(sentence: ReadSentence) -> str:
    """The words, each with its depth."""
    return " ".join(f"{word}/{depth}" for word, depth in zip(sentence.words, sentence.depths))


def report(counts: DepthCounts, read: Sequence[ReadSentence]) -> None:
    """Print how many words go how deep, and which frequent words are the shallowest and the deepest."""
    print(f"\n{len(read):,} texts, {counts.words:,} words, mean depth {counts.mean:.2f} of {len(counts.counts)}\n")
    print(f"{'depth':>5} {'words':>9} {'share':>7}")
    for depth, count in enumerate(counts.counts, start=1):
        share = count / max(counts.words, 1)
        print(f"{depth:5} {count:9,} {100 * share:6.1f}% {'#' * round(40 * share)}")
    by_word: dict[str, list[int]] = defaultdict(list)
    for sentence in read:
        for word, depth in zip(sentence.words, sentence.depths):
            by_word[word].append(int(depth))
    frequent = [word for word, depths in by_word.items() if len(depths) >= 5]
    means = sorted((sum(by_word[word]) / len(by_word[word]), word) for word in frequent)
    for which, chosen in (("shallowest", means[:15]), ("deepest", means[:-16:-1])):
        print(f"\n{which}: " + ", ".join(f"{word} {mean:.1f}" for mean, word in chosen))
    print()


def parse_arguments() -> argparse.Namespace:
    """The command line, with a default for `--output`."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--model", required=True, type=Path, help="a saved .keras file")
    parser.add_argument("--sentence", action="append", default=[], metavar="TEXT", help="to be shown; may be repeated")
    parser.add_argument("--show", type=int, default=5, help="without --sentence: how many of the texts to show (5)")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--file", help="texts, one a line")
    source.add_argument("--dataset", metavar="NAME", default="travel_desk", help="(travel_desk)")
    parser.add_argument("--text-column", nargs="+", help="features of the data set to read (default: all texts)")
    parser.add_argument("--data-dir", help="where TFDS keeps its data")
    parser.add_argument("--manual-dir", help="folder with original files that were downloaded by hand")
    parser.add_argument("--limit", type=int, default=1000, help="number of texts, drawn at random (1000)")
    parser.add_argument("--seed", type=int, default=0, help="of the drawing")
    parser.add_argument(
        "--colour",
        action=argparse.BooleanOptionalAction,
        help="colours instead of numbers (on a terminal)",
    )
    parser.add_argument("--output", type=Path, help="the heat map (default: depths.png beside the model)")
    args = parser.parse_args()
    for name, least in (("limit", 1), ("show", 1)):
        if vars(args)[name] < least:
            parser.error(f"--{name} must be at least {least}, but got {vars(args)[name]}")
    args.output = args.output or args.model.parent / "depths.png"
    args.colour = sys.stdout.isatty() if args.colour is None else args.colour
    return args


if __name__ == "__main__":
    sys.exit(main())
