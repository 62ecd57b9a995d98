"""The Quora Question Pairs as a TFDS data set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import tensorflow_datasets as tfds

from keras_slstm.datasets.builders._manual import Originals
from keras_slstm.datasets.builders._pairs import PairFiles, Row, columns, label_of

LABELS = {"0": "not_duplicate", "1": "duplicate"}


class Qqp(PairFiles):
    """Quora Question Pairs (QQP): pairs of questions, by whether they ask the same.

    | configuration | train | validation | test |
    | --- | --- | --- | --- |
    | `full` | 384,348 | 10,000 | 10,000 |
    | `heldout` | | 10,000 | 10,000 |

    Read are `train.tsv`, `dev.tsv` and `test.tsv` of the split of Wang, Hamza and Florian (2017): label, question 1,
    question 2 and number of the pair in columns, no quoting. `heldout` is for testing a model that was trained on
    other pairs. (What GLUE has as `glue/qqp` is another split, whose test part has no labels.)

    Example:

    ```python
    builder = Qqp(data_dir="~/tensorflow_datasets")
    builder.download_and_prepare(download_config=tfds.download.DownloadConfig(manual_dir="~/qqp"))
    pairs = builder.as_dataset(split="train")
    ```
    """

    BUILDER_CONFIGS = [
        tfds.core.BuilderConfig(name="full", description="All pairs."),
        tfds.core.BuilderConfig(name="heldout", description="Without the training part."),
    ]
    TEXTS = ("question1", "question2")
    LABELS = tuple(LABELS.values())
    PAIRS = {"train": 384_348, "validation": 10_000, "test": 10_000}
    ORIGINALS = (
        Originals(
            names={"train": "train.tsv", "validation": "dev.tsv", "test": "test.tsv"},
            folders=("qqp", "Quora_question_pair_partition"),
            remark="They are the files of the archive Quora_question_pair_partition.zip, to which "
            "https://github.com/zhiguowang/BiMPM leads.",
        ),
    )
    DESCRIPTION = "Pairs of questions, by whether they ask the same (Quora Question Pairs, split of Wang et al.)."
    HOMEPAGE = "https://github.com/zhiguowang/BiMPM"
    CITATION = """@inproceedings{wang-etal-2017-bilateral,
  title = {Bilateral Multi-Perspective Matching for Natural Language Sentences},
  author = {Wang, Zhiguo and Hamza, Wael and Florian, Radu},
  booktitle = {Proceedings of IJCAI},
  year = {2017},
}"""

    def _originals(self) -> tuple[Originals, ...]:
        (every,) = self.ORIGINALS
        left_out = "train" if self.builder_config.name == "heldout" else None
        names = {role: name for role, name in every.names.items() if role != left_out}
        return (Originals(names, every.folders, every.source, every.remark),)

    def _rows(self, path: Path) -> Iterator[Row]:
        for number, (label, first, second, _) in columns(path, 4, "label, two questions and the number of the pair"):
            yield Row(number, first, second, label_of(path, number, label, LABELS))
