"""Options of `keras-slstm translate`."""

from __future__ import annotations

import argparse

from keras_slstm.cli import options
from keras_slstm.cli.names import CELLS
from keras_slstm.cli.options import Parser, check_file
from keras_slstm.cli.presets import load_presets
from keras_slstm.cli.settings import add_settings
from keras_slstm.cli.training_options import (
    add_dtype,
    add_limit,
    add_reading_options,
    add_run_options,
    set_folder,
)

SUMMARY = "Train a translation model on text pairs."
EXAMPLES = """
  keras-slstm translate                                 notes with amounts and times; no download
  keras-slstm translate --source-file train.de --target-file train.en --preset paper
  keras-slstm translate --dataset office_notes/to_words --cell lstm
  keras-slstm translate --equal-parameters --output runs/office_notes-equal --seed 0 1 2
  keras-slstm translate --dataset ted_hrlr_translate/pt_to_en

Run the same command again to resume an interrupted run. A finished run is kept.
"""
FILES = tuple(f"{part}_{side}" for part in ("validation", "test") for side in ("source", "target"))


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    data = parser.group("data")
    data.add("--dataset", nargs="+", default=[], metavar="NAME",
             help="names of data sets, with one training run for each: office_notes/to_figures, office_notes/to_words, "
             "any of TFDS with translations (default: office_notes)")  # fmt: skip
    data.add("--source-file", metavar="FILE", shown="PATH", help="your own texts, one per line, instead of --dataset")
    data.add("--target-file", metavar="FILE", shown="PATH", help="their translations, one per line")
    for name in FILES:
        part, side = name.split("_")
        data.add(f"--{part}-{side}", metavar="FILE", shown="PATH", advanced=True,
                 help=f"{side} texts of the {part} split (default: a tenth of the pairs)")  # fmt: skip
    for side in ("source", "target"):
        data.add(f"--{side}-language", metavar="NAME", advanced=True,
                 help=f"{side} language of --dataset (default: that of the data set)")  # fmt: skip
    add_reading_options(parser)
    add_limit(parser, "pairs")
    model = parser.group("model")
    model.add("--cell", choices=CELLS, default="caslstm", help="recurrent layers of the encoder and the decoder")
    model.add("--cell-option", nargs="+", default=[], type=options.name_and_value, metavar="NAME=VALUE",
              advanced=True, help="more arguments for these layers, such as lam=0.25")  # fmt: skip
    model.add("--bidirectional", action=argparse.BooleanOptionalAction, advanced=True,
              help="read texts in both directions (default: only with --preset small)")  # fmt: skip
    model.add("--equal-parameters", action="store_true", advanced=True,
              help="adjust --units to match the number of parameters of LSTM layers of --units")  # fmt: skip
    presets = load_presets("translate")
    model.add(
        "--preset", choices=tuple(presets), default="small", help="set of defaults, small or of the CAS-LSTM paper"
    )
    add_dtype(parser)
    add_settings(parser, presets, visible=("units", "epochs"))
    model.add("--length-penalty", type=options.non_negative_float, default=1.0, metavar="POWER", advanced=True,
              help="divide scores by this power of the length; 0 prefers short translations")  # fmt: skip
    model.add("--max-length", type=options.positive_int, metavar="N", advanced=True,
              help="maximum length in subwords (default: twice the length of the text, plus 10)")  # fmt: skip
    add_run_options(parser, "runs/DATA-CELL", devices=False)


def check(arguments: argparse.Namespace) -> None:
    """Raise ValueError for contradictory options; set the defaults that depend on other options."""
    given = vars(arguments)
    for source, target in (("source_file", "target_file"), FILES[:2], FILES[2:]):
        files = [name for name in (source, target) if given[name]]
        if len(files) == 1:
            raise ValueError(f"--{source.replace('_', '-')} and --{target.replace('_', '-')} must be used together")
        if files and not arguments.source_file:
            raise ValueError(f"--{source.replace('_', '-')} needs --source-file")
        for name in files:
            check_file(given[name], f"--{name.replace('_', '-')}")
    for side in ("source", "target"):
        if arguments.source_file and given[f"{side}_language"]:
            raise ValueError(f"--{side}-language needs --dataset")
    if arguments.source_file and arguments.dataset:
        raise ValueError("use either --dataset or --source-file, not both")
    arguments.dataset = arguments.dataset or ["office_notes"]
    arguments.data = arguments.source_file
    set_folder(arguments, arguments.cell)


def run(arguments: argparse.Namespace) -> int:
    """Train."""
    check(arguments)
    from keras_slstm.cli.tasks.translate import translate

    return translate(arguments)
