"""Options of the commands: groups, checked numbers, short and long help, one-line errors."""

from __future__ import annotations

import argparse
import json
import math
import re
import shlex
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, NoReturn

from keras_slstm.suggestions import did_you_mean


class Parser(argparse.ArgumentParser):
    """Parses the options of a command, in groups.

    Args:
        prog: The program and the command.
        summary: A one-line description of the command.
        examples: Commands, one per line.
    """

    def __init__(self, prog: str, summary: str, examples: str):
        super().__init__(
            prog=prog,
            usage=f"{prog} [OPTION ...]",
            description=summary,
            epilog=f"examples:\n  {examples.strip()}" if examples else None,
            formatter_class=_Formatter,
            allow_abbrev=False,
            add_help=False,
        )
        self._groups: dict[str, Group] = {}
        self.advanced: list[argparse.Action] = []
        self.shown: dict[str, str] = {}

    def group(self, title: str) -> Group:
        """The group with this title, created on first use."""
        if title not in self._groups:
            self._groups[title] = Group(self, self.add_argument_group(title))
        return self._groups[title]

    def end_with_help(self) -> None:
        """Add `--help` and `--help-all` after all other options."""
        group = self.add_argument_group("help")
        group.add_argument("-h", "--help", action=_Help, advanced=False, help="show the common options")
        group.add_argument("--help-all", action=_Help, advanced=True, help="show all options")

    def error(self, message: str) -> NoReturn:
        """End the program with one line."""
        if unknown := re.match(r"unrecognized arguments: (--[\w-]+)", message):
            known = [option for action in self._actions for option in action.option_strings]
            message += f".{did_you_mean(unknown[1], known)}"
        self.exit(2, f"{self.prog}: {' '.join(message.split())} (see {self.prog} --help)\n")

    def help_text(self, advanced: bool) -> str:
        """The help, with or without the advanced options."""
        if advanced:
            return self.format_help()
        texts = [action.help for action in self.advanced]
        try:
            for action in self.advanced:
                action.help = argparse.SUPPRESS
            return self.format_help()
        finally:
            for action, text in zip(self.advanced, texts):
                action.help = text

    def hide(self, *names: str) -> None:
        """Let only `--help-all` list these options, which are shared with another command."""
        self.advanced += [action for action in self._actions if action.dest in names]

    def local_options(self) -> set[str]:
        """The options that may differ between machines that train together."""
        return {name for name, shown in self.shown.items() if shown != "value"}


class Group:
    """A titled group of options."""

    def __init__(self, parser: Parser, group: Any):
        self._parser = parser
        self._group = group

    def add(self, *names: str, advanced: bool = False, shown: str = "value", **options: Any) -> None:
        """Add an option like `argparse`, with its default in the help.

        Args:
            *names: Its names.
            advanced: Whether only `--help-all` lists it.
            shown: Its form in the recorded command: `"value"`, `"PATH"` (a path on this machine) or `"never"`.
            **options: See `argparse.ArgumentParser.add_argument`.
        """
        default = options.get("default")
        nothing = default is None or default is False or default in ([], argparse.SUPPRESS)
        if not nothing and "default" not in options["help"]:
            values = " ".join(map(str, default)) if isinstance(default, list) else default
            options["help"] += f" (default: {values})"
        action = self._group.add_argument(*names, **options)
        if not action.option_strings:
            self._parser.usage = f"{self._parser.usage} {action.metavar}"
        self._parser.shown[action.dest] = shown
        if advanced:
            self._parser.advanced.append(action)


class _Help(argparse.Action):
    def __init__(self, option_strings: Sequence[str], dest: str, advanced: bool, help: str):
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, help=help)
        self._advanced = advanced

    def __call__(self, parser: Any, *rest: Any) -> None:
        print(parser.help_text(self._advanced), end="", flush=True)
        parser.exit()


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str):
        super().__init__(prog, max_help_position=28, width=100)


def check_not_given(arguments: argparse.Namespace, names: Collection[str], reason: str) -> None:
    """Raise ValueError for the first of these options that was given, or its `--no-` form, with the reason.

    >>> check_not_given(argparse.Namespace(words=["predict", "--beam", "3"]), ["max_length"], "is for translations")
    >>> check_not_given(argparse.Namespace(words=["predict", "--beam=3"]), ["beam"], "is for translations")
    Traceback (most recent call last):
    ValueError: --beam is for translations
    """
    words = arguments.words[: arguments.words.index("--")] if "--" in arguments.words else arguments.words
    given = {word.partition("=")[0] for word in words}
    for name in names:
        for option in (f"--{name.replace('_', '-')}", f"--no-{name.replace('_', '-')}"):
            if option in given:
                raise ValueError(f"{option} {reason}")


def check_file(path: str, option: str, several_times: bool = False) -> None:
    """Raise an error that names the option, unless its file can be read; from a pipe, only once.

    Args:
        path: The file.
        option: The name of the option.
        several_times: Whether the file will be read several times.
    """
    if not Path(path).exists():
        raise FileNotFoundError(f"{option}: {path} does not exist")
    if Path(path).is_dir():
        raise IsADirectoryError(f"{option}: {path} is a folder: pass a file")
    if several_times and not Path(path).is_file():
        raise ValueError(f"{option}: {path} is a pipe, but is read several times: write it to a file first")


def recorded_command(parser: Parser, arguments: argparse.Namespace) -> str:
    """The command as recorded, to repeat elsewhere: without defaults and without paths on this machine.

    >>> parser = Parser("keras-slstm classify", "Classify texts.", "")
    >>> parser.group("data").add("--data", shown="PATH", help="your own file")
    >>> parser.group("data").add("--units", type=positive_int, help="size of the states")
    >>> recorded_command(parser, parser.parse_args(["--data", "mails.tsv", "--units", "3"]))
    'keras-slstm classify --data PATH --units 3'
    """
    words = parser.prog.split()
    for action in parser._actions:
        name, shown = action.dest, parser.shown.get(action.dest, "never")
        value = getattr(arguments, name, None)
        if shown == "never" or value == action.default:
            continue
        option = [action.option_strings[0]] if action.option_strings else []
        if isinstance(value, bool):
            words += option if value else [f"--no-{option[0].removeprefix('--')}"]
        elif shown == "PATH":
            words += [*option, "PATH"]
        else:
            words += [*option, *map(_text, value if isinstance(value, list) else [value])]
    return shlex.join(words)


def _text(value: Any) -> str:
    return f"{value[0]}={json.dumps(value[1])}" if isinstance(value, tuple) else str(value)


def number(kind: Callable[[str], Any], expected: str, allowed: Callable[[Any], bool]) -> Callable[[str], Any]:
    """An option type: a number in a range, which `expected` describes."""

    def read(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not allowed(value):
            raise argparse.ArgumentTypeError(f"expected {expected}, but got {text}")
        return value

    return read


positive_int = number(int, "an integer of at least 1", lambda value: value >= 1)
at_least_two = number(int, "an integer of at least 2", lambda value: value >= 2)
non_negative_int = number(int, "an integer of at least 0", lambda value: value >= 0)
positive_float = number(float, "a number above 0", lambda value: 0 < value < math.inf)
non_negative_float = number(float, "a number of at least 0", lambda value: 0 <= value < math.inf)
fraction = number(float, "a number of at least 0 and below 1", lambda value: 0 <= value < 1)
factor = number(float, "a number from 0 to 1", lambda value: 0 <= value <= 1)
seed = number(int, "an integer from 0 to 4294967295", lambda value: 0 <= value < 2**32)


def one_of(*names: str) -> Callable[[str], Any]:
    """An option type: one of several words."""
    return number(str, f"{', '.join(names[:-1])} or {names[-1]}", lambda value: value in names)


def name_and_value(text: str) -> tuple[str, Any]:
    """Parse `num_layers=3` as a name and a value, which is JSON or a string."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, but got {text!r}")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def name_and_factor(text: str) -> tuple[str, float]:
    """Parse `PER=3` as a name and a number of at least 0; the name may contain equals signs."""
    name, _, value = text.rpartition("=")
    try:
        return name, non_negative_float(value)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(
            f"expected NAME=FACTOR with a number of at least 0, but got {text!r}"
        ) from error


def column(text: str) -> int | str:
    """A column index or name."""
    try:
        return int(text)
    except ValueError:
        return text


def variant(text: str) -> str:
    """Check `lam=0.25,peephole=true`: several names with their values, as one word."""
    read_variant(text)
    return text


def read_variant(text: str) -> dict[str, Any]:
    """The names and values of a variant."""
    return dict(name_and_value(part) for part in text.split(",")) if text else {}
