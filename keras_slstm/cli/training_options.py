"""Options shared by the training commands, and checks of their combinations."""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection
from pathlib import Path

from keras_slstm.cli import options
from keras_slstm.cli.names import DTYPES, ENCODER_SETTINGS, ENCODERS, POOLINGS, STRATEGIES
from keras_slstm.cli.options import Parser, check_file


def add_data_options(parser: Parser, default: str, known: str, what: str = "texts", several: bool = True) -> None:
    """Add the options that choose the training data: a data set by name, or a file.

    Args:
        parser: The parser.
        default: The data set that `check_data_options` sets if none is given.
        known: Names of data sets, for the help.
        what: The kind of the examples, such as `"texts"`.
        several: Whether the command accepts several data sets.
    """
    data = parser.group("data")
    data.add("--data", metavar="FILE", shown="PATH", help=f"your own file of {what}, instead of --dataset")
    meaning = "names of data sets, with one training run for each" if several else "name of the data set"
    data.add("--dataset", nargs="+" if several else 1, metavar="NAME", help=f"{meaning}: {known} (default: {default})")
    data.add("--dev-data", metavar="FILE", shown="PATH", advanced=True,
             help="file of the development split (default: a tenth of --data)")  # fmt: skip
    data.add("--test-data", metavar="FILE", shown="PATH", help="file of the test split (default: a tenth of --data)")
    add_reading_options(parser)
    add_limit(parser, what)


def add_reading_options(parser: Parser) -> None:
    """Add the options for reading data."""
    data = parser.group("data")
    data.add("--on-error", choices=("raise", "skip"), default="raise", advanced=True,
             help="stop at a malformed line, or skip it")  # fmt: skip
    data.add("--manual-dir", metavar="FOLDER", shown="PATH", advanced=True,
             help="folder with the original files of the data set (default: download them)")  # fmt: skip
    data.add("--data-dir", metavar="FOLDER", shown="never", advanced=True,
             help="folder in which TensorFlow Datasets keeps its data (default: its own)")  # fmt: skip
    data.add("--split-seed", type=options.seed, default=0, metavar="N", advanced=True,
             help="seed for splitting the data at random")  # fmt: skip


def add_limit(parser: Parser, what: str) -> None:
    """Add the option that limits the training data; `what` is the kind of the examples."""
    parser.group("data").add("--limit", type=options.positive_int, metavar="N", advanced=True,
                             help=f"train on at most N {what} (default: all)")  # fmt: skip


def add_stream(parser: Parser) -> None:
    """Add `--stream`, for files larger than memory."""
    parser.group("data").add("--stream", action="store_true", advanced=True,
                             help="read --data from disk during training, for files larger than memory; needs "
                                  "--dev-data and --test-data")  # fmt: skip


def check_stream(arguments: argparse.Namespace) -> None:
    """Raise ValueError if `--stream` comes with an option that needs the training part in memory."""
    if not arguments.stream:
        return
    if not (arguments.data and arguments.dev_data and arguments.test_data):
        raise ValueError("--stream needs --data, --dev-data and --test-data")
    for name in ("vectors", "folds", "limit", "batch_order", "characters", "score_range"):
        if getattr(arguments, name, None) not in (None, "none", "auto"):
            option = name.replace("_", "-")
            raise ValueError(f"--{option} needs texts in memory, but --stream keeps them on disk: remove one of them")


def add_vector_options(parser: Parser, fixed: str = "train them") -> None:
    """Add the options for word vectors; `fixed` describes the default of `--fixed-vectors`."""
    data = parser.group("data")
    data.add("--vectors", metavar="FILE", shown="PATH", help="word vectors in GloVe's text format (default: none)")
    data.add("--fixed-vectors", action=argparse.BooleanOptionalAction, advanced=True,
             help=f"do not train the word vectors (default: {fixed})")  # fmt: skip
    data.add("--cased", action="store_true", advanced=True, help="distinguish upper and lower case")


def add_text_options(parser: Parser) -> None:
    """Add the options for reading classified texts."""
    data = parser.group("data")
    data.add("--label-column", metavar="NAME", advanced=True, help="column of the labels (default: label)")
    data.add("--tokenizer", choices=("words", "whitespace"), advanced=True,
             help="how to split texts (default: whitespace for tokenised data sets, else words)")  # fmt: skip


def add_encoder_options(parser: Parser, encoder: str, presets: Collection[str], preset: str) -> None:
    """Add the options for the encoder and its preset; `preset` describes the default."""
    model = parser.group("model")
    model.add("--encoder", choices=ENCODERS, default=encoder, metavar="NAME", help=f"one of {', '.join(ENCODERS)}")
    model.add("--encoder-option", nargs="+", default=[], type=options.name_and_value, metavar="NAME=VALUE",
              advanced=True, help="more arguments for the encoder, such as num_layers=3")  # fmt: skip
    model.add("--variants", nargs="+", default=[], type=options.variant, metavar="NAME=VALUE[,...]", advanced=True,
              help="train once with each of these arguments for the encoder")  # fmt: skip
    model.add(
        "--preset",
        choices=tuple(presets),
        advanced=True,
        help=f"set of defaults, such as a paper's (default: {preset})",
    )
    add_dtype(parser)


def add_dtype(parser: Parser) -> None:
    """Add the option for the precision."""
    parser.group("model").add("--dtype", default="float32", choices=DTYPES, advanced=True, help="precision")


def add_pooling(parser: Parser) -> None:
    """Add the option for pooling word vectors."""
    parser.group("model").add("--pooling", choices=POOLINGS, advanced=True,
                              help="how to pool word vectors (default: depends on the encoder)")  # fmt: skip


def add_run_options(parser: Parser, folder: str, ensemble: bool = False, devices: bool = True) -> None:
    """Add the options for training runs and their folders and, if the command supports several, devices."""
    run = parser.group("run")
    run.add("--seed", type=options.seed, nargs="+", default=[0], metavar="N", shown="never",
            help="random seeds, with one training run for each")  # fmt: skip
    if ensemble:
        run.add("--ensemble", action="store_true", advanced=True, help="also test the average over all seeds")
    run.add("--output", type=Path, metavar="FOLDER", shown="never", help=f"folder for the results (default: {folder})")
    run.add("--results", type=Path, metavar="FILE", shown="never", advanced=True,
            help="file to which each training run adds a line (default: results.jsonl next to --output)")  # fmt: skip
    run.add("--overwrite", action="store_true", shown="never", help="delete the files of an earlier run in --output")
    run.add("--save-every", type=options.positive_int, metavar="STEPS", shown="never", advanced=True,
            help="also save the training state every STEPS steps (default: only after each epoch)")  # fmt: skip
    run.add("--jit-compile", action=argparse.BooleanOptionalAction, advanced=True,
            help="compile with XLA or torch.compile, once for each text length (default: only on JAX)")  # fmt: skip
    if devices:
        add_device_options(parser)
    else:
        parser.set_defaults(strategy=None, workers=1, timeout=None)


def add_device_options(parser: Parser) -> None:
    """Add the options for devices and processes that train together."""
    devices = parser.group("devices")
    devices.add("--strategy", choices=STRATEGIES, shown="never", advanced=True,
                help="devices to train on; auto uses all that it finds (default: one device)")  # fmt: skip
    devices.add("--workers", type=options.positive_int, default=1, metavar="N", shown="never", advanced=True,
                help="number of processes on this machine that train one model together")  # fmt: skip
    devices.add("--restarts", type=options.non_negative_int, default=0, metavar="N", shown="never", advanced=True,
                help="number of times to restart --workers after a failure")  # fmt: skip
    devices.add("--timeout", type=options.positive_float, default=600.0, metavar="SECONDS", shown="never",
                advanced=True,
                help="give up on a process that neither connects nor answers within this time")  # fmt: skip


def check_data_options(arguments: argparse.Namespace, default: str) -> None:
    """Check the options for data and runs, and set the default of `--dataset`.

    Raises:
        ValueError: If options contradict each other.
        FileNotFoundError: If a file does not exist.
    """
    if arguments.data and arguments.dataset:
        raise ValueError("use either --dataset or --data, not both")
    if not arguments.data and not arguments.dataset:
        arguments.dataset = [default]
    for name in ("dev_data", "test_data"):
        if vars(arguments)[name] and not arguments.data:
            raise ValueError(f"--{name.replace('_', '-')} needs --data")
    for name in ("data", "dev_data", "test_data", "vectors"):
        if path := vars(arguments).get(name):
            check_file(path, f"--{name.replace('_', '-')}", several_times=True)
    if vars(arguments).get("fixed_vectors") and not arguments.vectors:
        raise ValueError("--fixed-vectors needs --vectors")
    if vars(arguments).get("ensemble") and len(arguments.seed) < 2:
        raise ValueError(f"--ensemble needs several seeds, but got only {arguments.seed[0]}")


def check_encoder_settings(arguments: argparse.Namespace) -> None:
    """Raise ValueError for a setting of another encoder."""
    for name, encoders in ENCODER_SETTINGS.items():
        if vars(arguments).get(name) is not None and arguments.encoder not in encoders:
            option = name.replace("_", "-")
            raise ValueError(f"--{option} needs --encoder {' or '.join(encoders)}, not {arguments.encoder}")


def set_folder(arguments: argparse.Namespace, *words: str | None) -> None:
    """Set the defaults of `--output`, from the data and these words, and of `--results`."""
    if arguments.output is None:
        sources = [arguments.data] if arguments.data else arguments.dataset
        source = "-".join(map(short_name, sources))
        arguments.output = Path("runs", "-".join(word for word in (source, *words) if word))
    arguments.results = arguments.results or arguments.output.parent / "results.jsonl"


# Endings that say the format of a file. Anything else after a dot may distinguish files.
_ENDINGS = re.compile(r"(\.(tsv|csv|txt|json|jsonl|ndjson|conll|conllu|parquet))?(\.(gz|zst))?$")


def short_name(name: str) -> str:
    """The name of a data set or a file, as part of a folder name.

    >>> short_name("data/mails.2023.tsv.gz"), short_name("glue/sst2")
    ('mails.2023', 'glue-sst2')
    """
    last = Path(name).name if Path(name).suffix else name.replace("/", "-")
    return (_ENDINGS.sub("", last) or last).replace(":", "-")


SEARCH_OPTIONS = ("beam", "length_penalty", "max_length")


def add_search_options(parser: Parser, beam: int = 5) -> None:
    """Add the options for the search of translations."""
    search = parser.group("translation")
    search.add("--beam", type=options.positive_int, default=beam, metavar="N", advanced=True,
               help="number of translations that the beam search keeps at each step")  # fmt: skip
    search.add("--length-penalty", type=options.non_negative_float, default=1.0, metavar="POWER", advanced=True,
               help="divide scores by this power of the length; 0 prefers short translations")  # fmt: skip
    search.add("--max-length", type=options.positive_int, metavar="N", advanced=True,
               help="maximum length in subwords (default: twice the length of the text, plus 10)")  # fmt: skip
