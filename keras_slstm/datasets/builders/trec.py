"""TFDS builder of the TREC question types of Li and Roth."""

from __future__ import annotations

import tensorflow_datasets as tfds

from keras_slstm.datasets.builders.original_files import (
    Examples,
    Files,
    OriginalFilesBuilder,
    check_count,
    published_lines,
)
from keras_slstm.errors import DataError

FINE_TYPES = {
    "ABBR": ("abb", "exp"),
    "DESC": ("def", "desc", "manner", "reason"),
    "ENTY": (
        "animal", "body", "color", "cremat", "currency", "dismed", "event", "food", "instru", "lang", "letter",
        "other", "plant", "product", "religion", "sport", "substance", "symbol", "techmeth", "termeq", "veh", "word",
    ),
    "HUM": ("desc", "gr", "ind", "title"),
    "LOC": ("city", "country", "mount", "other", "state"),
    "NUM": (
        "code", "count", "date", "dist", "money", "ord", "other", "perc", "period", "speed", "temp", "volsize",
        "weight",
    ),
}  # fmt: skip
FINE = [f"{coarse}:{fine}" for coarse, fines in FINE_TYPES.items() for fine in fines]


class Trec(OriginalFilesBuilder):
    """5,452 training and 500 test questions, of 6 types (`coarse`) or 50 (`fine`: `"HUM:ind"`, `"NUM:date"`...).

    TFDS also has a set named `trec`, whose fine labels lack the coarse part, so that only 47 are distinct. This one is
    named `trec_original` in TFDS; `load_corpus("trec/fine")` loads it. There is no development part.
    """

    name = "trec_original"
    BUILDER_CONFIGS = [
        tfds.core.BuilderConfig(name="coarse", description="6 question types."),
        tfds.core.BuilderConfig(name="fine", description="50 question types."),
    ]
    QUESTIONS = {"train": 5452, "test": 500}

    @property
    def _fine(self) -> bool:
        return self.builder_config.name == "fine"

    def _features(self) -> dict[str, tfds.features.FeatureConnector]:
        names = FINE if self._fine else list(FINE_TYPES)
        return {"text": tfds.features.Text(), "label": tfds.features.ClassLabel(names=names)}

    def _read(self, files: Files) -> dict[str, Examples]:
        splits: dict[str, Examples] = {}
        for split, path in files.items():
            lines = published_lines(path)
            splits[split] = {}
            for number, line in enumerate(lines, start=1):
                label, _, text = line.strip().partition(" ")
                if label not in FINE or not text:
                    raise DataError(
                        path, number, f'expected "COARSE:fine question" with a label of TREC, found {line!r}'
                    )
                label = label if self._fine else label.partition(":")[0]
                splits[split][str(number)] = {"text": text.strip(), "label": label}
            check_count(path, len(lines), len(lines), self.QUESTIONS[split], "questions")
        return splits
