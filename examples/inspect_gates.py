"""Draw what the vertical gates of a trained CAS-LSTM let through: Figure 4 of Choi, Kim and Lee (ACML 2019).

Of a saved classifier (of sentences or pairs) or translation model with a CAS-LSTM of at least two layers in it, over
1,000 sentences of the embedded corpus, of a data set, or of your own file with one sentence a line:

    python examples/classify_text.py --encoder caslstm --encoder-option num_layers=3
    python examples/inspect_gates.py --model runs/travel_desk-caslstm/model.keras
    python examples/inspect_gates.py --model runs/office_notes-caslstm/model.keras --file notes.txt
    python examples/inspect_gates.py --model runs/snli-caslstm/model.keras --dataset snli

For each layer above the first: the values of the gate g, how far they spread over the units of a word, and how far they
are from the output gate of the layer below, which chooses from the same cell.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # TensorFlow is talkative

import keras
from _common import fail

from keras_slstm.datasets.any_texts import read_any_texts
from keras_slstm.datasets.readers import read_lines
from keras_slstm.files import write_json
from keras_slstm.models.gate_histograms import GateHistograms, read_gates
from keras_slstm.models.seq2seq import Seq2Seq
from keras_slstm.plots import check_picture_name, gate_histograms


def main() -> int:
    """Count, print and draw; the exit status."""
    args = parse_arguments()
    try:
        check_picture_name(args.output)
        model = keras.saving.load_model(args.model)
        texts = choose_texts(args, model)
        histograms = GateHistograms(args.bins)
        for gates, mask in read_gates(model, texts):
            histograms.add(gates, mask)
    except (ValueError, OSError, TypeError, ImportError) as error:  # TypeError: Keras, of a class that it does not know
        return fail(error)
    report(histograms, len(texts))
    gate_histograms(histograms.layers, args.output)
    counts = {
        layer: {name: row.tolist() for name, row in h._asdict().items()} for layer, h in histograms.layers.items()
    }
    numbers = args.output.with_suffix(".json")
    write_json(numbers, {"sentences": len(texts), "words": histograms.words, "layers": counts})
    print(f"Wrote {args.output} and the counts behind it, {numbers}")
    return 0


def choose_texts(args: argparse.Namespace, model: keras.Model) -> list[str]:
    """The sentences to read: at most `--limit`, drawn at random."""
    if args.file:
        texts = read_lines(args.file)
    else:
        default = "office_notes" if isinstance(model, Seq2Seq) else "travel_desk"
        texts = read_any_texts(args.dataset or default, args.data_dir, args.manual_dir, args.text_column)
    draw = random.Random(args.seed).random
    return sorted(texts, key=lambda _: draw())[: args.limit]


def report(histograms: GateHistograms, sentences: int) -> None:
    """Print the means of each layer, and how many gates are nearly closed and nearly open."""
    print(f"{sentences:,} sentences, {histograms.words:,} words")
    print(f"\n{'layer':>5} {'mean g':>8} {'g < 0.1':>8} {'g > 0.9':>8} {'mean range':>11} {'mean |g - o|':>13}")
    for layer, counts in sorted(histograms.layers.items()):
        tenth = max(histograms.bins // 10, 1)
        closed, opened = (
            100 * part.sum() / counts.gates.sum() for part in (counts.gates[:tenth], counts.gates[-tenth:])
        )
        mean = histograms.means(layer)
        print(f"{layer:5} {mean.gates:8.3f} {closed:7.1f}% {opened:7.1f}% {mean.ranges:11.3f} {mean.differences:13.3f}")
    print()


def parse_arguments() -> argparse.Namespace:
    """The command line, with a default for `--output`."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--model", required=True, type=Path, help="a saved .keras file")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--file", help="sentences, one a line")
    source.add_argument("--dataset", metavar="NAME", help="(default: travel_desk; of translation models office_notes)")
    parser.add_argument("--text-column", nargs="+", help="features of the data set to read (default: all texts)")
    parser.add_argument("--data-dir", help="where TFDS keeps its data")
    parser.add_argument("--manual-dir", help="folder with original files that were downloaded by hand")
    parser.add_argument("--limit", type=int, default=1000, help="number of sentences, drawn at random (1000)")
    parser.add_argument("--seed", type=int, default=0, help="of the drawing")
    parser.add_argument("--bins", type=int, default=50, help="of the histograms, a multiple of 10")
    parser.add_argument("--output", type=Path, help="the picture (default: gates.png beside the model)")
    args = parser.parse_args()
    if args.limit < 1:
        parser.error(f"--limit must be at least 1, but got {args.limit}")
    if args.bins < 10 or args.bins % 10:
        parser.error(f"--bins must be a multiple of 10, but got {args.bins}")
    args.output = args.output or args.model.parent / "gates.png"
    return args


if __name__ == "__main__":
    sys.exit(main())
