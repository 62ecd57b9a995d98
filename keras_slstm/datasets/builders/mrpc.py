"""The Microsoft Research Paraphrase Corpus as a TFDS data set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from keras_slstm.datasets.builders._manual import Originals
from keras_slstm.datasets.builders._pairs import PairFiles, Row, columns, label_of

SOURCE = "https://dl.fbaipublicfiles.com/senteval/senteval_data"
LABELS = {"0": "not_equivalent", "1": "equivalent"}


class Mrpc(PairFiles):
    """The Microsoft Research Paraphrase Corpus (MRPC): 4,076 training and 1,725 test pairs of sentences of news.

    Read are `msr_paraphrase_train.txt` and `msr_paraphrase_test.txt`: a header, then label, two numbers and the two
    sentences in columns, no quoting. There is no development part.

    Example:

    ```python
    builder = Mrpc(data_dir="~/tensorflow_datasets")
    builder.download_and_prepare(download_config=tfds.download.DownloadConfig(manual_dir="~/mrpc"))
    pairs = builder.as_dataset(split="train")
    ```
    """

    LABELS = tuple(LABELS.values())
    PAIRS = {"train": 4076, "test": 1725}
    ORIGINALS = (
        Originals(
            names={split: f"msr_paraphrase_{split}.txt" for split in ("train", "test")},
            folders=("mrpc", "MRPC"),
            source={split: f"{SOURCE}/msr_paraphrase_{split}.txt" for split in ("train", "test")},
        ),
    )
    DESCRIPTION = "Pairs of sentences of news, by whether they say the same (Microsoft Research Paraphrase Corpus)."
    HOMEPAGE = "https://www.microsoft.com/en-us/download/details.aspx?id=52398"
    CITATION = """@inproceedings{dolan-etal-2004-unsupervised,
  title = {Unsupervised Construction of Large Paraphrase Corpora: Exploiting Massively Parallel News Sources},
  author = {Dolan, Bill and Quirk, Chris and Brockett, Chris},
  booktitle = {Proceedings of COLING},
  year = {2004},
}"""

    def _rows(self, path: Path) -> Iterator[Row]:
        what = "label, two numbers and two sentences"
        for number, (label, _, _, first, second) in columns(path, 5, what, header=1):
            yield Row(number, first, second, label_of(path, number, label, LABELS))
