"""TFDS builders of natural language inference: SNLI and MultiNLI."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import tensorflow_datasets as tfds

from keras_slstm.datasets.builders.original_files import Originals, originals_of, published_lines
from keras_slstm.datasets.builders.pair_sets import ENTAILMENT, PairFiles, Row, columns, label_of
from keras_slstm.errors import DataError

LABELS = {name: name for name in ENTAILMENT}
NO_LABEL = "-"  # the annotators did not agree


class InferencePairs(PairFiles, skip_registration=True):
    """Base class of the sets of premise-hypothesis pairs. Pairs without a gold label are left out."""

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
                raise ValueError("expected strings")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise DataError(
                path,
                number,
                f'expected a JSON object with strings "gold_label", "sentence1" and "sentence2", found {line[:60]!r}',
            ) from error
        if label != NO_LABEL:
            yield Row(number, first, second, label_of(path, number, label, LABELS))


def _tsv_rows(path: Path) -> Iterator[Row]:
    for number, (label, first, second) in columns(path, 3, "label, premise and hypothesis"):
        if label != NO_LABEL:
            yield Row(number, first, second, label_of(path, number, label, LABELS))


class Snli(InferencePairs):
    """SNLI: whether the premise entails the hypothesis, contradicts it, or neither (`neutral`).

    | configuration | train | validation | test |
    | --- | --- | --- | --- |
    | `full` | 549,367 | 9,842 | 9,824 |
    | `subset` | pairs of `train_subset.tsv` | 9,842 | 9,824 |

    The files are the published JSON lines (`snli_1.0_train.jsonl` ...), or `train.tsv`, `dev.tsv` and `test.tsv` with
    label, premise and hypothesis in columns without quoting. Pairs without a gold label are left out. The configuration
    `subset` has a training part of your own choice, in columns.

    TFDS also has a set named `snli`, in which pairs without a label have the label -1. This one is named
    `snli_original` in TFDS; `load_pair_corpus("snli")` loads it.
    """

    name = "snli_original"
    BUILDER_CONFIGS = [
        tfds.core.BuilderConfig(name="full", description="All pairs."),
        tfds.core.BuilderConfig(name="subset", description="A part of the training pairs: those of train_subset.tsv."),
    ]
    PAIRS = {"train": 549_367, "validation": 9842, "test": 9824}

    @property
    def _is_subset(self) -> bool:
        return self.builder_config.name == "subset"

    def _originals(self) -> tuple[Originals, ...]:
        return originals_of(self.name, "subset") if self._is_subset else self.ORIGINALS

    def _pairs_of(self, split: str) -> int | None:
        return None if self._is_subset and split == "train" else self.PAIRS[split]


class MultiNli(InferencePairs):
    """MultiNLI: 392,702 training pairs of a premise and a hypothesis, from ten genres; three labels.

    | configuration | train | test |
    | --- | --- | --- |
    | `matched`: genres of the training part | 392,702 | 9,815 |
    | `mismatched`: other genres | 392,702 | 9,832 |
    | `matched_only`, `mismatched_only` | | 9,815 / 9,832 |

    The labels of the real test parts are not published. The split `test` is the development part that the configuration
    is named after, on which most papers report results; select models on pairs drawn from the training part (as
    `load_pair_corpus` does). The configurations `..._only` are for testing a model that was trained on other pairs,
    such as SNLI.

    The files are the published JSON lines (`multinli_1.0_train.jsonl` ...), or `train.tsv`, `dev_matched.tsv` and
    `dev_mismatched.tsv` with label, premise and hypothesis in columns without quoting.

    TFDS also has a set named `multi_nli`. This one is named `multi_nli_original` in TFDS;
    `load_pair_corpus("multi_nli/matched")` loads it.
    """

    name = "multi_nli_original"
    BUILDER_CONFIGS = [
        tfds.core.BuilderConfig(name=name, description=description)
        for name, description in (
            ("matched", "Tested on the genres of the training part."),
            ("mismatched", "Tested on other genres."),
            ("matched_only", "The matched development part alone."),
            ("mismatched_only", "The mismatched development part alone."),
        )
    ]
    TRAINING_PAIRS = 392_702
    TEST_PAIRS = {"matched": 9815, "mismatched": 9832}
    FORMS = (
        ("multinli_1.0_{}.jsonl", "https://cims.nyu.edu/~sbowman/multinli/multinli_1.0.zip"),
        ("{}.tsv", None),
    )
    ORIGINALS = tuple(
        Originals(
            names={part: form.format(part) for part in ("train", "dev_matched", "dev_mismatched")},
            folders=("multi_nli", "multinli", "multinli_1.0"),
            source=source,
        )
        for form, source in FORMS
    )

    @property
    def _part(self) -> str:
        return self.builder_config.name.removesuffix("_only")

    def _originals(self) -> tuple[Originals, ...]:
        roles = {"train": "train", "test": f"dev_{self._part}"}
        if self.builder_config.name.endswith("_only"):
            del roles["train"]
        return tuple(
            Originals({role: each.names[part] for role, part in roles.items()}, each.folders, each.source)
            for each in self.ORIGINALS
        )

    def _pairs_of(self, split: str) -> int:
        return self.TRAINING_PAIRS if split == "train" else self.TEST_PAIRS[self._part]
