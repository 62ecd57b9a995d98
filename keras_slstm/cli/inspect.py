"""Options of `keras-slstm inspect`."""

from __future__ import annotations

import argparse
from pathlib import Path

from keras_slstm.cli import options
from keras_slstm.cli.options import Parser, check_file

SUMMARY = "Draw the depths of the words, or the vertical gates, of a saved model."
EXAMPLES = """
  keras-slstm inspect runs/travel_desk-depth_adaptive_grn/model.keras
  keras-slstm inspect runs/movie_review-depth_adaptive_grn/model.keras "a twisted thriller , and a good film"
  keras-slstm inspect runs/office_notes-caslstm/model.keras --file notes.txt
  keras-slstm inspect runs/snli-caslstm/model.keras --dataset snli

For a depth-adaptive GRN, draw the layer at which each word stops: Figure 4 of Liu et al. (2020). For a CAS-LSTM of two
or more layers, draw histograms of its vertical gates: Figure 4 of Choi, Kim and Lee (2019).
"""


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    what = parser.group("input and output")
    what.add("model", metavar="MODEL", shown="PATH", help="a saved .keras file")
    what.add(
        "text", metavar="[TEXT ...]", nargs="*", help="texts whose depths to show (default: some of the counted texts)"
    )
    what.add("--file", metavar="FILE", shown="PATH", help="file of texts to count, one per line, instead of --dataset")
    what.add("--dataset", metavar="NAME",
             help="data set of texts to count (default: travel_desk; office_notes for translation models)")  # fmt: skip
    what.add("--text-column", nargs="+", metavar="NAME", advanced=True,
             help="features of --dataset to read (default: all texts)")  # fmt: skip
    what.add("--manual-dir", metavar="FOLDER", shown="PATH", advanced=True,
             help="folder with the original files of the data set (default: download them)")  # fmt: skip
    what.add("--data-dir", metavar="FOLDER", shown="never", advanced=True,
             help="folder in which TensorFlow Datasets keeps its data (default: its own)")  # fmt: skip
    what.add(
        "--limit",
        type=options.positive_int,
        default=1000,
        metavar="N",
        help="number of texts to count, drawn at random",
    )
    what.add("--seed", type=options.seed, default=0, metavar="N", advanced=True, help="seed for drawing them")
    what.add(
        "--show",
        type=options.positive_int,
        default=5,
        metavar="N",
        advanced=True,
        help="number of texts to show without TEXT",
    )
    what.add("--bins", type=options.number(int, "a multiple of 10", lambda n: n >= 10 and n % 10 == 0), default=50,
             metavar="N", advanced=True, help="bins in the histograms of gates, a multiple of 10")  # fmt: skip
    what.add("--output", type=Path, metavar="FILE", shown="never",
             help="picture to write (default: depths.png or gates.png next to the model)")  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Count, print and draw."""
    if arguments.file and arguments.dataset:
        raise ValueError("use either --dataset or --file, not both")
    if arguments.file:
        check_file(arguments.file, "--file")
    from keras_slstm.cli.tasks.inspect import inspect

    return inspect(arguments)
