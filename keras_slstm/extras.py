"""Imports optional dependencies."""

from __future__ import annotations

import importlib
from types import ModuleType


def require(module: str, extra: str) -> ModuleType:
    """Import an optional dependency.

    Args:
        module: Name of the module, e.g. `"matplotlib.pyplot"`.
        extra: The extra of this package that installs it, e.g. `"plots"`.

    Returns:
        The imported module.

    Raises:
        ImportError: If the module is not installed. The message names the extra.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or module.split(".")[0] != error.name.split(".")[0]:
            raise  # the module is installed, but one of its dependencies is missing
        raise ImportError(
            f'`{module}` is not installed. It comes with the `{extra}` extra: pip install "keras-slstm[{extra}]"'
        ) from error
