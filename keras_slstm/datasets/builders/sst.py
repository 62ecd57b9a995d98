"""TFDS builder of the Stanford Sentiment Treebank, sentences and phrases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import tensorflow_datasets as tfds

from keras_slstm.datasets.builders.original_files import (
    Examples,
    Files,
    OriginalFilesBuilder,
    Originals,
    check_count,
    published_lines,
)
from keras_slstm.datasets.builders.trees import read_tree
from keras_slstm.errors import DataError

FIVE = ("very negative", "negative", "neutral", "positive", "very positive")
TWO = ("negative", "negative", None, "positive", "positive")  # neutral ones are left out


class Sst(OriginalFilesBuilder):
    """The Stanford Sentiment Treebank (SST): the sentences or all phrases for training, with 5 or 2 labels.

    | configuration | train | validation | test |
    | --- | --- | --- | --- |
    | `sentences_5` | 8,544 | 1,101 | 2,210 |
    | `sentences_2` | 6,920 | 872 | 1,821 |
    | `phrases_5` | 318,582 | 1,101 | 2,210 |
    | `phrases_2` | 98,794 | 872 | 1,821 |

    With phrases, every node of every training tree is an example, repeated phrases included; validation and test
    contain only sentences. With two labels, neutral examples are left out.

    All configurations are read from the published trees, the only files with phrases. If there are no trees, the two
    sentence configurations are read from the files `stsa.fine.*`, which have the same sentences and labels in lower
    case and in another order. Tokens are as in the files: `-LRB-` for a bracket, a backslash before a slash.
    """

    BUILDER_CONFIGS = [
        tfds.core.BuilderConfig(name="sentences_5", description="Sentences, 5 labels."),
        tfds.core.BuilderConfig(name="sentences_2", description="Sentences, 2 labels."),
        tfds.core.BuilderConfig(name="phrases_5", description="Phrases of the training sentences, 5 labels."),
        tfds.core.BuilderConfig(name="phrases_2", description="Phrases of the training sentences, 2 labels."),
    ]
    COUNTS = {
        "sentences_5": {"train": 8544, "validation": 1101, "test": 2210},
        "sentences_2": {"train": 6920, "validation": 872, "test": 1821},
        "phrases_5": {"train": 318_582, "validation": 1101, "test": 2210},
        "phrases_2": {"train": 98_794, "validation": 872, "test": 1821},
    }

    @property
    def _phrases(self) -> bool:
        return self.builder_config.name.startswith("phrases")

    @property
    def _label_of_grade(self) -> tuple[str | None, ...]:
        return FIVE if self.builder_config.name.endswith("5") else TWO

    def _originals(self) -> tuple[Originals, ...]:
        return self.ORIGINALS[:1] if self._phrases else self.ORIGINALS

    def _features(self) -> dict[str, tfds.features.FeatureConnector]:
        names = dict.fromkeys(label for label in self._label_of_grade if label)
        return {"text": tfds.features.Text(), "label": tfds.features.ClassLabel(names=list(names))}

    def _read(self, files: Files) -> dict[str, Examples]:
        splits = {}
        for split, path in files.items():
            with_phrases = self._phrases and split == "train"
            rows = list(_read_sentences(path) if path.name.startswith("stsa.") else _read_trees(path, with_phrases))
            examples = {
                key: {"text": text, "label": self._label_of_grade[grade]}
                for key, grade, text in rows
                if self._label_of_grade[grade]
            }
            line = int(rows[-1][0].partition("_")[0])
            what = "phrases" if with_phrases else "sentences"
            check_count(path, line, len(examples), self.COUNTS[self.builder_config.name][split], what)
            splits[split] = examples
        return splits


def _read_trees(path: Path, with_phrases: bool) -> Iterator[tuple[str, int, str]]:
    """Read (key, grade, text) of each sentence, or of each phrase of each sentence."""
    for number, line in enumerate(published_lines(path), start=1):
        try:
            phrases = read_tree(line)
        except ValueError as error:
            raise DataError(path, number, str(error)) from error
        for index, (grade, text) in enumerate(phrases if with_phrases else phrases[:1]):
            yield f"{number}_{index}", grade, text


def _read_sentences(path: Path) -> Iterator[tuple[str, int, str]]:
    for number, line in enumerate(published_lines(path), start=1):
        grade, _, text = line.partition(" ")
        if grade not in ("0", "1", "2", "3", "4") or not text.strip(" "):
            raise DataError(path, number, f'expected a label from 0 to 4, a space and a sentence, found "{line}"')
        yield f"{number}_0", int(grade), text.strip(" ")
