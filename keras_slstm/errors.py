"""The error of a malformed data file."""

from __future__ import annotations

import os


class DataError(ValueError):
    """A file of data is malformed. The message begins `path:line: `, as editors and compilers write it.

    Args:
        path: The file.
        line: The line at fault, counted from 1.
        problem: What is wrong with it, and what was expected.
    """

    def __init__(self, path: str | os.PathLike[str], line: int, problem: str):
        super().__init__(f"{os.fspath(path)}:{line}: {problem}")
        self.path = os.fspath(path)
        self.line = line
        self.problem = problem

    def __reduce__(self):
        return type(self), (self.path, self.line, self.problem)  # the message alone could not rebuild it
