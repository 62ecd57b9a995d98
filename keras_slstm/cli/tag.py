"""Options of `keras-slstm tag`."""

from __future__ import annotations

import argparse

from keras_slstm.cli import options
from keras_slstm.cli.names import CHARACTERS, CRF_LOSSES, HEADS, WEIGHTINGS
from keras_slstm.cli.options import Parser
from keras_slstm.cli.presets import load_presets
from keras_slstm.cli.settings import add_settings
from keras_slstm.cli.training_options import (
    add_data_options,
    add_encoder_options,
    add_run_options,
    add_stream,
    add_vector_options,
    check_data_options,
    check_encoder_settings,
    check_stream,
    set_folder,
)

SUMMARY = "Train a sequence tagger, for example for named entities, slots or parts of speech."
EXAMPLES = """
  keras-slstm tag                                       slots of requests to a travel desk; no download
  keras-slstm tag --data mails.conll --test-data more.conll
  keras-slstm tag --data mails.conll.gz --stream --dev-data dev.conll --test-data test.conll
  keras-slstm tag --task ner --manual-dir PATH --vectors glove.6B.300d.txt --seed 0 1
  keras-slstm tag --task pos --tag-column xpos --encoder bilstm --head softmax

Run the same command again to resume an interrupted run. A finished run is kept.
"""
# The data set and the tag scheme of each task.
TASKS = {"slots": ("travel_desk", "BIOES"), "ner": ("conll2003", "BIOES"), "pos": ("ud_ewt", None)}


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    data = parser.group("data")
    data.add("--task", choices=TASKS, default="slots", help="kind of tags, which sets --dataset and --scheme")
    add_data_options(parser, "that of the task", "travel_desk, conll2003, ud_ewt", "sentences")
    data.add("--token-column", type=options.column, metavar="COLUMN", advanced=True,
             help="index or name of the column of words (default: the first)")  # fmt: skip
    data.add("--tag-column", type=options.column, metavar="COLUMN",
             help="index or name of the column of tags (default: the last)")  # fmt: skip
    data.add("--scheme", choices=("BIO", "BIOES", "none"), advanced=True,
             help="scheme of tags for spans (default: BIOES for slots and ner, none for pos)")  # fmt: skip
    data.add("--zero-digits", action="store_true", advanced=True, help="look up words with every digit replaced by 0")
    add_stream(parser)
    add_vector_options(parser)
    presets = load_presets("tag")
    add_encoder_options(parser, "slstm", presets, "small for travel_desk and --data, else that of the paper")
    model = parser.group("model")
    model.add("--head", choices=HEADS, default="crf", help="output layer that chooses the tags")
    model.add("--head-option", nargs="+", default=[], type=options.name_and_value, metavar="NAME=VALUE",
              advanced=True, help="more arguments for the head")  # fmt: skip
    model.add("--loss", choices=CRF_LOSSES, default="crf", advanced=True,
              help="loss of a CRF: likelihood, or softmax-margin with costs of wrong labels")  # fmt: skip
    model.add("--label-weights", nargs="+", default=[], type=options.name_and_factor, metavar="NAME=FACTOR",
              advanced=True, help="weights in the loss of labels, or of all labels of a span type, such as PER=3; "
              "with --loss margin, the costs of missing them (default: 1)")  # fmt: skip
    model.add("--weighting", choices=WEIGHTINGS, advanced=True,
              help="terms of the likelihood that --label-weights multiply (default: emission)")  # fmt: skip
    model.add("--characters", choices=(*CHARACTERS, "none"), advanced=True,
              help="kind of word vectors from characters (default: cnn; with --stream, none)")  # fmt: skip
    add_settings(parser, presets, visible=("updates",))
    add_run_options(parser, "runs/DATA-TASK-ENCODER-HEAD", devices=False)
    parser.hide("tag_column", "head")


def check(arguments: argparse.Namespace) -> None:
    """Raise ValueError for contradictory options; set the defaults that depend on other options."""
    dataset, scheme = TASKS[arguments.task]
    check_data_options(arguments, dataset)
    check_encoder_settings(arguments)
    check_stream(arguments)
    arguments.characters = arguments.characters or ("none" if arguments.stream else "cnn")
    if arguments.head != "crf" and (arguments.loss != "crf" or arguments.label_weights):
        raise ValueError("--loss and --label-weights need --head crf")
    if arguments.weighting and (arguments.loss != "crf" or not arguments.label_weights):
        raise ValueError("--weighting needs --label-weights and --loss crf")
    arguments.scheme = None if arguments.scheme == "none" else arguments.scheme or scheme
    set_folder(arguments, arguments.task, arguments.encoder, arguments.head)


def run(arguments: argparse.Namespace) -> int:
    """Train."""
    check(arguments)
    from keras_slstm.cli.tasks.tag import tag

    return tag(arguments)
