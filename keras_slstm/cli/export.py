"""Options of `keras-slstm export`."""

from __future__ import annotations

import argparse
from pathlib import Path

from keras_slstm.cli.names import FORMATS
from keras_slstm.cli.options import Parser
from keras_slstm.cli.training_options import add_search_options

SUMMARY = "Export a saved model for another runtime: SavedModel, ONNX, LiteRT, OpenVINO or PyTorch."
EXAMPLES = """
  keras-slstm export runs/mails/model.keras served              a SavedModel that takes strings
  keras-slstm export runs/mails/model.keras served --format ids
  keras-slstm export runs/mails/model.keras mails.onnx          and mails.json: labels and vocabulary
  keras-slstm export runs/notes/model.keras notes.tflite --beam 3
  KERAS_BACKEND=torch keras-slstm export runs/mails/model.keras mails.pt2

TensorFlow writes all formats but .pt2, PyTorch .onnx and .pt2 of models without a loop over time, JAX .onnx and
SavedModels that take ids. The formats of single files need: pip install "keras-slstm[export]" (on JAX "[export-jax]")
"""


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    group = parser.group("input and output")
    group.add("model", metavar="MODEL", shown="PATH", help="a saved .keras file")
    group.add(
        "target",
        metavar="TARGET",
        shown="PATH",
        type=Path,
        help="new folder of a SavedModel, or new .onnx, .tflite, .xml (OpenVINO) or .pt2 (PyTorch) file",
    )
    group.add(
        "--format",
        choices=("text", "ids", *FORMATS.values()),
        help="text: SavedModel that takes strings; ids: SavedModel that takes word ids; the others are files that "
        "take word ids (default: by the suffix of TARGET; for a folder text, or ids if the model translates)",
    )
    add_search_options(parser, beam=1)


def run(arguments: argparse.Namespace) -> int:
    """Write the model."""
    target = arguments.target
    beside = [".json", ".bin"] if target.suffix == ".xml" else [".json"] if target.suffix in FORMATS else []
    for path in [target, *map(target.with_suffix, beside)]:
        if path.exists():
            raise FileExistsError(f"{path} exists: choose a new name" + " for TARGET" * (path != target))
    from keras_slstm.cli.tasks.export import export

    return export(arguments)
