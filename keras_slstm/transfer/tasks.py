"""The ten tasks of the transfer evaluation, and their data."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from keras_slstm.datasets.corpus import Texts, read_texts
from keras_slstm.datasets.pair_corpus import Pairs, ScoreRange, read_pairs
from keras_slstm.datasets.readers import PathLike
from keras_slstm.suggestions import did_you_mean

PARTS = ("train", "validation", "test")


@dataclass(frozen=True)
class Task:
    """A prediction task on sentence vectors.

    Args:
        name: Its name.
        dataset: The name of the data set for `load_corpus` or, for pairs, `load_pair_corpus`.
        pairs: Whether the examples are pairs of sentences.
        score_range: Lowest and highest score, if examples have scores instead of labels.
        positive: The label whose F1 is also measured.
        distinct: Whether to keep only the first of equal training examples.
    """

    name: str
    dataset: str
    pairs: bool = False
    score_range: ScoreRange | None = None
    positive: str | None = None
    distinct: bool = False


# In the order of the tables of SentEval (Conneau and Kiela, 2018) and of Brahma (2018), Table 2.
TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (
        Task("MR", "movie_review"),
        Task("CR", "cr"),
        Task("SUBJ", "subj"),
        Task("MPQA", "mpqa"),
        # SentEval has two labels, and trains on the distinct phrases of the training sentences.
        Task("SST", "sst/phrases_2", distinct=True),
        Task("TREC", "trec/coarse"),
        Task("MRPC", "mrpc", pairs=True, positive="equivalent"),
        Task("SICK-R", "sick/relatedness", pairs=True, score_range=(1, 5)),
        Task("SICK-E", "sick/entailment", pairs=True),
        Task("STS-B", "stsb", pairs=True, score_range=(0, 5)),
    )
}


@dataclass(frozen=True)
class TaskData:
    """The examples of a task.

    The parts determine the evaluation: without a test part, the task is cross-validated; without a validation part, the
    regularisation is chosen by cross-validation of the training part.

    Args:
        task: The task.
        parts: `Texts` or `Pairs` as `train` and, if the data set has them, `validation` and `test`.

    Raises:
        ValueError: If there is no training part, or a part is empty or does not fit `Task.pairs`.
    """

    task: Task
    parts: Mapping[str, Texts | Pairs]

    def __post_init__(self) -> None:
        if "train" not in self.parts or not set(self.parts) <= set(PARTS):
            raise ValueError(
                f'{self.task.name} needs the part "train" and optionally "validation" and "test", but has '
                f"{list(self.parts)}."
            )
        kind = Pairs if self.task.pairs else Texts
        for name, part in self.parts.items():
            if not isinstance(part, kind) or not len(part):
                raise ValueError(
                    f'The part "{name}" of {self.task.name} must be `{kind.__name__}` with at least one example, but '
                    f"got {len(part)} in a `{type(part).__name__}`."
                )

    def texts(self) -> Iterator[str]:
        """All texts, including both texts of each pair."""
        for part in self.parts.values():
            for text in part.texts:
                yield from (text,) if isinstance(text, str) else text

    def limited(self, limit: int, seed: int = 0) -> TaskData:
        """The task with at most `limit` training examples, drawn at random, for a quick test."""
        train = self.parts["train"]
        if len(train) <= limit:
            return self
        drawn = sorted(random.Random(seed).sample(range(len(train)), limit))
        return replace(self, parts={**self.parts, "train": train.take(drawn)})


def load_task(task: str | Task, data_dir: PathLike | None = None, manual_dir: PathLike | None = None) -> TaskData:
    """Load the examples of a task.

    Args:
        task: One of `TASKS`, or its name.
        data_dir, manual_dir: See `load_corpus`.

    Raises:
        DataError: If a file is malformed.
        FileNotFoundError: If files are missing; the message says where to put which files.
        ImportError: If TFDS is not installed.
        ValueError: If the task is unknown.
    """
    if isinstance(task, str):
        if task not in TASKS:
            raise ValueError(f"Unknown task {task!r}. Known tasks: {', '.join(TASKS)}.{did_you_mean(task, TASKS)}")
        task = TASKS[task]
    kind: Any = Pairs if task.pairs else Texts
    read: Any = read_pairs if task.pairs else read_texts
    sources = read(task.dataset, data_dir, manual_dir)
    if task.distinct:
        train = sources.parts["train"]
        train.rows[:] = dict.fromkeys(train.rows)
    return TaskData(task, {name: source.part(kind) for name, source in sources.parts.items()})
