"""Text as numbers: tokenisers, vocabularies, word vectors, tag schemes and batches."""

from keras_slstm.text.batches import TextBatches
from keras_slstm.text.subword_vectorizer import SubwordVectorizer
from keras_slstm.text.tag_schemes import Span, convert_tags, spans_to_tags, tags_to_spans
from keras_slstm.text.text_vectorizer import TextVectorizer
from keras_slstm.text.token_batches import TokenBatches
from keras_slstm.text.token_vectorizer import TokenVectorizer
from keras_slstm.text.translation_batches import TranslationBatches
from keras_slstm.text.word_vectors import Coverage, WordVectors, load_word_vectors

__all__ = [
    "Coverage",
    "Span",
    "SubwordVectorizer",
    "TextBatches",
    "TextVectorizer",
    "TokenBatches",
    "TokenVectorizer",
    "TranslationBatches",
    "WordVectors",
    "convert_tags",
    "load_word_vectors",
    "spans_to_tags",
    "tags_to_spans",
]
