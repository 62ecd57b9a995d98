"""The customer reviews of Hu and Liu, sentence by sentence, as a TFDS data set."""

from __future__ import annotations

from keras_slstm.datasets.builders._label_per_file import SENTENCE_SETS, LabelPerFileWithBlanks
from keras_slstm.datasets.builders._manual import Originals


class CR(LabelPerFileWithBlanks):
    """The 3,775 positive or negative sentences of the customer reviews (CR).

    Read are the files `custrev.neg` and `custrev.pos` in which the set is passed on for sentence classification
    (Wang and Manning 2012, Kim 2014): tokenised, a sentence a line, without those that take no side. The set
    has no official split: everything is in `train`.

    Example:

    ```python
    builder = CR(data_dir="~/tensorflow_datasets")
    builder.download_and_prepare(download_config=tfds.download.DownloadConfig(manual_dir="~/cr"))
    sentences = builder.as_dataset(split="train", as_supervised=True)
    ```
    """

    name = "cr"
    LABELS = ("neg", "pos")
    SENTENCES = 3775
    ORIGINALS = (
        Originals(
            names={"neg": "custrev.neg", "pos": "custrev.pos"},
            folders=("cr",),
            source={"neg": f"{SENTENCE_SETS}/custrev.neg", "pos": f"{SENTENCE_SETS}/custrev.pos"},
        ),
    )
    DESCRIPTION = "Sentences of customer reviews of cameras, players and other products, positive or negative."
    HOMEPAGE = "https://www.cs.uic.edu/~liub/FBS/sentiment-analysis.html"
    CITATION = """@inproceedings{hu-liu-2004-mining,
  title = {Mining and Summarizing Customer Reviews},
  author = {Hu, Minqing and Liu, Bing},
  booktitle = {Proceedings of KDD},
  year = {2004},
}"""
