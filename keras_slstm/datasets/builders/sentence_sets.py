"""TFDS builders of the sentence sets with one file per label: MR, Subj, CR and MPQA."""

from __future__ import annotations

from pathlib import Path

from keras_slstm.datasets.builders.original_files import (
    Examples,
    Files,
    OriginalFilesBuilder,
    check_count,
    published_lines,
)
from keras_slstm.errors import DataError


class LabelPerFile(OriginalFilesBuilder, skip_registration=True):
    """Base class of the sets with one file per label. They have no official split: everything is in `train`.

    The roles of the original files are the labels.
    """

    LABELS = ("neg", "pos")
    SENTENCES: int  # of each label

    def _read(self, files: Files) -> dict[str, Examples]:
        sentences = {label: [line.strip() for line in published_lines(path)] for label, path in files.items()}
        self._check(files, sentences)
        return {
            "train": {
                f"{label}_{index}": {"text": text, "label": label}
                for label, texts in sentences.items()
                for index, text in enumerate(texts)
                if text
            }
        }

    def _check(self, files: Files, sentences: dict[str, list[str]]) -> None:
        for label, path in files.items():
            if "" in sentences[label]:
                raise DataError(path, sentences[label].index("") + 1, "expected a sentence, but the line is empty")
            check_count(path, len(sentences[label]), len(sentences[label]), self.SENTENCES, "sentences")


class LabelPerFileWithBlanks(LabelPerFile, skip_registration=True):
    """Base class of the sets whose files have empty lines, which are skipped.

    The papers give one number for both labels without saying whether it includes the empty lines.
    """

    SENTENCES: int  # of both labels together

    def _check(self, files: Files, sentences: dict[str, list[str]]) -> None:
        filled = sum(text != "" for texts in sentences.values() for text in texts)
        lines = sum(len(texts) for texts in sentences.values())
        if not filled <= self.SENTENCES <= lines:
            label = list(files)[-1]
            names = " and ".join(Path(path).name for path in files.values())
            problem = f"expected {self.SENTENCES:,} sentences in {names} together, found {filled:,}"
            raise DataError(files[label], len(sentences[label]), problem)


class MovieReview(LabelPerFile):
    """The 10,662 sentences of the sentence polarity data set v1.0 (MR), half of them positive."""

    SENTENCES = 5331


class Subj(LabelPerFile):
    """The 10,000 sentences of the subjectivity data set v1.0 (Subj): half from reviews, half from plots.

    The files have the names of the original archive, or those used in collections of sentence sets (`subj.objective`,
    `subj.subjective`).
    """

    LABELS = ("objective", "subjective")
    SENTENCES = 5000


class CR(LabelPerFileWithBlanks):
    """The 3,775 positive or negative sentences of the customer reviews (CR) of Hu and Liu.

    The files are those commonly used for sentence classification (Wang and Manning 2012, Kim 2014): tokenised, one
    sentence per line, without neutral sentences.
    """

    name = "cr"
    SENTENCES = 3775


class MPQA(LabelPerFileWithBlanks):
    """The 10,606 positive or negative opinion phrases of the MPQA corpus, three words long on average.

    The files are those commonly used for sentence classification (Wang and Manning 2012, Kim 2014): tokenised, one
    phrase per line.
    """

    name = "mpqa"
    SENTENCES = 10_606
