"""The movie-review sentence polarity set of Pang and Lee as a TFDS data set."""

from __future__ import annotations

from keras_slstm.datasets.builders._label_per_file import LabelPerFile
from keras_slstm.datasets.builders._manual import Originals


class MovieReview(LabelPerFile):
    """The 10,662 sentences of the sentence polarity data set v1.0 (MR), half of them positive.

    The set has no official split: everything is in `train`. The original files are read from `manual_dir` if
    they are there, and downloaded otherwise. They may be in Windows-1252, as published, or in UTF-8.

    Example:

    ```python
    builder = MovieReview(data_dir="~/tensorflow_datasets")
    builder.download_and_prepare(
        download_config=tfds.download.DownloadConfig(manual_dir="~/rt-polaritydata")
    )
    sentences = builder.as_dataset(split="train", as_supervised=True)
    ```
    """

    LABELS = ("neg", "pos")
    SENTENCES = 5331
    ORIGINALS = (
        Originals(
            names={"neg": "rt-polarity.neg", "pos": "rt-polarity.pos"},
            folders=("mr", "rt-polaritydata"),
            source="https://www.cs.cornell.edu/people/pabo/movie-review-data/rt-polaritydata.tar.gz",
        ),
    )
    DESCRIPTION = "Sentences of movie reviews, positive or negative (sentence polarity data set v1.0)."
    HOMEPAGE = "https://www.cs.cornell.edu/people/pabo/movie-review-data/"
    CITATION = """@inproceedings{pang-lee-2005-seeing,
  title = {Seeing Stars: Exploiting Class Relationships for Sentiment Categorization
           with Respect to Rating Scales},
  author = {Pang, Bo and Lee, Lillian},
  booktitle = {Proceedings of ACL},
  year = {2005},
}"""
