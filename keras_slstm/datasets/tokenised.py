"""Data sets whose published texts are tokenised."""

from __future__ import annotations

TOKENISED = ("movie_review", "subj", "cr", "mpqa", "sst", "trec", "fdu_mtl")


def tokenizer_of(name: str) -> str:
    """Return the tokenizer of a `TextVectorizer` that suits a data set.

    >>> tokenizer_of("sst/phrases_2"), tokenizer_of("travel_desk")
    ('whitespace', 'words')
    """
    return "whitespace" if name.split("/")[0] in TOKENISED else "words"
