"""Options that the training commands share, and checks of their combinations."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from pathlib import Path

from keras_slstm.cli import options
from keras_slstm.cli.names import ENCODER_SETTINGS, ENCODERS, POOLINGS, STRATEGIES
from keras_slstm.cli.options import Parser


def add_data_options(parser: Parser, default: str, known: str, what: str = "texts", several: bool = True) -> None:
    """Add the options that choose the training data: a data set by name, or a file.

    Args:
        parser: The parser.
        default: The data set that `check_data_options` sets if none is given.
        known: Names of data sets, for the help.
        what: The kind of the examples, such as `"texts"`.
        several: Whether the command takes several data sets.
    """
    data = parser.group("data")
    data.add("--data", metavar="FILE", shown="PATH", help=f"your own file of {what}, instead of --dataset")
    meaning = "data sets by name, one training for each" if several else "data set by name"
    data.add("--dataset", nargs="+" if several else 1, metavar="NAME", help=f"{meaning}: {known} (default: {default})")
    data.add("--dev-data", metavar="FILE", shown="PATH", advanced=True,
             help="development part of --data (default: a tenth of it)")  # fmt: skip
    data.add("--test-data", metavar="FILE", shown="PATH", help="test part of --data (default: a tenth of it)")
    add_reading_options(parser)
    add_limit(parser, what)


def add_reading_options(parser: Parser) -> None:
    """How data is read."""
    data = parser.group("data")
    data.add("--on-error", choices=("raise", "skip"), default="raise", advanced=True,
             help="what to do about a malformed line")  # fmt: skip
    data.add("--manual-dir", metavar="FOLDER", shown="PATH", advanced=True,
             help="folder with a data set's original files (default: they are downloaded)")  # fmt: skip
    data.add("--data-dir", metavar="FOLDER", shown="never", advanced=True,
             help="where TensorFlow Datasets keeps its data (default: its own)")  # fmt: skip
    data.add("--split-seed", type=options.seed, default=0, metavar="N", advanced=True,
             help="seed of parts that are drawn at random")  # fmt: skip


def add_limit(parser: Parser, what: str) -> None:
    """How much of the data is used; `what` is the kind of the examples."""
    parser.group("data").add("--limit", type=options.count, metavar="N", advanced=True,
                             help=f"train on at most N {what} (default: all)")  # fmt: skip


def add_vector_options(parser: Parser, fixed: str = "train them") -> None:
    """Word vectors; `fixed` describes the default treatment."""
    data = parser.group("data")
    data.add("--vectors", metavar="FILE", shown="PATH", help="word vectors in GloVe's text format (default: none)")
    data.add("--fixed-vectors", action=argparse.BooleanOptionalAction, advanced=True,
             help=f"keep the word vectors as they are (default: {fixed})")  # fmt: skip
    data.add("--cased", action="store_true", advanced=True, help="keep upper and lower case apart")


def add_text_options(parser: Parser) -> None:
    """How classified texts are read."""
    data = parser.group("data")
    data.add("--label-column", metavar="NAME", advanced=True, help="column of the labels (default: label)")
    data.add("--tokenizer", choices=("words", "whitespace"), advanced=True,
             help="how texts are divided (default: whitespace for tokenised data sets, else words)")  # fmt: skip


def add_encoder_options(parser: Parser, encoder: str, presets: Collection[str], preset: str) -> None:
    """The encoder and its preset; `preset` says which one is the default."""
    model = parser.group("model")
    model.add("--encoder", choices=ENCODERS, default=encoder, metavar="NAME", help=f"one of {', '.join(ENCODERS)}")
    model.add("--encoder-option", nargs="+", default=[], type=options.name_and_value, metavar="NAME=VALUE",
              advanced=True, help="further arguments of the encoder, such as num_layers=3")  # fmt: skip
    model.add("--variants", nargs="+", default=[], type=options.variant, metavar="NAME=VALUE[,...]", advanced=True,
              help="one training with each of these arguments of the encoder")  # fmt: skip
    model.add("--preset", choices=tuple(presets), advanced=True, help=f"settings of a paper (default: {preset})")
    add_dtype(parser)


def add_dtype(parser: Parser) -> None:
    """The precision."""
    parser.group("model").add("--dtype", default="float32", metavar="NAME", advanced=True,
                              help="precision, such as mixed_bfloat16")  # fmt: skip


def add_pooling(parser: Parser) -> None:
    """From words to a sentence vector."""
    parser.group("model").add("--pooling", choices=POOLINGS, advanced=True,
                              help="from words to a sentence vector (default: the usual one)")  # fmt: skip


def add_run_options(parser: Parser, folder: str, ensemble: bool = False, devices: bool = True) -> None:
    """The trainings, where they are kept, and the devices, if the command can train on several."""
    run = parser.group("run")
    run.add("--seed", type=options.seed, nargs="+", default=[0], metavar="N", shown="never",
            help="random seeds, one training for each")  # fmt: skip
    if ensemble:
        run.add("--ensemble", action="store_true", advanced=True, help="average the models of all seeds as well")
    run.add("--output", type=Path, metavar="FOLDER", shown="never", help=f"where the run is kept (default: {folder})")
    run.add("--results", type=Path, metavar="FILE", shown="never", advanced=True,
            help="file that gets a line for each training (default: results.jsonl beside --output)")  # fmt: skip
    run.add("--overwrite", action="store_true", shown="never", help="delete what an earlier run left in --output")
    run.add("--jit-compile", action=argparse.BooleanOptionalAction, advanced=True,
            help="compile by XLA, which takes seconds for each length (default: on JAX only)")  # fmt: skip
    if devices:
        add_device_options(parser)
    else:
        parser.set_defaults(strategy=None, workers=1, save_every=None, timeout=None)


def add_device_options(parser: Parser) -> None:
    """The devices and processes that train together."""
    devices = parser.group("devices")
    devices.add("--strategy", choices=STRATEGIES, shown="never", advanced=True,
                help="where to train; auto takes what it finds (default: one device)")  # fmt: skip
    devices.add("--workers", type=options.count, default=1, metavar="N", shown="never", advanced=True,
                help="processes on this machine that train together")  # fmt: skip
    devices.add("--restarts", type=options.natural, default=0, metavar="N", shown="never", advanced=True,
                help="how often to start --workers again after a failure")  # fmt: skip
    devices.add("--save-every", type=options.count, metavar="STEPS", shown="never", advanced=True,
                help="save the state every so many steps, too (default: after each epoch only)")  # fmt: skip
    devices.add("--timeout", type=options.positive, default=600.0, metavar="SECONDS", shown="never", advanced=True,
                help="give up on a process that does not connect or answer within this time")  # fmt: skip


def check_data_options(arguments: argparse.Namespace, default: str) -> None:
    """Check the options of data and run, and set the default of `--dataset`.

    Raises:
        ValueError: If they contradict each other.
        FileNotFoundError: If there is no such file.
    """
    if arguments.data and arguments.dataset:
        raise ValueError("--dataset and --data: give one of them")
    if not arguments.data and not arguments.dataset:
        arguments.dataset = [default]
    for name in ("dev_data", "test_data"):
        if vars(arguments)[name] and not arguments.data:
            raise ValueError(f"--{name.replace('_', '-')} goes with --data, a file")
    for name in ("data", "dev_data", "test_data", "vectors"):
        path = vars(arguments).get(name)
        if path and not Path(path).is_file():
            raise FileNotFoundError(f"--{name.replace('_', '-')}: there is no file {path}")
    if vars(arguments).get("fixed_vectors") and not arguments.vectors:
        raise ValueError("--fixed-vectors needs --vectors")
    if vars(arguments).get("ensemble") and len(arguments.seed) < 2:
        raise ValueError("--ensemble needs several seeds")


def check_encoder_settings(arguments: argparse.Namespace) -> None:
    """Raise ValueError for a setting that belongs to another encoder."""
    for name, encoders in ENCODER_SETTINGS.items():
        if vars(arguments).get(name) is not None and arguments.encoder not in encoders:
            option = name.replace("_", "-")
            raise ValueError(f"--{option} belongs to --encoder {' and '.join(encoders)}, not {arguments.encoder}")


def set_folder(arguments: argparse.Namespace, *words: str | None) -> None:
    """Set the defaults of `--output`, from the data and these words, and of `--results`."""
    if arguments.output is None:
        sources = [arguments.data] if arguments.data else arguments.dataset
        source = "-".join(map(short_name, sources))
        arguments.output = Path("runs", "-".join(word for word in (source, *words) if word))
    arguments.results = arguments.results or arguments.output.parent / "results.jsonl"


def short_name(name: str) -> str:
    """A name of a data set, or of a file, as part of a folder's name."""
    return Path(name).name.split(".")[0] if Path(name).suffix else name.replace("/", "-").replace(":", "-")


SEARCH_OPTIONS = ("beam", "length_penalty", "max_length")


def add_search_options(parser: Parser) -> None:
    """The search for the best translation."""
    search = parser.group("translation")
    search.add("--beam", type=options.count, default=5, metavar="N", advanced=True,
               help="translations that the beam search keeps at each step")  # fmt: skip
    search.add("--length-penalty", type=options.not_negative, default=1.0, metavar="POWER", advanced=True,
               help="power of the length by which scores are divided; 0: short ones are preferred")  # fmt: skip
    search.add("--max-length", type=options.count, metavar="N", advanced=True,
               help="longest translation, in subwords (default: twice that of the text, plus 10)")  # fmt: skip
