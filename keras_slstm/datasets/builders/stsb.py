"""The Semantic Textual Similarity Benchmark as a TFDS data set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from keras_slstm.datasets.builders._manual import Originals
from keras_slstm.datasets.builders._pairs import PairFiles, Row, columns, score_of


class Stsb(PairFiles):
    """The STS Benchmark (STS-B): 5,749 / 1,500 / 1,379 pairs of sentences, scored from 0 to 5 by how much they agree.

    Read are `sts-train.csv`, `sts-dev.csv` and `sts-test.csv`: genre, file, year, number, score and the two sentences
    in columns that are separated by tabs, in spite of the name, and in some lines notes on the source behind them.

    Example:

    ```python
    builder = Stsb(data_dir="~/tensorflow_datasets")
    builder.download_and_prepare(download_config=tfds.download.DownloadConfig(manual_dir="~/stsbenchmark"))
    pairs = builder.as_dataset(split="train")
    ```
    """

    PAIRS = {"train": 5749, "validation": 1500, "test": 1379}
    SCORES = (0, 5)
    ORIGINALS = (
        Originals(
            names={"train": "sts-train.csv", "validation": "sts-dev.csv", "test": "sts-test.csv"},
            folders=("stsb", "stsbenchmark"),
            source="http://ixa2.si.ehu.es/stswiki/images/4/48/Stsbenchmark.tar.gz",
        ),
    )
    DESCRIPTION = "Pairs of sentences by how much they agree in meaning (STS Benchmark)."
    HOMEPAGE = "https://ixa2.si.ehu.eus/stswiki/"
    CITATION = """@inproceedings{cer-etal-2017-semeval,
  title = {SemEval-2017 Task 1: Semantic Textual Similarity Multilingual and Crosslingual Focused Evaluation},
  author = {Cer, Daniel and Diab, Mona and Agirre, Eneko and Lopez-Gazpio, I{\\~n}igo and Specia, Lucia},
  booktitle = {Proceedings of SemEval},
  year = {2017},
}"""

    def _rows(self, path: Path) -> Iterator[Row]:
        what = "genre, file, year, number, score and two sentences"
        for number, (_, _, _, _, score, first, second, *_) in columns(path, 7, what, more=True):
            yield Row(number, first, second, score_of(path, number, score, *self.SCORES))
