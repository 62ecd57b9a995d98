"""The error for malformed data files."""

from __future__ import annotations

import os
from typing import Any

from keras_slstm.printable import printable

LONGEST = 500  # characters in a message: a malformed line may have millions


class DataError(ValueError):
    """A data file is malformed. The message is one line that starts with `path:line: `, like a compiler's.

    Args:
        path: The file.
        line: The line number, counted from 1.
        problem: The error, and what was expected instead.
    """

    def __init__(self, path: str | os.PathLike[str], line: int, problem: str):
        shown = problem if len(problem) <= LONGEST else f"{problem[: LONGEST - 100]} ... {problem[-95:]}"
        super().__init__(printable(f"{os.fspath(path)}:{line}: {shown}"))
        self.path = os.fspath(path)
        self.line = line
        self.problem = problem

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.line, self.problem)  # pickle would pass the message alone
