"""From text to batches of numbers: corpora, readers, vocabularies, batches.

`keras_slstm.data.builders` holds the TFDS builders; it alone needs the `datasets` extra.
"""

from keras_slstm.data.batches import TextBatches
from keras_slstm.data.conll import TaggedSentence, read_conll
from keras_slstm.data.corpus import Corpus, Texts, load_corpus, load_folds
from keras_slstm.data.errors import DataError
from keras_slstm.data.office_notes import Note, generate_notes
from keras_slstm.data.pair_corpus import PairCorpus, Pairs, load_pair_corpus
from keras_slstm.data.pair_readers import PairExample, read_labelled_pairs
from keras_slstm.data.parallel_corpus import ParallelCorpus, TextPairs, load_parallel_corpus, read_aligned_lines
from keras_slstm.data.readers import Example, read_labelled_text, read_lines
from keras_slstm.data.schemes import Span, convert_tags, spans_to_tags, tags_to_spans
from keras_slstm.data.subwords import SubwordVectorizer
from keras_slstm.data.tagged_corpus import TaggedCorpus, TaggedSentences, load_tagged_corpus
from keras_slstm.data.text import TextVectorizer
from keras_slstm.data.token_batches import TokenBatches
from keras_slstm.data.tokens import TokenVectorizer
from keras_slstm.data.translation_batches import TranslationBatches
from keras_slstm.data.travel_desk import INTENTS, SLOTS, TAGS, Request, generate_requests, generate_splits
from keras_slstm.data.vectors import Coverage, WordVectors, load_word_vectors

__all__ = [
    "INTENTS",
    "SLOTS",
    "TAGS",
    "Corpus",
    "Coverage",
    "DataError",
    "Example",
    "Note",
    "PairCorpus",
    "PairExample",
    "Pairs",
    "ParallelCorpus",
    "Request",
    "Span",
    "SubwordVectorizer",
    "TaggedCorpus",
    "TaggedSentence",
    "TaggedSentences",
    "TextBatches",
    "TextPairs",
    "TextVectorizer",
    "Texts",
    "TokenBatches",
    "TokenVectorizer",
    "TranslationBatches",
    "WordVectors",
    "convert_tags",
    "generate_notes",
    "generate_requests",
    "generate_splits",
    "load_corpus",
    "load_folds",
    "load_pair_corpus",
    "load_parallel_corpus",
    "load_tagged_corpus",
    "load_word_vectors",
    "read_aligned_lines",
    "read_conll",
    "read_labelled_pairs",
    "read_labelled_text",
    "read_lines",
    "spans_to_tags",
    "tags_to_spans",
]
