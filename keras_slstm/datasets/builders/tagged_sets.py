"""TFDS builders of tagged sentences in column files: CoNLL-2003 and the English Web Treebank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow_datasets as tfds

from keras_slstm.datasets.builders.original_files import Examples, Files, OriginalFilesBuilder, check_count
from keras_slstm.datasets.conll import CONLLU_COLUMNS, TaggedSentence, keep_valid, read_conll
from keras_slstm.datasets.readers import PathLike
from keras_slstm.errors import DataError
from keras_slstm.text.tag_schemes import convert_tags, detect_scheme, scheme_labels

ENTITIES = ("LOC", "MISC", "ORG", "PER")
CHUNKS = ("ADJP", "ADVP", "CONJP", "INTJ", "LST", "NP", "PP", "PRT", "SBAR", "VP")
PARTS_OF_SPEECH = [
    "$", "''", "(", ")", ",", ".", ":", "CC", "CD", "DT", "EX", "FW", "IN", "JJ", "JJR", "JJS", "LS", "MD", "NN", "NNP",
    "NNPS", "NNS", "NN|SYM", "PDT", "POS", "PRP", "PRP$", "RB", "RBR", "RBS", "RP", "SYM", "TO", "UH", "VB", "VBD",
    "VBG", "VBN", "VBP", "VBZ", "WDT", "WP", "WP$", "WRB", '"',
]  # fmt: skip
UPOS = [
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ",
    "SYM", "VERB", "X",
]  # fmt: skip
XPOS = [
    "$", "''", ",", "-LRB-", "-RRB-", ".", ":", "ADD", "AFX", "CC", "CD", "DT", "EX", "FW", "GW", "HYPH", "IN",
    "JJ", "JJR", "JJS", "LS", "MD", "NFP", "NN", "NNP", "NNPS", "NNS", "PDT", "POS", "PRP", "PRP$", "RB", "RBR",
    "RBS", "RP", "SYM", "TO", "UH", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "WDT", "WP", "WP$", "WRB", "``",
]  # fmt: skip


class TaggedFiles(OriginalFilesBuilder, skip_registration=True):
    """Base class of the sets with a column file for each split: `tokens`, and one feature per column of tags.

    Span tags are converted to BIO from the scheme of the file.
    """

    CONLLU = False
    COLUMNS: Mapping[str, int] = {}  # of the file, by feature
    TAGS: Mapping[str, list[str]] = {}  # names of the tags, by feature
    SPANS: frozenset[str] = frozenset()  # features that encode spans
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
                    raise DataError(path, line, f'"{tag}" is not a tag of this set ({feature}): {names}')
        return sentences


class Conll2003(TaggedFiles):
    """News sentences with entities of four types, and with automatic chunks and parts of speech.

    14,041 training sentences (`eng.train`), 3,250 for development (`eng.testa`, the split `validation`) and 3,453 for
    testing (`eng.testb`); `-DOCSTART-` lines are left out. Entities (`ner`) and chunks (`chunks`) are converted from
    the IOB1 of the files to BIO.

    TFDS also has a set named `conll2003`. This one is named `conll2003_original` in TFDS;
    `load_tagged_corpus("conll2003")` loads it.
    """

    name = "conll2003_original"
    COLUMNS = {"ner": 3, "chunks": 2, "pos": 1}
    TAGS = {
        "ner": scheme_labels(ENTITIES, "BIO"),
        "chunks": scheme_labels(CHUNKS, "BIO"),
        "pos": PARTS_OF_SPEECH,
    }
    SPANS = frozenset(("ner", "chunks"))
    SENTENCES = {"train": 14_041, "validation": 3_250, "test": 3_453}
    SUPERVISED_KEYS = ("tokens", "ner")


class UdEwt(TaggedFiles):
    """Web sentences with their parts of speech: 17 universal ones (`upos`), 49 for English (`xpos`).

    12,544 training sentences, 2,001 for development and 2,077 for testing (release 2.16). Words are the syntactic
    words of the treebank: `don't` is two words.
    """

    name = "ud_ewt"
    CONLLU = True
    COLUMNS = {name: CONLLU_COLUMNS.index(name) for name in ("upos", "xpos")}
    TAGS = {"upos": UPOS, "xpos": XPOS}
    SENTENCES = {"train": 12_544, "validation": 2_001, "test": 2_077}
    SUPERVISED_KEYS = ("tokens", "upos")
