"""The defaults of all public arguments match `defaults.txt`; a change must be made there, too.

`python -m tests.test_defaults` prints the current content of the file.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("defaults.txt")
MODULES = (".public", ".layers", ".losses", ".metrics", ".models", ".text", ".datasets", ".training", ".distribute")


def _callables() -> Iterator[tuple[str, Any]]:
    """All classes that users make, their own methods, and all functions that they call, once each."""
    seen: set[int] = set()
    for name in MODULES:
        module = importlib.import_module(f"keras_slstm{name}")
        for public, value in vars(module).items():
            ours = getattr(value, "__module__", "").startswith("keras_slstm")
            if public.startswith("_") or not ours or not callable(value) or id(value) in seen:
                continue
            seen.add(id(value))
            yield public, value
            for method, function in vars(value).items() if isinstance(value, type) else ():
                if inspect.isfunction(function) and not method.startswith("_"):
                    yield f"{public}.{method}", function


def found_defaults() -> dict[str, str]:
    """`{"SLSTM(steps)": "7"}` and so on."""
    found = {}
    for name, function in _callables():
        try:
            parameters = inspect.signature(function).parameters.values()
        except ValueError:  # a class of a compiled library
            continue
        for parameter in parameters:
            if isinstance(parameter.default, bool | int | float | str):
                found[f"{name}({parameter.name})"] = repr(parameter.default)
    return found


def test_defaults_match_the_list():
    expected = dict(line.split(" = ", 1) for line in FILE.read_text(encoding="utf-8").splitlines())
    found = found_defaults()
    known = found.keys() & expected.keys()  # those of new and renamed arguments are to be added
    assert {name: found[name] for name in known} == {name: expected[name] for name in known}
    assert len(known) > 200


if __name__ == "__main__":
    for name, default in found_defaults().items():
        print(f"{name} = {default}")
