"""Scores of frozen sentence vectors on other tasks, for studies of `keras-slstm embed`.

Such a study trains each row on pairs of sentences, and chooses the searched value there. The encoder of each training
is then tested on the tasks in the option `tasks`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from keras_slstm.transfer import TASKS

Line = dict[str, Any]


def metric(task: str) -> str:
    """Return the metric of a task in Table 2 of Brahma (2018), as the results of the command name it."""
    return "pearson" if TASKS[task].score_range else "f1" if TASKS[task].positive else "accuracy"


def task_scores(results: Iterable[Line], tasks: Sequence[str]) -> dict[str, float]:
    """Return the test score on each task.

    Args:
        results: The lines that the command has written: one of the training, and one of each task.
        tasks: The tasks of the study.

    Raises:
        ValueError: If a task has no line. The command skips tasks without files.
    """
    tested = {result["transfer"]["task"]: result for result in results if "transfer" in result}
    if missing := [task for task in tasks if task not in tested]:
        raise ValueError(f"these tasks have no files: {', '.join(missing)}")
    return {task: tested[task][metric(task)] for task in tasks}


def on_task(runs: dict[int, Line], task: str) -> dict[int, Line]:
    """Return the trainings of a row, by seed, with the test score on a task instead of that on the pairs."""
    return {seed: {**line, "test_score": line["tasks"][task], "items": None} for seed, line in runs.items()}
