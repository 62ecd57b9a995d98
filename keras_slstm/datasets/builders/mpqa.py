"""The opinion polarity phrases of the MPQA corpus as a TFDS data set."""

from __future__ import annotations

from keras_slstm.datasets.builders._label_per_file import SENTENCE_SETS, LabelPerFileWithBlanks
from keras_slstm.datasets.builders._manual import Originals


class MPQA(LabelPerFileWithBlanks):
    """The 10,606 positive or negative opinion phrases of the MPQA corpus, three words long on average.

    Read are the files `mpqa.neg` and `mpqa.pos` in which the set is passed on for sentence classification
    (Wang and Manning 2012, Kim 2014): tokenised, a phrase a line. The set has no official split: everything is
    in `train`.

    Example:

    ```python
    builder = MPQA(data_dir="~/tensorflow_datasets")
    builder.download_and_prepare(download_config=tfds.download.DownloadConfig(manual_dir="~/mpqa"))
    phrases = builder.as_dataset(split="train", as_supervised=True)
    ```
    """

    name = "mpqa"
    LABELS = ("neg", "pos")
    SENTENCES = 10_606
    ORIGINALS = (
        Originals(
            names={"neg": "mpqa.neg", "pos": "mpqa.pos"},
            folders=("mpqa",),
            source={"neg": f"{SENTENCE_SETS}/mpqa.neg", "pos": f"{SENTENCE_SETS}/mpqa.pos"},
        ),
    )
    DESCRIPTION = "Opinion phrases from news articles, positive or negative (opinion polarity task of MPQA)."
    HOMEPAGE = "https://mpqa.cs.pitt.edu/"
    CITATION = """@article{wiebe-etal-2005-annotating,
  title = {Annotating Expressions of Opinions and Emotions in Language},
  author = {Wiebe, Janyce and Wilson, Theresa and Cardie, Claire},
  journal = {Language Resources and Evaluation},
  volume = {39},
  year = {2005},
}"""
