"""The data sets that are published tokenised."""

from __future__ import annotations

TOKENISED = ("movie_review", "subj", "cr", "mpqa", "sst", "trec", "fdu_mtl")


def tokenizer_of(name: str) -> str:
    """The tokenizer, for a `TextVectorizer`, that fits a data set.

    >>> tokenizer_of("sst/phrases_2"), tokenizer_of("travel_desk")
    ('whitespace', 'words')
    """
    return "whitespace" if name.split("/")[0] in TOKENISED else "words"
