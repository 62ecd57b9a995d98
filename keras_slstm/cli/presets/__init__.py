"""The presets of the commands: data files with training settings."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import Any

Settings = dict[str, Any]


@functools.cache
def load_presets(command: str) -> dict[str, Settings]:
    """The presets of a command, from `COMMAND.toml`: the table `defaults`, updated by the table of each preset.

    Raises:
        ValueError: If a preset sets something that has no default.
    """
    path = Path(__file__).with_name(f"{command}.toml")
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    defaults = tables.pop("defaults")
    for name, changes in tables.items():
        if unknown := sorted(set(changes) - set(defaults)):
            raise ValueError(f"{path}: the preset {name!r} sets {unknown[0]!r}, which has no default")
    return {name: {**defaults, **changes} for name, changes in tables.items()}
