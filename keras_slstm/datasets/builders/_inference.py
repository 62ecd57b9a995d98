"""The files of SNLI and MultiNLI: JSON lines as published, or label, premise and hypothesis in columns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from keras_slstm.datasets.builders._manual import published_lines
from keras_slstm.datasets.builders._pairs import ENTAILMENT, PairFiles, Row, columns, label_of
from keras_slstm.errors import DataError

LABELS = {name: name for name in ENTAILMENT}
NO_LABEL = "-"  # the annotators did not agree


class InferencePairs(PairFiles, skip_registration=True):
    """Base of the sets of a premise and a hypothesis. Pairs without a gold label are left out."""

    TEXTS = ("premise", "hypothesis")
    LABELS = ENTAILMENT

    def _rows(self, path: Path) -> Iterator[Row]:
        return _json_rows(path) if ".jsonl" in path.suffixes else _tsv_rows(path)


def _json_rows(path: Path) -> Iterator[Row]:
    for number, line in enumerate(published_lines(path), start=1):
        try:
            record = json.loads(line)
            label, first, second = (record[key] for key in ("gold_label", "sentence1", "sentence2"))
            if not all(isinstance(value, str) for value in (label, first, second)):
                raise ValueError("strings expected")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise DataError(
                path,
                number,
                f'a JSON object with strings "gold_label", "sentence1" and "sentence2" expected, found {line[:60]!r}',
            ) from error
        if label != NO_LABEL:
            yield Row(number, first, second, label_of(path, number, label, LABELS))


def _tsv_rows(path: Path) -> Iterator[Row]:
    for number, (label, first, second) in columns(path, 3, "label, premise and hypothesis"):
        if label != NO_LABEL:
            yield Row(number, first, second, label_of(path, number, label, LABELS))
