"""The movie-review sentence polarity set of Pang and Lee as a TFDS data set."""

from __future__ import annotations

import hashlib
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tensorflow_datasets as tfds

from keras_slstm.data.errors import DataError
from keras_slstm.data.readers import read_bytes

URL = "https://www.cs.cornell.edu/people/pabo/movie-review-data/rt-polaritydata.tar.gz"
FILES = {"neg": "rt-polarity.neg", "pos": "rt-polarity.pos"}
FOLDERS = ("", "mr", "rt-polaritydata")

CITATION = """@inproceedings{pang-lee-2005-seeing,
  title = {Seeing Stars: Exploiting Class Relationships for Sentiment Categorization
           with Respect to Rating Scales},
  author = {Pang, Bo and Lee, Lillian},
  booktitle = {Proceedings of ACL},
  year = {2005},
}"""

HOW_TO_GET = f"""\
Put {FILES["pos"]} and {FILES["neg"]} (plain or gzip-compressed with .gz behind) into `manual_dir`, or into
a folder mr/ or rt-polaritydata/ in it. They come with the archive
{URL}"""


class MovieReview(tfds.core.GeneratorBasedBuilder):
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

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "First release."}
    MANUAL_DOWNLOAD_INSTRUCTIONS = HOW_TO_GET
    SENTENCES = 5331  # of each label

    def _info(self) -> tfds.core.DatasetInfo:
        return tfds.core.DatasetInfo(
            builder=self,
            description="Sentences of movie reviews, positive or negative (sentence polarity data set v1.0).",
            features=tfds.features.FeaturesDict(
                {"text": tfds.features.Text(), "label": tfds.features.ClassLabel(names=list(FILES))}
            ),
            supervised_keys=("text", "label"),
            homepage="https://www.cs.cornell.edu/people/pabo/movie-review-data/",
            citation=CITATION,
            metadata=tfds.core.MetadataDict(),
        )

    def download_and_prepare(
        self, *, download_config: tfds.download.DownloadConfig | None = None, **kwargs: Any
    ) -> None:
        """Prepare the data set, as every TFDS builder does.

        Raises:
            ValueError: If the set has been prepared before, from other files than those now in `manual_dir`.
        """
        manual_dir = download_config.manual_dir if download_config else None
        files = _find(Path(manual_dir).expanduser()) if manual_dir else None
        if files and self.data_path.exists() and _fingerprint(self._read(files)) != self.info.metadata["sha256"]:
            raise ValueError(
                f"{self.data_path} was prepared from other files than those in {manual_dir}. "
                "Delete that folder, or prepare into another `data_dir`."
            )
        super().download_and_prepare(download_config=download_config, **kwargs)

    def _split_generators(self, dl_manager: tfds.download.DownloadManager) -> dict[str, Any]:
        sentences = self._read(_manual_files(dl_manager) or _downloaded_files(dl_manager))
        self.info.metadata["sha256"] = _fingerprint(sentences)
        return {"train": self._generate_examples(sentences)}

    def _generate_examples(self, sentences: dict[str, list[str]]) -> Iterator[tuple[str, dict[str, str]]]:
        for label, texts in sentences.items():
            for index, text in enumerate(texts):
                yield f"{label}_{index}", {"text": text, "label": label}

    def _read(self, files: dict[str, Path]) -> dict[str, list[str]]:
        return {label: _read_sentences(path, self.SENTENCES) for label, path in files.items()}


def _find(folder: Path) -> dict[str, Path] | None:
    """Find the file of each label in a folder."""
    for inside in FOLDERS:
        for suffix in ("", ".gz"):
            files = {label: folder / inside / (name + suffix) for label, name in FILES.items()}
            if all(path.is_file() for path in files.values()):
                return files
    return None


def _manual_files(dl_manager: tfds.download.DownloadManager) -> dict[str, Path] | None:
    try:
        return _find(Path(dl_manager.manual_dir))
    except AssertionError:  # how TFDS says that there is no such folder, or nothing in it
        return None


def _downloaded_files(dl_manager: tfds.download.DownloadManager) -> dict[str, Path]:
    try:
        # TFDS repeats a failing download for minutes: an offline machine should say so at once.
        urllib.request.urlopen(urllib.request.Request(URL, method="HEAD"), timeout=30).close()
        files = _find(Path(dl_manager.download_and_extract(URL)))
    except Exception as error:  # no network, a proxy, a server that is down: the way out is the same
        raise FileNotFoundError(
            f"The files of movie_review are not in `manual_dir`, and could not be downloaded ({error}).\n{HOW_TO_GET}"
        ) from error
    if files is None:
        raise FileNotFoundError(f"The archive from {URL} does not hold {' and '.join(FILES.values())}.")
    return files


def _read_sentences(path: Path, expected: int) -> list[str]:
    sentences = _decode(path).removesuffix("\n").split("\n")
    for number, sentence in enumerate(sentences, start=1):
        if not sentence.strip():
            raise DataError(path, number, "the line is empty; a sentence was expected")
    if len(sentences) != expected:
        raise DataError(path, len(sentences), f"{expected:,} sentences expected, found {len(sentences):,}")
    return [sentence.strip() for sentence in sentences]


def _decode(path: Path) -> str:
    content = read_bytes(path)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        pass
    try:
        return content.decode("cp1252")  # as published
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(path, line, f"neither UTF-8 nor Windows-1252: byte {content[error.start]:#04x}") from error


def _fingerprint(sentences: dict[str, list[str]]) -> str:
    """Digest the sentences, whatever the encoding and compression of their files."""
    digest = hashlib.sha256()
    for label, texts in sentences.items():
        digest.update("\n".join([label, *texts, ""]).encode("utf-8"))
    return digest.hexdigest()
