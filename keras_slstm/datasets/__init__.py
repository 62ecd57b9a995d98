"""Generated corpora, TFDS data sets, and readers of your own files.

Only `keras_slstm.datasets.builders`, the module of the TFDS builders, needs the `datasets` extra to be imported.
"""

from keras_slstm.datasets.conll import TaggedSentence, read_conll
from keras_slstm.datasets.corpus import Corpus, Texts, load_corpus, load_folds
from keras_slstm.datasets.office_notes import Note, generate_notes
from keras_slstm.datasets.pair_corpus import PairCorpus, Pairs, load_pair_corpus
from keras_slstm.datasets.pair_readers import PairExample, read_labelled_pairs
from keras_slstm.datasets.parallel_corpus import ParallelCorpus, TextPairs, load_parallel_corpus, read_aligned_lines
from keras_slstm.datasets.readers import Example, read_labelled_text, read_lines
from keras_slstm.datasets.tagged_corpus import TaggedCorpus, TaggedSentences, load_tagged_corpus
from keras_slstm.datasets.travel_desk import INTENTS, SLOTS, TAGS, Request, generate_requests, generate_splits
from keras_slstm.errors import DataError

__all__ = [
    "INTENTS",
    "SLOTS",
    "TAGS",
    "Corpus",
    "DataError",
    "Example",
    "Note",
    "PairCorpus",
    "PairExample",
    "Pairs",
    "ParallelCorpus",
    "Request",
    "TaggedCorpus",
    "TaggedSentence",
    "TaggedSentences",
    "TextPairs",
    "Texts",
    "generate_notes",
    "generate_requests",
    "generate_splits",
    "load_corpus",
    "load_folds",
    "load_pair_corpus",
    "load_parallel_corpus",
    "load_tagged_corpus",
    "read_aligned_lines",
    "read_conll",
    "read_labelled_pairs",
    "read_labelled_text",
    "read_lines",
]
