"""The English named entities of the CoNLL-2003 shared task as a TFDS data set."""

from __future__ import annotations

from keras_slstm.datasets.builders._manual import Originals
from keras_slstm.datasets.builders._tagged import TaggedFiles
from keras_slstm.text.tag_schemes import scheme_labels

ENTITIES = ("LOC", "MISC", "ORG", "PER")
CHUNKS = ("ADJP", "ADVP", "CONJP", "INTJ", "LST", "NP", "PP", "PRT", "SBAR", "VP")
PARTS_OF_SPEECH = [
    "$", "''", "(", ")", ",", ".", ":", "CC", "CD", "DT", "EX", "FW", "IN", "JJ", "JJR", "JJS", "LS", "MD", "NN", "NNP",
    "NNPS", "NNS", "NN|SYM", "PDT", "POS", "PRP", "PRP$", "RB", "RBR", "RBS", "RP", "SYM", "TO", "UH", "VB", "VBD",
    "VBG", "VBN", "VBP", "VBZ", "WDT", "WP", "WP$", "WRB", '"',
]  # fmt: skip


class Conll2003(TaggedFiles):
    """Sentences of news with entities of four types, and with chunks and parts of speech made by machine.

    14,041 sentences to train on (`eng.train`), 3,250 for development (`eng.testa`, the split `validation`) and 3,453 to
    test on (`eng.testb`); `-DOCSTART-` lines are left out. Entities (`ner`) and chunks (`chunks`) are given in BIO,
    the original files have IOB1.

    TFDS itself has a set named `conll2003`. This one is therefore named `conll2003_original` in TFDS;
    `load_tagged_corpus("conll2003")` takes it.

    Example:

    ```python
    builder = Conll2003(data_dir="~/tensorflow_datasets")
    builder.download_and_prepare(download_config=tfds.download.DownloadConfig(manual_dir="~/conll2003"))
    sentences = builder.as_dataset(split="train")
    ```
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
    ORIGINALS = (
        Originals(
            names={"train": "eng.train", "validation": "eng.testa", "test": "eng.testb"},
            folders=("conll2003",),
            remark="The annotations belong to the shared task (https://www.clips.uantwerpen.be/conll2003/ner/), the "
            "text to the Reuters Corpus, which NIST gives to researchers (https://trec.nist.gov/data/reuters/).",
        ),
    )
    SUPERVISED_KEYS = ("tokens", "ner")
    DESCRIPTION = "Named entities in English news: places, persons, organisations and others (CoNLL-2003)."
    HOMEPAGE = "https://www.clips.uantwerpen.be/conll2003/ner/"
    CITATION = """@inproceedings{tjong-kim-sang-de-meulder-2003-introduction,
  title = {Introduction to the {CoNLL}-2003 Shared Task: Language-Independent Named Entity Recognition},
  author = {Tjong Kim Sang, Erik F. and De Meulder, Fien},
  booktitle = {Proceedings of CoNLL},
  year = {2003},
}"""
