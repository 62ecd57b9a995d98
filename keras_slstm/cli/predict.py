"""Options of `keras-slstm predict`."""

from __future__ import annotations

import argparse
import sys

from keras_slstm.cli.options import Parser, check_file
from keras_slstm.cli.training_options import add_search_options

SUMMARY = "Use a saved model: label, match, tag or translate texts."
EXAMPLES = """
  keras-slstm predict runs/travel_desk-slstm/model.keras "I need a car in Rome"
  keras-slstm predict runs/mails/model.keras --file new.txt > labels.tsv
  keras-slstm predict runs/sick-entailment-bi_caslstm/model.keras "A man runs" "A man sleeps"

Each text gets one line: a classifier prints label, probability and text, separated by tabs; a tagger prints the text
with its spans; a translation model prints translation, score and text. Every line of a file or of standard input is a
text, even an empty one. A pair model takes the texts two by two, and leaves out empty lines with a note.
"""


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    group = parser.group("input and output")
    group.add("model", metavar="MODEL", help="a saved .keras file")
    group.add("text", metavar="[TEXT ...]", nargs="*", help="texts to read (default: --file, or standard input)")
    group.add("--file", metavar="FILE", help="file with one text per line; for pairs, two texts separated by a tab")
    add_search_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Predict."""
    if not arguments.text and not arguments.file and sys.stdin.isatty():
        raise ValueError("there is no text: pass TEXT or --file, or pipe texts to standard input")
    if arguments.file:
        check_file(arguments.file, "--file")
    from keras_slstm.cli.tasks.predict import predict

    return predict(arguments)
