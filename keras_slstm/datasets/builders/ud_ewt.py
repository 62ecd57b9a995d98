"""The English Web Treebank of Universal Dependencies as a TFDS data set: parts of speech."""

from __future__ import annotations

from keras_slstm.datasets.builders._manual import Originals
from keras_slstm.datasets.builders._tagged import TaggedFiles
from keras_slstm.datasets.conll import CONLLU_COLUMNS

RELEASE = "2.16"
SOURCE = f"https://raw.githubusercontent.com/UniversalDependencies/UD_English-EWT/r{RELEASE}"
UPOS = [
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ",
    "SYM", "VERB", "X",
]  # fmt: skip
XPOS = [
    "$", "''", ",", "-LRB-", "-RRB-", ".", ":", "ADD", "AFX", "CC", "CD", "DT", "EX", "FW", "GW", "HYPH", "IN",
    "JJ", "JJR", "JJS", "LS", "MD", "NFP", "NN", "NNP", "NNPS", "NNS", "PDT", "POS", "PRP", "PRP$", "RB", "RBR",
    "RBS", "RP", "SYM", "TO", "UH", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "WDT", "WP", "WP$", "WRB", "``",
]  # fmt: skip


class UdEwt(TaggedFiles):
    """Sentences from the web with their parts of speech: 17 of all languages (`upos`), 49 of English (`xpos`).

    12,544 sentences to train on, 2,001 for development and 2,077 to test on (release 2.16). Words are the syntactic
    words of the treebank: `don't` is two.

    Example:

    ```python
    builder = UdEwt(data_dir="~/tensorflow_datasets")
    builder.download_and_prepare()
    sentences = builder.as_dataset(split="train", as_supervised=True)  # words and upos
    ```
    """

    name = "ud_ewt"
    CONLLU = True
    COLUMNS = {name: CONLLU_COLUMNS.index(name) for name in ("upos", "xpos")}
    TAGS = {"upos": UPOS, "xpos": XPOS}
    SENTENCES = {"train": 12_544, "validation": 2_001, "test": 2_077}
    ORIGINALS = (
        Originals(
            names={
                "train": "en_ewt-ud-train.conllu",
                "validation": "en_ewt-ud-dev.conllu",
                "test": "en_ewt-ud-test.conllu",
            },
            folders=("ud_ewt", "UD_English-EWT"),
            source={
                "train": f"{SOURCE}/en_ewt-ud-train.conllu",
                "validation": f"{SOURCE}/en_ewt-ud-dev.conllu",
                "test": f"{SOURCE}/en_ewt-ud-test.conllu",
            },
        ),
    )
    SUPERVISED_KEYS = ("tokens", "upos")
    DESCRIPTION = f"Parts of speech of English from the web (Universal Dependencies, release {RELEASE})."
    HOMEPAGE = "https://universaldependencies.org/treebanks/en_ewt/"
    CITATION = """@inproceedings{silveira-etal-2014-gold,
  title = {A Gold Standard Dependency Corpus for {E}nglish},
  author = {Silveira, Natalia and Dozat, Timothy and de Marneffe, Marie-Catherine and Bowman, Samuel R. and
            Connor, Miriam and Bauer, John and Manning, Christopher D.},
  booktitle = {Proceedings of LREC},
  year = {2014},
}"""
