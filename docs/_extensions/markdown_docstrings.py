"""Translates Markdown docstrings, which editors and `help` display well, to reStructuredText for autodoc."""

from __future__ import annotations

import inspect
import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.inspect import stringify_signature

from keras_slstm import public

SECTION = re.compile(r"^(Args|Attributes|Call arguments|Example|Raises|Reference|Returns|Speed|Weights|Yields):$")


def translate(lines: list[str]) -> list[str]:
    """Return the lines of a docstring as reStructuredText."""
    translated: list[str] = []
    prose: list[str] = []
    in_description, in_code, in_literal = True, False, False

    def flush() -> None:
        translated.extend(inline("\n".join(prose)).split("\n") if prose else [])
        prose.clear()

    for line in lines:
        indent = line[: len(line) - len(line.lstrip())]
        if line.lstrip().startswith("```"):
            flush()
            in_code = not in_code
            translated += [f"{indent}.. code-block:: {line.strip('` ') or 'text'}", ""] if in_code else [""]
            continue
        in_description = in_description and not SECTION.match(line)
        starts_equation = in_description and line.startswith("    ") and not in_literal and not (prose or [""])[-1]
        if starts_equation and not in_code:
            flush()
            translated += ["::", ""]
            in_literal = True
        in_literal = in_literal and (not line.strip() or line.startswith("    "))
        if in_code or in_literal:
            translated.append(f"    {line}" if in_code and line else line)
        else:
            prose.append(line)
    flush()
    return translated


def inline(text: str) -> str:
    """Translate code and links, and escape characters that are markup only in reStructuredText."""
    parts = re.split(r"(`+[^`]+`+)", text)
    for i, part in enumerate(parts):
        if part.startswith("`"):
            parts[i] = part if part.startswith("``") else f"``{part.strip('`').strip()}``"
        else:
            part = re.sub(r"\[([^\]]+)\]\((https?://[^)]+)\)", r"`\1 <\2>`__", part)
            part = re.sub(r"(?<![*\w])\*(\w[^*\n]*)\*(?![*\w])", "\x00\\1\x00", part)  # emphasis
            parts[i] = re.sub(r"([*|])", r"\\\1", part).replace("\x00", "*")
    return "".join(parts)


def process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Translate a docstring in place, before napoleon reads its sections."""
    is_constant = what == "data" and inspect.cleandoc(type(obj).__doc__ or "").split("\n") == lines[:-1]
    lines[:] = [] if is_constant else translate(lines)


def sign(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, arguments: str, result: str
) -> tuple[str, str] | None:
    """Show the arguments of a class's `__init__`, because `__new__` of Keras' layers has only `*args, **kwargs`."""
    if what != "class" or arguments != "(*args, **kwargs)":
        return None
    signature = inspect.signature(obj.__init__)
    without_self = signature.replace(parameters=list(signature.parameters.values())[1:])
    return stringify_signature(without_self, show_annotation=False, show_return_annotation=False), ""


def name_public_bases(app: Sphinx, name: str, obj: Any, options: Any, bases: list[type]) -> None:
    """Replace each private base class by the first public class above it, such as Keras' `Layer`."""

    def is_public(base: type) -> bool:
        return base is not object and (
            base.__name__ in public.__all__ or not base.__module__.startswith("keras_slstm.")
        )

    # Bases such as `Generic[T]` and `NamedTuple` are not classes.
    found = [next((above for above in getattr(base, "__mro__", [base]) if is_public(above)), None) for base in bases]
    bases[:] = [base for base in dict.fromkeys(found) if base] or [object]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the functions with autodoc."""
    app.connect("autodoc-process-docstring", process, priority=400)
    app.connect("autodoc-process-signature", sign)
    app.connect("autodoc-process-bases", name_public_bases)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
