"""Options for the settings of presets."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from keras_slstm.cli import options
from keras_slstm.cli.names import CHARACTERS, OPTIMIZERS, READOUTS
from keras_slstm.cli.options import Parser
from keras_slstm.cli.presets import Settings


class _Setting(NamedTuple):
    group: str
    metavar: str
    kind: Callable[[str], Any]
    meaning: str

    def shown(self, value: Any) -> str:
        """A value in a preset, for the help."""
        return "none" if value == 0 and self.kind is options.positive_int else str(value)


def _of_model(metavar: str, kind: Callable[[str], Any], meaning: str) -> _Setting:
    return _Setting("model", metavar, kind, meaning)


def _of_training(metavar: str, kind: Callable[[str], Any], meaning: str) -> _Setting:
    return _Setting("training", metavar, kind, meaning)


SETTINGS = {
    "units": _of_model(
        "N", options.positive_int, "size of the encoder's states in each direction; for translate, of both together"
    ),
    "num_layers": _of_model("N", options.positive_int, "number of layers"),
    "embedding_dim": _of_model("N", options.positive_int, "size of the word vectors"),
    "embedding_stddev": _of_model(
        "STD", options.positive_float, "standard deviation of the word vectors before training"
    ),
    "context_gain": _of_model(
        "FACTOR", options.positive_float, "factor on the weights that read the attended words, before training"
    ),
    "embeddings_initializer": _of_model(
        "NAME", str, "initializer for words without a vector: wide (normal, standard deviation 0.5) or one of Keras"
    ),
    "min_count": _of_model(
        "N", options.non_negative_int, "treat rarer words as unknown; 0 means 2, or 1 for little text"
    ),
    "split_words": _of_model(
        "WHEN",
        options.one_of("auto", "yes", "no"),
        "whether to split off clitics and to split at hyphens; auto: if more words then have a vector",
    ),
    "subwords": _of_model("N", options.positive_int, "number of subwords in the vocabulary of both languages"),
    "longest": _of_model(
        "N", options.positive_int, "maximum length of training texts in subwords; longer ones are skipped"
    ),
    "steps": _of_model("N", options.positive_int, "number of steps of the S-LSTM"),
    "window": _of_model("N", options.positive_int, "number of neighbours on each side that a word of the S-LSTM reads"),
    "sentence_nodes": _of_model("N", options.positive_int, "number of sentence nodes of the S-LSTM"),
    "readout": _of_model("PARTS", str, f"parts of the S-LSTM that make the sentence vector: {', '.join(READOUTS)}"),
    "max_depth": _of_model("N", options.positive_int, "maximum number of layers of the depth-adaptive GRN"),
    "characters": _of_model("KIND", str, f"kind of word vectors from characters: none, {' or '.join(CHARACTERS)}"),
    "mlp_units": _of_model(
        "N", options.non_negative_int, "size of hidden layers between encoder and labels; 0 for none"
    ),
    "mlp_layers": _of_model("N", options.positive_int, "number of these hidden layers"),
    "dropout": _of_training(
        "RATE", options.fraction, "dropout rate of the word vectors; for esim and translate, also of later layers"
    ),
    "mlp_dropout": _of_training("RATE", options.fraction, "dropout rate before and after the hidden layers"),
    "word_dropout": _of_training("RATE", options.fraction, "fraction of the words to replace with the unknown word"),
    "l2": _of_training("FACTOR", options.non_negative_float, "L2 penalty on the weights of the output layer"),
    "label_smoothing": _of_training("SHARE", options.fraction, "fraction of the probability to spread over all labels"),
    "optimizer": _of_training(
        "NAME",
        options.one_of(*OPTIMIZERS),
        "adam, or muon for recurrent kernels of the S-LSTM and the GRN and Adam for all other weights",
    ),
    "learning_rate": _of_training("RATE", options.positive_float, "learning rate in the first epoch"),
    "recurrent_multiplier": _of_training(
        "FACTOR", options.positive_float, "factor on the learning rate for recurrent kernels of the S-LSTM and the GRN"
    ),
    "decay": _of_training(
        "FACTOR",
        options.factor,
        "factor that lowers the learning rate: over all updates, in each epoch, or as --plateau says; 0: linearly to "
        "zero over --updates, or over --epochs if they take longer",
    ),
    "plateau": _of_training(
        "N", options.non_negative_int, "epochs without progress before --decay applies; 0: it always applies"
    ),
    "clip": _of_training("NORM", options.positive_float, "maximum global norm of the gradients"),
    "weight_decay": _of_training("RATE", options.non_negative_float, "weight decay"),
    "batch_size": _of_training("N", options.positive_int, "batch size, summed over all processes"),
    "batch_order": _of_training(
        "KIND",
        options.one_of("auto", "by_length", "random"),
        "how to group examples into batches; auto: by_length, but random with batch normalisation",
    ),
    "updates": _of_training(
        "N",
        options.non_negative_int,
        "number of weight updates, unless --epochs is given; 0: as many as --epochs needs",
    ),
    "patience_updates": _of_training(
        "N", options.non_negative_int, "stop after N updates without a better score; 0: never"
    ),
    "epochs": _of_training("N", options.positive_int, "maximum number of passes through the training split"),
    "patience": _of_training("N", options.positive_int, "stop after N epochs without a better score"),
    "beam": _of_model("N", options.positive_int, "number of translations that the beam search keeps at each step"),
}


def add_settings(parser: Parser, presets: dict[str, Settings], visible: Collection[str]) -> None:
    """Add an option for each setting in the presets, with the values of all presets in the help.

    Args:
        parser: The parser.
        presets: The presets; the first one has the defaults.
        visible: The settings that `--help` also lists.
    """
    first, *others = presets
    for name in presets[first]:
        setting = SETTINGS[name]
        shown = {preset: setting.shown(values[name]) for preset, values in presets.items()}
        different = [f"{preset} {shown[preset]}" for preset in others if shown[preset] != shown[first]]
        default = "; ".join([shown[first], *different])
        parser.group(setting.group).add(
            f"--{name.replace('_', '-')}",
            type=setting.kind,
            metavar=setting.metavar,
            advanced=name not in visible,
            help=f"{setting.meaning} (default: {default})",
        )


def settings_of(arguments: Any, preset: Settings) -> Settings:
    """A preset, overridden by the options that were given."""
    given = {name: getattr(arguments, name) for name in preset}
    return {name: preset[name] if value is None else value for name, value in given.items()}
