"""The program `keras-slstm`: find the command, read its options and run it."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
import warnings
from collections.abc import Sequence
from types import ModuleType

from keras_slstm.cli.memory import keep_freed_memory
from keras_slstm.cli.options import Parser, recorded_command
from keras_slstm.suggestions import did_you_mean
from keras_slstm.version import __version__

PROGRAM = "keras-slstm"
COMMANDS = ("classify", "tag", "match", "translate", "embed", "search", "evaluate", "predict", "inspect", "export")
FAILURES = (ValueError, OSError, ArithmeticError, ImportError)


def main(words: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        words: The command and its options. Default: those of the command line.

    Returns:
        The exit status: 0, 2 for wrong options or data, 3 if another training process is lost, 130 if interrupted,
        141 if the reader of the output has closed it.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # no text ends the output, if its encoding is narrow
    try:
        return start([str(word) for word in (sys.argv[1:] if words is None else words)])
    except BrokenPipeError:  # such as `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def start(words: Sequence[str]) -> int:
    """Show the help of the program, or run a command."""
    if not words or words[0] in ("-h", "--help", "--help-all"):
        print(program_help(), flush=True)
        return 0 if words else 2
    if words[0] == "--version":
        print(f"{PROGRAM} {__version__}")
        return 0
    if words[0] not in COMMANDS:
        known = f"the commands are {', '.join(COMMANDS)}.{did_you_mean(words[0], COMMANDS)}"
        return fail(f"{PROGRAM}: unknown command {words[0]!r}: {known}")
    try:
        return run(words[0], words[1:])
    except SystemExit as end:  # of argparse
        return end.code if isinstance(end.code, int) else 2


def program_help() -> str:
    """The commands, one per line."""
    lines = [f"  {name:10} {module_of(name).SUMMARY}" for name in COMMANDS]
    return "\n".join(
        [
            f"usage: {PROGRAM} COMMAND [OPTION ...]",
            "\nTrain and use models of text: S-LSTM, CAS-LSTM, SuBiLSTM, depth-adaptive GRN, CRF.\n",
            *lines,
            f"\n{PROGRAM} COMMAND --help lists the common options, {PROGRAM} COMMAND --help-all all of them.",
            f"Start with: {PROGRAM} classify (a few minutes, no download)",
        ]
    )


def module_of(command: str) -> ModuleType:
    """The module of a command."""
    return importlib.import_module(f"keras_slstm.cli.{command}")


def make_parser(command: str) -> Parser:
    """The parser of a command's options."""
    module = module_of(command)
    parser = Parser(f"{PROGRAM} {command}", module.SUMMARY, module.EXAMPLES)
    module.add_arguments(parser)
    parser.end_with_help()
    return parser


def parse(command: str, words: Sequence[str]) -> argparse.Namespace:
    """The options of a command.

    The result also has `words`, as given; `command_line`, which repeats the command on another machine; and
    `local_options`, the names of the options that may differ between machines.
    """
    parser = make_parser(command)
    arguments = parser.parse_args(words)
    line, local = recorded_command(parser, arguments), parser.local_options()
    arguments.words, arguments.command_line, arguments.local_options = [command, *words], line, local
    return arguments


def run(command: str, words: Sequence[str]) -> int:
    """Run a command with its options; report an error in one line."""
    arguments = parse(command, words)
    keep_freed_memory()
    usual, warnings.formatwarning = warnings.formatwarning, one_line
    try:
        check_results(arguments)
        status = int(module_of(command).run(arguments))
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        _advise_to_resume(arguments, "Stopped, because the reader of the output has closed it.")
        raise
    except FAILURES as error:
        return fail(str(error).replace("overwrite=True", "--overwrite") + column_options(str(error), arguments))
    except KeyboardInterrupt:
        _advise_to_resume(arguments, "\nInterrupted.")
        return 130
    finally:
        warnings.formatwarning = usual


def check_results(arguments: argparse.Namespace) -> None:
    """Check that a line can be added to `--results`, before a training whose results could not be written.

    Raises:
        OSError: If it is a folder, or below a file.
        ValueError: If it contains something other than results.
    """
    results = getattr(arguments, "results", None)
    if results is None:
        return
    if results.is_dir():
        raise IsADirectoryError(f"--results: {results} is a folder: pass the name of a file")
    for folder in results.parents:
        if folder.is_file():
            raise NotADirectoryError(f"--results: {folder} is a file: pass a name in a folder")
    if results.is_file():  # not a device
        with open(results, "rb") as file:
            if file.read(1) not in (b"", b"{"):
                raise ValueError(f"--results: {results} contains no results: pass the name of a new file")


def one_line(message: Warning | str, *place: object, **options: object) -> str:
    """A warning without its position in the code."""
    return f"Note: {' '.join(str(message).split())}\n"


def column_options(message: str, arguments: argparse.Namespace) -> str:
    """Name the column options, if the error is a missing column."""
    names = [f"--{name.replace('_', '-')}" for name in vars(arguments) if name.endswith("_column")]
    return f" Or name them with {', '.join(names)}." if names and "the header has no column" in message else ""


def _advise_to_resume(arguments: argparse.Namespace, reason: str) -> None:
    """Say how to resume, if the command trains."""
    if "overwrite" in arguments:
        same = "same command without --overwrite" if arguments.overwrite else "same command"
        print(f"{reason} The {same} continues where this one stopped.", file=sys.stderr)


def fail(message: str, status: int = 2) -> int:
    """Print an error in one line; return the exit status."""
    print(" ".join(message.split()), file=sys.stderr)
    return status
