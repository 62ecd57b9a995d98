"""Names of encoders and data sets for tables and figures, by the identifiers that the commands use."""

from __future__ import annotations

ENCODERS = {
    "bilstm": "BiLSTM",
    "slstm": "S-LSTM",
    "caslstm": "CAS-LSTM",
    "bi_caslstm": "Bi-CAS-LSTM",
    "subilstm": "SuBiLSTM",
    "depth_adaptive_grn": "Depth-adaptive GRN",
    "stacked_bilstm": "stacked BiLSTM",
    "stacked_cnn": "stacked CNN",
    "transformer": "Transformer",
    "lstm": "LSTM",
    "crf": "CRF",
    "cnn": "character CNN",
    "max": "max pooling",
    "bcn": "BCN",
    "esim": "ESIM",
    "infersent": "InferSent",
}
DATA = {
    "movie_review": "movie reviews",
    "travel_desk": "travel desk",
    "office_notes": "office notes",
    "conll2003": "CoNLL-2003",
    "ud_ewt": "UD EWT",
    "trec": "TREC",
    "trec/coarse": "TREC, 6 classes",
    "trec/fine": "TREC, 50 classes",
    "subj": "Subj",
    "mrpc": "MRPC",
    "sst/sentences_2": "SST, sentences, 2 classes",
    "sst/phrases_2": "SST, phrases, 2 classes",
    "sick/entailment": "SICK, entailment",
    "sick/relatedness": "SICK, relatedness",
    "snli/subset": "SNLI, part",
    "imdb-train.tsv": "IMDB, part",
    "fdu_mtl/mr": "FDU-MTL, movie reviews",
    "fdu_mtl": "FDU-MTL",
}


def encoder_name(identifier: str) -> str:
    """Return the name of an encoder and its parts.

    >>> encoder_name("bi_caslstm (lam=0.5)"), encoder_name("stacked_bilstm + max")
    ('Bi-CAS-LSTM (lam=0.5)', 'stacked BiLSTM + max pooling')
    """
    parts = (part.partition(" (") for part in identifier.split(" + "))
    return " + ".join(ENCODERS.get(name, name) + options + rest for name, options, rest in parts)


def data_name(identifier: str) -> str:
    """Return the name of a data set.

    >>> data_name("trec/coarse"), data_name("fdu_mtl/health_personal_care")
    ('TREC, 6 classes', 'FDU-MTL, health personal care')
    """
    if identifier in DATA:
        return DATA[identifier]
    base, slash, config = identifier.partition("/")
    return f"{DATA[base]}, {config.replace('_', ' ')}" if slash and base in DATA else identifier
