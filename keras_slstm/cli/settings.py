"""Options for the settings in presets."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from keras_slstm.cli import options
from keras_slstm.cli.names import CHARACTERS, READOUTS
from keras_slstm.cli.options import Parser
from keras_slstm.cli.presets import Settings


class _Setting(NamedTuple):
    group: str
    metavar: str
    kind: Callable[[str], Any]
    meaning: str


def _of_model(metavar: str, kind: Callable[[str], Any], meaning: str) -> _Setting:
    return _Setting("model", metavar, kind, meaning)


def _of_training(metavar: str, kind: Callable[[str], Any], meaning: str) -> _Setting:
    return _Setting("training", metavar, kind, meaning)


SETTINGS = {
    "units": _of_model("N", options.count, "size of the encoder's states, for each direction"),
    "num_layers": _of_model("N", options.count, "number of layers"),
    "embedding_dim": _of_model("N", options.count, "numbers in a word vector"),
    "embeddings_initializer": _of_model(
        "NAME", str, "how word vectors that no file gives are drawn: wide, from N(0, 0.5), or an initializer of Keras"
    ),
    "min_count": _of_model(
        "N", options.natural, "words that occur less often are unknown words; 0: 2, or 1 for small texts"
    ),
    "split_words": _of_model(
        "WHEN",
        options.one_of("auto", "yes", "no"),
        "split clitics and words at hyphens; auto: if more have a vector so",
    ),
    "subwords": _of_model("N", options.count, "number of subwords in the vocabulary of both languages"),
    "longest": _of_model("N", options.count, "longest text to train on, in subwords"),
    "steps": _of_model("N", options.count, "steps of the S-LSTM"),
    "window": _of_model("N", options.count, "neighbours on each side that an S-LSTM word reads in a step"),
    "sentence_nodes": _of_model("N", options.count, "sentence nodes of the S-LSTM"),
    "readout": _of_model("PARTS", str, f"sentence vector of the S-LSTM: {', '.join(READOUTS)}"),
    "max_depth": _of_model("N", options.count, "largest number of layers of the depth-adaptive GRN"),
    "characters": _of_model("KIND", str, f"word vectors from characters: none, {' or '.join(CHARACTERS)}"),
    "mlp_units": _of_model("N", options.natural, "size of the hidden layers between encoder and labels; 0: none"),
    "mlp_layers": _of_model("N", options.count, "number of these hidden layers"),
    "dropout": _of_training("RATE", options.share, "share of the word vectors' and sentence vectors' features to drop"),
    "mlp_dropout": _of_training("RATE", options.share, "share of the hidden layers' features to drop"),
    "word_dropout": _of_training("RATE", options.share, "share of the words to replace by the unknown word"),
    "l2": _of_training("FACTOR", options.not_negative, "L2 penalty of the weights of the labels"),
    "label_smoothing": _of_training("SHARE", options.share, "share of the probability that all labels get alike"),
    "learning_rate": _of_training("RATE", options.positive, "learning rate of Adam in the first epoch"),
    "decay": _of_training(
        "FACTOR",
        options.factor,
        "factor by which the learning rate falls: over all updates, or else in each epoch, or see --plateau",
    ),
    "plateau": _of_training(
        "N", options.natural, "epochs without progress before --decay; 0: --decay goes on all the time"
    ),
    "clip": _of_training("NORM", options.positive, "largest norm of all gradients together"),
    "weight_decay": _of_training("RATE", options.not_negative, "weight decay of Adam"),
    "batch_size": _of_training("N", options.count, "examples in a batch, of all processes together"),
    "batch_order": _of_training(
        "KIND",
        options.one_of("auto", "by_length", "random"),
        "which examples make a batch; auto: those of similar length, but random ones under batch normalisation",
    ),
    "updates": _of_training(
        "N", options.natural, "updates of the weights to make, unless --epochs is given; 0: as many as --epochs take"
    ),
    "patience_updates": _of_training(
        "N", options.natural, "end the training after N updates without a better score; 0: never"
    ),
    "epochs": _of_training("N", options.count, "largest number of passes through the training part"),
    "patience": _of_training("N", options.count, "end the training after N epochs without a better score"),
    "beam": _of_model("N", options.count, "translations that the beam search keeps at each step"),
}


def add_settings(parser: Parser, presets: dict[str, Settings], visible: Collection[str]) -> None:
    """Add an option for everything that the presets set, with what each of them sets as its default.

    Args:
        parser: The parser.
        presets: The presets, the first of which holds the defaults.
        visible: The settings that `--help` lists, too.
    """
    first, *others = presets
    for name in presets[first]:
        setting = SETTINGS[name]
        values = [f"{preset} {presets[preset][name]}" for preset in others]
        different = [text for text, preset in zip(values, others) if presets[preset][name] != presets[first][name]]
        default = "; ".join([str(presets[first][name]), *different])
        parser.group(setting.group).add(
            f"--{name.replace('_', '-')}",
            type=setting.kind,
            metavar=setting.metavar,
            advanced=name not in visible,
            help=f"{setting.meaning} (default: {default})",
        )


def settings_of(arguments: Any, preset: Settings) -> Settings:
    """A preset with the options that were given."""
    given = {name: getattr(arguments, name) for name in preset}
    return {name: preset[name] if value is None else value for name, value in given.items()}
