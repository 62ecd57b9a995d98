"""Data sets with a file for each label, one sentence a line."""

from __future__ import annotations

from pathlib import Path

from keras_slstm.datasets.builders._manual import Examples, Files, OriginalFilesBuilder, check_count, published_lines
from keras_slstm.errors import DataError

# Where CR and MPQA lie in the form in which the field uses them.
SENTENCE_SETS = (
    "https://raw.githubusercontent.com/harvardnlp/sent-conv-torch/7917668a7bf647fc9e7b02bdbc40d8ab5567ea67/data"
)


class LabelPerFile(OriginalFilesBuilder, skip_registration=True):
    """Base of the sets with a file for each label. They have no official split: everything is in `train`.

    The roles of `ORIGINALS` are the labels.
    """

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
                raise DataError(path, sentences[label].index("") + 1, "the line is empty; a sentence was expected")
            check_count(path, len(sentences[label]), len(sentences[label]), self.SENTENCES, "sentences")


class LabelPerFileWithBlanks(LabelPerFile, skip_registration=True):
    """Base of the sets whose files hold empty lines, too: these are left out.

    The papers give one number for both labels, and do not say whether the empty lines are in it.
    """

    SENTENCES: int  # of both labels together

    def _check(self, files: Files, sentences: dict[str, list[str]]) -> None:
        filled = sum(text != "" for texts in sentences.values() for text in texts)
        lines = sum(len(texts) for texts in sentences.values())
        if not filled <= self.SENTENCES <= lines:
            label = list(files)[-1]
            names = " and ".join(Path(path).name for path in files.values())
            raise DataError(
                files[label],
                len(sentences[label]),
                f"{self.SENTENCES:,} sentences expected in {names} together, found {filled:,}",
            )
