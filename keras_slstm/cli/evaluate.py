"""Options of `keras-slstm evaluate`."""

from __future__ import annotations

import argparse
from pathlib import Path

from keras_slstm.cli import options
from keras_slstm.cli.options import Parser
from keras_slstm.cli.training_options import add_reading_options, add_search_options

SUMMARY = "Test a saved model on labelled data."
EXAMPLES = """
  keras-slstm evaluate runs/travel_desk-slstm/model.keras travel_desk
  keras-slstm evaluate runs/mails/model.keras more_mails.tsv --output tested
  keras-slstm evaluate runs/conll2003-ner-slstm-crf/model.keras news.conll
  keras-slstm evaluate runs/notes/model.keras test.de --target-file test.en

With a data set, only the test part is used; with a file, all examples are used.
"""


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    group = parser.group("input and output")
    group.add("model", metavar="MODEL", shown="PATH", help="a saved .keras file")
    group.add("data", metavar="DATA", shown="PATH", help="your own file, or the name of a data set")
    group.add("--part", choices=("train", "validation", "test"), default="test", help="split to test on")
    group.add("--target-file", metavar="FILE", shown="PATH", help="file with the translations of DATA, line by line")
    group.add("--output", metavar="FOLDER", type=Path, shown="never",
              help="folder for predictions.tsv, confusion.png and results.json (default: write no files)")  # fmt: skip
    reading = parser.group("data")
    for name, meaning in {
        "text": "column of the texts",
        "first": "column of the first text of a pair",
        "second": "column of the second text of a pair",
        "label": "column of the labels or scores",
        "token": "column of the words to tag",
        "tag": "column of the tags",
    }.items():
        kind = options.column if name in ("token", "tag") else str
        reading.add(f"--{name}-column", metavar="NAME", type=kind, advanced=True,
                    help=f"{meaning} (default: as in the training commands)")  # fmt: skip
    add_reading_options(parser)
    add_search_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Test the model."""
    if arguments.output is not None and (arguments.output / "run.json").exists():
        raise FileExistsError(
            f"--output: {arguments.output} is the folder of a training run, whose results would be replaced: "
            "choose another folder"
        )
    from keras_slstm.cli.tasks.evaluate import evaluate

    return evaluate(arguments)
