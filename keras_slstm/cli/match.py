"""Options of `keras-slstm match`."""

from __future__ import annotations

import argparse

from keras_slstm.cli.names import FEATURES, PAIR_ARCHITECTURES
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
    check_stream,
    set_folder,
)

SUMMARY = "Train a classifier of text pairs, for inference, paraphrases or relatedness."
EXAMPLES = """
  keras-slstm match --manual-dir PATH --vectors glove.840B.300d.txt          SICK, from a folder or downloaded
  keras-slstm match --data pairs.tsv --task paraphrase --output runs/pairs
  keras-slstm match --data pairs.jsonl.zst --stream --dev-data dev.jsonl --test-data test.jsonl
  keras-slstm match --dataset sick/relatedness --encoder stacked_bilstm --pooling max --seed 0 1 2
  keras-slstm match --dataset snli --vectors glove.840B.300d.txt --encoder-option num_layers=3
  keras-slstm match --vectors glove.840B.300d.txt --variants lam=0.5 lam=0.25 lam=trainable lam=null peephole=true
  keras-slstm match --architecture esim --encoder bilstm --seed 0 1 2 3 4 --ensemble
  keras-slstm match --architecture siamese --dataset qqp --encoder subilstm_untied

Your own data has the columns text_a, text_b and label; with --task relatedness the label is a number. Run the same
command again to resume an interrupted run. A finished run is kept.
"""
DATASET = "sick/entailment"


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    add_pair_options(parser, DATASET, "bi_caslstm", visible=("updates",))
    add_stream(parser)
    add_run_options(parser, "runs/DATA-ENCODER", ensemble=True)
    parser.hide("architecture")


def add_pair_options(parser: Parser, dataset: str, encoder: str, visible: tuple[str, ...]) -> None:
    """Add the data and model options of pairs; `--help` lists the settings in `visible`."""
    data = parser.group("data")
    add_data_options(parser, dataset, "snli, multi_nli/matched, sick/entailment, stsb, mrpc, qqp, any of TFDS", "pairs")
    data.add("--task", choices=tuple(FEATURES),
             help="relation between the two texts (default: that of the data set; inference for --data)")  # fmt: skip
    data.add("--first-column", metavar="NAME", advanced=True,
             help="column of the first text (default: text_a, premise, sentence1 ...)")  # fmt: skip
    data.add("--second-column", metavar="NAME", advanced=True,
             help="column of the second text (default: text_b, hypothesis, sentence2 ...)")  # fmt: skip
    data.add("--score-range", nargs=2, type=int, metavar=("LOW", "HIGH"), advanced=True,
             help="lowest and highest possible score (default: those of the training split)")  # fmt: skip
    add_text_options(parser)
    add_vector_options(parser, "keep them, except for siamese and esim")
    presets = load_presets("match")
    add_encoder_options(parser, encoder, presets, "small for --data, else that of --architecture, else paper")
    model = parser.group("model")
    model.add("--architecture", choices=tuple(PAIR_ARCHITECTURES),
              help="model around the encoder (default: that of the CAS-LSTM paper)")  # fmt: skip
    add_pooling(parser)
    model.add("--features", choices=("inference", "paraphrase"), advanced=True,
              help="how to combine the vectors of a pair, eq. 15 or 16 (default: as --task needs)")  # fmt: skip
    model.add("--batch-norm", action=argparse.BooleanOptionalAction, advanced=True,
              help="use batch normalisation in the hidden layers (default: only without --architecture)")  # fmt: skip
    add_settings(parser, presets, visible)


def check(arguments: argparse.Namespace, dataset: str = DATASET) -> None:
    """Raise ValueError for contradictory options; set the defaults that depend on other options."""
    check_data_options(arguments, dataset)
    check_stream(arguments)
    if arguments.stream and arguments.task == "relatedness":
        raise ValueError("--stream needs labels, but --task relatedness has scores: remove one of them")
    own = arguments.pooling or arguments.features or arguments.batch_norm or arguments.mlp_dropout is not None
    if arguments.architecture == "esim" and own:
        raise ValueError("--architecture esim does not support --pooling, --features, --batch-norm or --mlp-dropout")
    set_folder(arguments, arguments.encoder, arguments.pooling, arguments.architecture)


def run(arguments: argparse.Namespace) -> int:
    """Train."""
    check(arguments)
    from keras_slstm.cli.tasks.match import match

    return match(arguments)
