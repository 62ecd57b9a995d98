"""Options of `keras-slstm classify`."""

from __future__ import annotations

import argparse

from keras_slstm.cli import options
from keras_slstm.cli.names import CHARACTERS
from keras_slstm.cli.options import Parser
from keras_slstm.cli.presets import load_presets
from keras_slstm.cli.settings import add_settings
from keras_slstm.cli.training_options import (
    add_data_options,
    add_encoder_options,
    add_pooling,
    add_run_options,
    add_stream,
    add_text_options,
    add_vector_options,
    check_data_options,
    check_encoder_settings,
    check_stream,
    set_folder,
)

SUMMARY = "Train a text classifier, for example for intents, topics or sentiment."
EXAMPLES = """
  keras-slstm classify                                  requests to a travel desk; no download
  keras-slstm classify --data mails.tsv --output runs/mails
  keras-slstm classify --data mails.tsv.gz --stream --dev-data dev.tsv --test-data test.tsv
  keras-slstm classify --dataset movie_review --vectors glove.6B.300d.txt --seed 0 1 2
  keras-slstm classify --dataset subj --folds 10
  keras-slstm classify --dataset fdu_mtl/all            all domains, with a table
  keras-slstm classify --dataset sst/phrases_2 --encoder bi_caslstm --vectors glove.840B.300d.txt
  keras-slstm classify --dataset trec/fine --architecture bcn --encoder subilstm
  keras-slstm classify --encoder subilstm --variants combine=max combine=mean combine=concat combine=gate
  keras-slstm classify --workers 2 --restarts 3 --save-every 20

Run the same command again to resume an interrupted run. A finished run is kept.
"""
DATASET = "travel_desk"


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    add_data_options(parser, DATASET, "travel_desk, movie_review, trec, sst, any of TFDS")
    data = parser.group("data")
    data.add("--text-column", metavar="NAME", advanced=True, help="column of the texts (default: text)")
    add_text_options(parser)
    data.add("--max-length", type=options.positive_int, metavar="N", advanced=True,
             help="read only the first N words of each text (default: all)")  # fmt: skip
    add_stream(parser)
    data.add("--folds", type=options.at_least_two, metavar="N", advanced=True,
             help="cross-validate with N folds, for data without a test part (default: none)")  # fmt: skip
    data.add("--fold", type=options.positive_int, nargs="+", metavar="I", advanced=True,
             help="of the --folds, train only these, counted from 1 (default: all)")  # fmt: skip
    add_vector_options(parser, "train them, except for bcn and depth-adaptive-grn")
    presets = load_presets("classify")
    add_encoder_options(parser, "slstm", presets, "small for travel_desk and --data, else that of the paper")
    parser.group("model").add("--architecture", choices=("bcn",),
                              help="bcn: biattentive classification network (default: a softmax layer)")  # fmt: skip
    add_pooling(parser)
    add_settings(parser, presets, visible=("units", "updates"))
    add_run_options(parser, "runs/DATA-ENCODER", ensemble=True)
    parser.group("run").add("--speed", action="store_true", advanced=True,
                            help="measure the texts per second in batches of 100")  # fmt: skip
    parser.hide("architecture")


def check(arguments: argparse.Namespace) -> None:
    """Raise ValueError for contradictory options; set the defaults that depend on other options."""
    check_data_options(arguments, DATASET)
    if arguments.folds and (arguments.dev_data or arguments.test_data):
        raise ValueError("--folds splits --data itself: remove --dev-data and --test-data")
    if arguments.fold and not arguments.folds:
        raise ValueError("--fold needs --folds")
    if arguments.fold and max(arguments.fold) > arguments.folds:
        raise ValueError(f"--fold {max(arguments.fold)}: there are only {arguments.folds} --folds")
    if arguments.fold and len(set(arguments.fold)) < len(arguments.fold):
        raise ValueError("--fold names a fold more than once: name each fold once")
    check_encoder_settings(arguments)
    check_stream(arguments)
    if arguments.architecture and (arguments.pooling or arguments.mlp_units):
        raise ValueError(f"--architecture {arguments.architecture} has its own pooling and output layers: "
                         "remove --pooling and --mlp-units")  # fmt: skip
    if arguments.readout and (arguments.pooling or arguments.architecture):
        other = f"--architecture {arguments.architecture}" if arguments.architecture else "--pooling"
        raise ValueError(f"--readout has no effect with {other}, which reads the words: remove one of them")
    if arguments.characters not in (None, "none", *CHARACTERS):
        raise ValueError(f"--characters must be none, {' or '.join(CHARACTERS)}, but got {arguments.characters}")
    set_folder(arguments, arguments.encoder, arguments.pooling, arguments.architecture)


def run(arguments: argparse.Namespace) -> int:
    """Train."""
    check(arguments)
    from keras_slstm.cli.tasks.classify import classify

    return classify(arguments)
