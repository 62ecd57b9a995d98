"""Data sets of sentences whose words have tags, in column files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow_datasets as tfds

from keras_slstm.datasets.builders._manual import Examples, Files, OriginalFilesBuilder, check_count
from keras_slstm.datasets.conll import TaggedSentence, keep_valid, read_conll
from keras_slstm.datasets.readers import PathLike
from keras_slstm.errors import DataError
from keras_slstm.text.tag_schemes import convert_tags, detect_scheme


class TaggedFiles(OriginalFilesBuilder, skip_registration=True):
    """Base of the sets with a column file for each split: the words (`tokens`), and a feature for each column of tags.

    Tags of spans are given in BIO, in whatever scheme the file has them.
    """

    CONLLU = False
    COLUMNS: Mapping[str, int] = {}  # of the file, by feature
    TAGS: Mapping[str, list[str]] = {}  # the names of the tags, by feature
    SPANS: frozenset[str] = frozenset()  # the features that mark spans
    SENTENCES: Mapping[str, int] = {}  # of each split

    def _features(self) -> dict[str, Any]:
        tags = {
            feature: tfds.features.Sequence(tfds.features.ClassLabel(names=names))
            for feature, names in self.TAGS.items()
        }
        return {"tokens": tfds.features.Sequence(tfds.features.Text()), **tags}

    def _read(self, files: Files) -> dict[str, Examples]:
        splits: dict[str, Examples] = {}
        for split, path in files.items():
            columns = {feature: self._column(path, feature) for feature in self.COLUMNS}
            sentences = next(iter(columns.values()))
            check_count(path, sentences[-1].lines[-1], len(sentences), self.SENTENCES[split], "sentences")
            splits[split] = {
                str(index): {
                    "tokens": sentence.tokens,
                    **{feature: found[index].tags for feature, found in columns.items()},
                }
                for index, sentence in enumerate(sentences)
            }
        return splits

    def _column(self, path: PathLike, feature: str) -> list[TaggedSentence]:
        sentences = read_conll(path, tag_column=self.COLUMNS[feature], conllu=self.CONLLU)
        if feature in self.SPANS:
            scheme = detect_scheme(sentence.tags for sentence in sentences)
            sentences = [
                sentence._replace(tags=convert_tags(sentence.tags, scheme, "BIO"))
                for sentence in keep_valid(path, sentences, scheme)
            ]
        known = set(self.TAGS[feature])
        for sentence in sentences:
            for tag, line in zip(sentence.tags, sentence.lines):
                if tag not in known:
                    names = ", ".join(self.TAGS[feature])
                    raise DataError(path, line, f'"{tag}" is no tag of this set ({feature}): {names}')
        return sentences
