"""Options of `keras-slstm export`."""

from __future__ import annotations

import argparse
from pathlib import Path

from keras_slstm.cli.options import Parser

SUMMARY = "Write a saved model as a TensorFlow SavedModel that takes strings, or as ONNX."
EXAMPLES = "keras-slstm export runs/travel_desk-slstm/model.keras served"


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    group = parser.group("input and output")
    group.add("model", metavar="MODEL", shown="PATH", help="a saved .keras file")
    group.add("folder", metavar="FOLDER", shown="PATH", type=Path, help="new folder or new .onnx file to write")
    group.add(
        "--format",
        choices=("text", "ids", "onnx"),
        default="text",
        help="text: SavedModel that takes strings; ids: SavedModel that takes word ids; onnx: ONNX, takes word ids",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the model."""
    if arguments.folder.exists():
        raise FileExistsError(f"{arguments.folder} exists: choose a new name")
    from keras_slstm.cli.tasks.export import export

    return export(arguments)
