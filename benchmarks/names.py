"""Names of encoders and data sets for tables, by the identifiers that the commands use."""

from __future__ import annotations

ENCODERS = {"slstm": "S-LSTM", "depth_adaptive_grn": "Depth-adaptive GRN"}
DATA = {"movie_review": "movie reviews", "imdb-train.tsv": "IMDB, part", "trec": "TREC"}


def encoder_name(identifier: str) -> str:
    """Return the name of an encoder and its options.

    >>> encoder_name("depth_adaptive_grn (selection=full)")
    'Depth-adaptive GRN (selection=full)'
    """
    name, *options = identifier.partition(" (")
    return ENCODERS.get(name, name) + "".join(options)


def data_name(identifier: str) -> str:
    """Return the name of a data set.

    >>> data_name("movie_review")
    'movie reviews'
    """
    return DATA.get(identifier, identifier)
