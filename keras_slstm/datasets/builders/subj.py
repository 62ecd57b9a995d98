"""The subjectivity data set of Pang and Lee as a TFDS data set."""

from __future__ import annotations

from keras_slstm.datasets.builders._label_per_file import LabelPerFile
from keras_slstm.datasets.builders._manual import Originals


class Subj(LabelPerFile):
    """The 10,000 sentences of the subjectivity data set v1.0 (Subj): half from reviews, half from plots.

    The set has no official split: everything is in `train`. The files have the names of the original archive, or
    those under which they are passed on together with other sentence sets (`subj.objective`, `subj.subjective`).
    They may be in Windows-1252, as published, or in UTF-8.

    Example:

    ```python
    builder = Subj(data_dir="~/tensorflow_datasets")
    builder.download_and_prepare(download_config=tfds.download.DownloadConfig(manual_dir="~/rotten_imdb"))
    sentences = builder.as_dataset(split="train", as_supervised=True)
    ```
    """

    LABELS = ("objective", "subjective")
    SENTENCES = 5000
    ORIGINALS = (
        Originals(
            names={"objective": "plot.tok.gt9.5000", "subjective": "quote.tok.gt9.5000"},
            folders=("subj", "rotten_imdb"),
            source="https://www.cs.cornell.edu/people/pabo/movie-review-data/rotten_imdb.tar.gz",
        ),
        Originals(
            names={"objective": "subj.objective", "subjective": "subj.subjective"},
            folders=("subj",),
        ),
    )
    DESCRIPTION = "Sentences of movie reviews (subjective) and of plot summaries (objective)."
    HOMEPAGE = "https://www.cs.cornell.edu/people/pabo/movie-review-data/"
    CITATION = """@inproceedings{pang-lee-2004-sentimental,
  title = {A Sentimental Education: Sentiment Analysis Using Subjectivity Summarization
           Based on Minimum Cuts},
  author = {Pang, Bo and Lee, Lillian},
  booktitle = {Proceedings of ACL},
  year = {2004},
}"""
