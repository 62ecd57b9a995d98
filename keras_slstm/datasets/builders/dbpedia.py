"""TFDS builder of the DBpedia ontology classes of Zhang, Zhao and LeCun."""

from __future__ import annotations

import csv
from pathlib import Path

import tensorflow_datasets as tfds

from keras_slstm.datasets.builders.original_files import (
    Examples,
    Files,
    OriginalFilesBuilder,
    check_count,
    published_lines,
)
from keras_slstm.errors import DataError

CLASSES = (
    "Company",
    "EducationalInstitution",
    "Artist",
    "Athlete",
    "OfficeHolder",
    "MeanOfTransportation",
    "Building",
    "NaturalPlace",
    "Village",
    "Animal",
    "Plant",
    "Album",
    "Film",
    "WrittenWork",
)
NUMBERS = {str(number): name for number, name in enumerate(CLASSES, start=1)}


class Dbpedia(OriginalFilesBuilder):
    """Titles and abstracts of Wikipedia articles of 14 classes: 560,000 for training and 70,000 for testing.

    The original files are `train.csv` and `test.csv`: one article per line, with the number of the class, the quoted
    title and the quoted abstract. The paper classifies title and abstract together, and so does
    `load_corpus("dbpedia")`. There is no development part.
    """

    ARTICLES = {"train": 560_000, "test": 70_000}
    LABELS = CLASSES
    SUPERVISED_KEYS = ("content", "label")

    def _features(self) -> dict[str, tfds.features.FeatureConnector]:
        return {
            "title": tfds.features.Text(),
            "content": tfds.features.Text(),
            "label": tfds.features.ClassLabel(names=list(CLASSES)),
        }

    def _read(self, files: Files) -> dict[str, Examples]:
        splits = {}
        for split, path in files.items():
            lines = published_lines(path)
            splits[split] = {str(number): self._article(path, number, line) for number, line in enumerate(lines, 1)}
            check_count(path, len(lines), len(lines), self.ARTICLES[split], "articles")
        return splits

    def _article(self, path: Path, number: int, line: str) -> dict[str, str]:
        try:
            fields = next(csv.reader([line], strict=True), [])
        except csv.Error as error:
            raise DataError(path, number, f"malformed CSV: {error}") from error
        if len(fields) != 3 or fields[0] not in NUMBERS:
            raise DataError(
                path, number, f"expected a class from 1 to 14, a title and an abstract, found {line[:60]!r}"
            )
        if not (fields[1] + fields[2]).strip():
            raise DataError(path, number, "both title and abstract are empty")
        return {"label": NUMBERS[fields[0]], "title": fields[1].strip(), "content": fields[2].strip()}
