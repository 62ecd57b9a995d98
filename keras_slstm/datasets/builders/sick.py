"""The SICK data set, entailment and relatedness, as a TFDS data set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import tensorflow_datasets as tfds

from keras_slstm.datasets.builders._manual import Originals
from keras_slstm.datasets.builders._pairs import ENTAILMENT, PairFiles, Row, columns, label_of, score_of

SOURCE = "http://alt.qcri.org/semeval2014/task1/data/uploads"
LABELS = {name.upper(): name for name in ENTAILMENT}
FILES = {"train": "SICK_train.txt", "validation": "SICK_trial.txt", "test": "SICK_test_annotated.txt"}


class Sick(PairFiles):
    """Sentences Involving Compositional Knowledge (SICK), as in SemEval 2014: 4,500 / 500 / 4,927 pairs.

    Configurations: `entailment` (SICK-E: entailment, neutral or contradiction) and `relatedness` (SICK-R: a score
    from 1 to 5). The trial data is the split `validation`.

    Read are `SICK_train.txt`, `SICK_trial.txt` and `SICK_test_annotated.txt`: a header, then number, two sentences,
    score and label in columns.

    Example:

    ```python
    builder = Sick(config="relatedness", data_dir="~/tensorflow_datasets")
    builder.download_and_prepare(download_config=tfds.download.DownloadConfig(manual_dir="~/sick"))
    pairs = builder.as_dataset(split="train")
    ```
    """

    BUILDER_CONFIGS = [
        tfds.core.BuilderConfig(name="entailment", description="What the first sentence says about the second."),
        tfds.core.BuilderConfig(name="relatedness", description="How related they are, from 1 to 5."),
    ]
    PAIRS = {"train": 4500, "validation": 500, "test": 4927}
    SCORES = (1, 5)
    ORIGINALS = (
        Originals(
            names=FILES,
            folders=("sick",),
            source={split: f"{SOURCE}/{name.lower().replace('.txt', '.zip')}" for split, name in FILES.items()},
        ),
    )
    DESCRIPTION = "Pairs of sentences by entailment, or by how related they are (SemEval 2014, task 1)."
    HOMEPAGE = "https://alt.qcri.org/semeval2014/task1/"
    CITATION = """@inproceedings{marelli-etal-2014-sick,
  title = {A {SICK} cure for the evaluation of compositional distributional semantic models},
  author = {Marelli, Marco and Menini, Stefano and Baroni, Marco and Bentivogli, Luisa and Bernardi, Raffaella and
            Zamparelli, Roberto},
  booktitle = {Proceedings of LREC},
  year = {2014},
}"""

    @property
    def _label_names(self) -> Sequence[str]:
        return ENTAILMENT if self.builder_config.name == "entailment" else ()

    def _rows(self, path: Path) -> Iterator[Row]:
        what = "number, two sentences, score and label"
        for number, (_, first, second, score, label) in columns(path, 5, what, header=1):
            checked = label_of(path, number, label, LABELS), score_of(path, number, score, *self.SCORES)
            yield Row(number, first, second, checked[0] if self._label_names else checked[1])
