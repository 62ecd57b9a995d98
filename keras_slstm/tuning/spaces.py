"""Search spaces: functions that declare hyperparameters on a `keras_tuner.HyperParameters` and return settings.

The paper's value is the default, with a range around it. No function here builds a model, and each call declares every
hyperparameter. A hyperparameter that matters only with a certain value of another one is declared inside
`hp.conditional_scope`; with other values it is inactive, and its own value is None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from keras_slstm.models.encoders import ENCODERS
from keras_slstm.suggestions import did_you_mean
from keras_slstm.training.optimizers import OPTIMIZERS

UNITS = [100, 200, 300, 400, 600]
LAYERS = [2, 3, 4]
RECURRENT_KERNELS = ("slstm", "depth_adaptive_grn", "full_depth_grn")  # encoders that mark theirs for optimizers
# The vertical gates of a CAS-LSTM in Table 6 of its paper.
VERTICAL_GATES: dict[str, dict[str, Any]] = {
    "lam=0.5": {"lam": 0.5},
    "lam=0.25": {"lam": 0.25},
    "lam=0.75": {"lam": 0.75},
    "lam=trainable": {"lam": "trainable"},
    "no lam": {"lam": None},
    "peephole": {"peephole": True},
}


# The encoders: options of `build_encoder`.


def slstm_space(hp: Any) -> dict[str, Any]:
    """Steps, window, sentence nodes, boundary words, initial states and dropout of an `SLSTM`."""
    return {
        "steps": hp.Int("steps", 1, 13, step=2, default=9),
        "window": hp.Int("window", 1, 4, default=1),
        "sentence_nodes": hp.Int("sentence_nodes", 0, 2, default=1),
        "boundary_words": hp.Boolean("boundary_words", default=True),
        "initial": hp.Choice("initial", ["learned", "zeros", "projection"], default="learned"),
        **recurrent_space(hp),
    }


def recurrent_space(hp: Any) -> dict[str, Any]:
    """Recurrent dropout, the only option of a plain recurrent layer besides its size."""
    return {"recurrent_dropout": hp.Float("recurrent_dropout", 0.0, 0.5, step=0.1, default=0.0)}


def stacked_bilstm_space(hp: Any) -> dict[str, Any]:
    """Depth and dropout of a stack of bidirectional LSTMs."""
    return {"num_layers": hp.Choice("num_layers", LAYERS, default=2), **recurrent_space(hp)}


def mingru_space(hp: Any) -> dict[str, Any]:
    """Depth and dropout of a stack of bidirectional minGRUs."""
    return {
        "num_layers": hp.Choice("num_layers", LAYERS, default=3),
        "dropout": hp.Float("dropout", 0.0, 0.5, step=0.1, default=0.0),
    }


def caslstm_space(hp: Any) -> dict[str, Any]:
    """Depth, vertical gate and dropout of a `CASLSTM`."""
    gate = hp.Choice("vertical_gate", list(VERTICAL_GATES), default="lam=0.5")
    return {
        "num_layers": hp.Choice("num_layers", LAYERS, default=2),
        **VERTICAL_GATES.get(gate, {}),
        **recurrent_space(hp),
    }


def subilstm_space(hp: Any) -> dict[str, Any]:
    """Cell, combination of prefixes and suffixes, and dropout of a `SuBiLSTM`."""
    return {
        "cell": hp.Choice("cell", ["lstm", "gru"], default="lstm"),
        "combine": hp.Choice("combine", ["max", "mean", "concat", "gate"], default="max"),
        **recurrent_space(hp),
    }


def full_depth_grn_space(hp: Any) -> dict[str, Any]:
    """Steps and dropout of a GRN in which every word takes every step."""
    return {
        "max_depth": hp.Int("max_depth", 1, 13, step=2, default=9),
        "recurrent_dropout": hp.Float("recurrent_dropout", 0.0, 0.5, step=0.1, default=0.2),
    }


def depth_adaptive_grn_space(hp: Any) -> dict[str, Any]:
    """Largest depth, selection of depths, sequential module and dropout of a `DepthAdaptiveGRN`."""
    sequential = hp.Choice("sequential", ["bilstm", "sinusoidal", "none"], default="bilstm")
    return {
        "selection": hp.Choice("selection", ["gumbel", "hard", "soft"], default="gumbel"),
        "sequential": None if sequential == "none" else sequential,
        **full_depth_grn_space(hp),
    }


def cnn_space(hp: Any) -> dict[str, Any]:
    """Kernel size of a convolution."""
    return {"kernel_size": hp.Choice("kernel_size", [3, 5, 7], default=3)}


def stacked_cnn_space(hp: Any) -> dict[str, Any]:
    """Depth and kernel size of a stack of convolutions."""
    return {"num_layers": hp.Choice("num_layers", LAYERS, default=3), **cnn_space(hp)}


def transformer_space(hp: Any) -> dict[str, Any]:
    """Blocks, heads and dropout of a `TransformerEncoder`."""
    return {
        "num_blocks": hp.Choice("num_blocks", [2, 4, 6, 8, 10], default=8),
        "num_heads": hp.Choice("num_heads", [1, 2, 4], default=4),  # each divides all of UNITS
        "dropout": hp.Float("dropout", 0.0, 0.5, step=0.1, default=0.1),
    }


_SPACES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "slstm": slstm_space,
    "lstm": recurrent_space,
    "bilstm": recurrent_space,
    "stacked_bilstm": stacked_bilstm_space,
    "normalized_bilstm": recurrent_space,
    "mingru": mingru_space,
    "caslstm": caslstm_space,
    "bi_caslstm": caslstm_space,
    "subilstm": subilstm_space,
    "subilstm_untied": subilstm_space,
    "depth_adaptive_grn": depth_adaptive_grn_space,
    "full_depth_grn": full_depth_grn_space,
    "cnn": cnn_space,
    "stacked_cnn": stacked_cnn_space,
    "transformer": transformer_space,
}
# A read-only view: for each encoder a function from `hp` to its options.
SPACES: Mapping[str, Callable[[Any], dict[str, Any]]] = MappingProxyType(_SPACES)


def register_space(encoder: str, space: Callable[[Any], dict[str, Any]]) -> None:
    """Declare which options of an encoder may vary in a search.

    Args:
        encoder: The name of an encoder that has no space yet (see `keras_slstm.models.register_encoder`).
        space: A function from a `keras_tuner.HyperParameters` to the options of the encoder.

    Raises:
        ValueError: If the encoder is unknown or already has a space, or `space` is not callable.
    """
    if encoder not in ENCODERS:
        known = f"Known encoders: {', '.join(ENCODERS)}.{did_you_mean(encoder, ENCODERS)}"
        raise ValueError(f"Unknown encoder {encoder!r}: register it first. {known}")
    if encoder in _SPACES:
        raise ValueError(f"The encoder {encoder!r} already has a space: choose another name.")
    if not callable(space):
        raise ValueError(f"`space` must be a function from hyperparameters to options, but got {space!r}.")
    _SPACES[encoder] = space


def encoder_space(hp: Any, encoders: Sequence[str], units: int = 300) -> dict[str, Any]:
    """Choose an encoder, its size and its options.

    The names of an encoder's options begin with its name (`slstm/steps`). They are active if it is chosen.

    Args:
        hp: A `keras_tuner.HyperParameters`.
        encoders: Names in `SPACES`; the first is the default.
        units: The default of `units`.

    Raises:
        ValueError: If an encoder has no space.

    Example:

    ```python
    hp = keras_tuner.HyperParameters()
    encoder_space(hp, ["cnn"])  # {"encoder": "cnn", "units": 300, "encoder_options": {"kernel_size": 3}}
    ```
    """
    if not encoders:
        raise ValueError(f"`encoders` must name at least one encoder, but got {encoders!r}.")
    options: dict[str, Any] = {}
    chosen = hp.Choice("encoder", list(encoders), default=encoders[0])
    for encoder in encoders:
        if encoder not in SPACES:
            raise ValueError(f"The encoder {encoder!r} has no space. Encoders with a space: {', '.join(SPACES)}.")
        with hp.conditional_scope("encoder", [encoder]), hp.name_scope(encoder):
            found = SPACES[encoder](hp)
        if encoder == chosen:
            options = found
    sizes = sorted({*UNITS, units})
    return {"encoder": chosen, "units": hp.Choice("units", sizes, default=units), "encoder_options": options}


# The tasks: all other settings of a model and its training.

# The defaults are those of the S-LSTM paper, except for encoders whose papers differ.
_CASLSTM = {"dropout": 0.5, "mlp_layers": 1, "mlp_dropout": 0.5, "l2": 0.0, "batch_size": 128, "clip": 5.0}
CLASSIFICATION_DEFAULTS: dict[str, dict[str, Any]] = {"caslstm": _CASLSTM, "bi_caslstm": _CASLSTM}


def classification_space(hp: Any, encoders: Sequence[str], embeddings: bool = True) -> dict[str, Any]:
    """Return all settings of a `SentenceClassifier` and its training.

    Args:
        hp: A `keras_tuner.HyperParameters`.
        encoders: The encoders to choose from; the paper of the first one gives the defaults.
        embeddings: True: word vectors start at random, and the search chooses their size. False: they are pretrained,
            and the search chooses whether to train them.
    """
    default = {"units": 300, "dropout": 0.5, "mlp_layers": 0, "mlp_dropout": 0.0, "l2": 1e-3, "batch_size": 10,
               "clip": 3.0, **CLASSIFICATION_DEFAULTS.get(encoders[0] if encoders else "", {})}  # fmt: skip
    return {
        **encoder_space(hp, encoders, default["units"]),
        "pooling": hp.Choice("pooling", ["none", "attention", "max", "mean"], default="none"),
        **_word_space(hp, embeddings, default["dropout"]),
        **_mlp_space(hp, [0, 1, 2], default["mlp_layers"], 300, default["mlp_dropout"]),
        "l2": hp.Choice("l2", [0.0, 1e-4, 1e-3, 1e-2], default=default["l2"]),
        **_optimizer_space(hp, encoders, default["batch_size"], default["clip"]),
    }


def pair_space(hp: Any, encoders: Sequence[str], embeddings: bool = True) -> dict[str, Any]:
    """Return all settings of a `SentencePairClassifier` and its training; see `classification_space`."""
    return {
        **encoder_space(hp, encoders),
        "pooling": hp.Choice("pooling", ["none", "attention", "max", "mean"], default="none"),
        **_word_space(hp, embeddings, dropout=0.1),
        **_mlp_space(hp, [1, 2], 1, 1024, 0.1),
        "mlp_batch_norm": hp.Boolean("mlp_batch_norm", default=True),
        **_optimizer_space(hp, encoders, batch_size=128, clip=5.0),
    }


def tagging_space(hp: Any, encoders: Sequence[str], embeddings: bool = True) -> dict[str, Any]:
    """Return all settings of a `SequenceTagger` and its training; see `classification_space`."""
    characters = hp.Choice("characters", ["cnn", "bilstm", "none"], default="cnn")
    with hp.conditional_scope("characters", ["cnn", "bilstm"]):
        sizes = {
            "character_dim": hp.Choice("character_dim", [20, 30, 50], default=30),
            "character_units": hp.Choice("character_units", [30, 50, 100], default=50),
        }
    return {
        **encoder_space(hp, encoders),
        "head": hp.Choice("head", ["crf", "softmax"], default="crf"),
        "characters": characters,
        **{name: size for name, size in sizes.items() if size is not None},
        **_word_space(hp, embeddings, dropout=0.5),
        "l2": hp.Choice("l2", [0.0, 1e-4, 1e-3, 1e-2], default=1e-3),
        **_optimizer_space(hp, encoders, batch_size=10, clip=3.0),
    }


def _word_space(hp: Any, embeddings: bool, dropout: float) -> dict[str, Any]:
    space = {
        "dropout": hp.Float("dropout", 0.0, 0.7, step=0.1, default=dropout),
        "word_dropout": hp.Choice("word_dropout", [0.0, 0.02, 0.05, 0.1], default=0.0),
    }
    if embeddings:
        space["embedding_dim"] = hp.Choice("embedding_dim", [50, 100, 200, 300], default=300)
    else:
        space["trainable_embeddings"] = hp.Boolean("trainable_embeddings", default=True)
    return space


def _mlp_space(hp: Any, layers: list[int], default: int, units: int, dropout: float) -> dict[str, Any]:
    """Number of hidden layers, and their size and dropout if there are any."""
    number = hp.Choice("mlp_layers", layers, default=default)
    with hp.conditional_scope("mlp_layers", [value for value in layers if value]):
        size = hp.Choice("mlp_units", [300, 512, 600, 1024], default=units)
        rate = hp.Float("mlp_dropout", 0.0, 0.5, step=0.1, default=dropout)
    return {"mlp_units": [] if size is None else [size] * number, "mlp_dropout": rate or 0.0}


def _optimizer_space(hp: Any, encoders: Sequence[str], batch_size: int, clip: float) -> dict[str, Any]:
    optimizer = multiplier = None
    if marked := [encoder for encoder in encoders if encoder in RECURRENT_KERNELS]:
        with hp.conditional_scope("encoder", marked):
            optimizer = hp.Choice("optimizer", list(OPTIMIZERS), default="adam")
            multiplier = hp.Choice("recurrent_multiplier", [1.0, 2.0, 4.0, 8.0], default=1.0)
    return {
        "optimizer": optimizer or "adam",
        "recurrent_multiplier": multiplier or 1.0,
        "learning_rate": hp.Float("learning_rate", 1e-4, 1e-2, sampling="log", default=1e-3),
        "decay": hp.Choice("decay", [0.8, 0.9, 0.97, 1.0], default=0.97),
        "clip": hp.Choice("clip", [1.0, 3.0, 5.0], default=clip),
        "batch_size": hp.Choice("batch_size", [10, 16, 32, 64, 128], default=batch_size),
    }
