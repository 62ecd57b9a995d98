"""Text as numbers: tokenisers, vocabularies, word vectors, tag schemes and batches."""

from keras_slstm.ops.word_pieces import labels_of_pieces, pool_word_pieces, word_ids
from keras_slstm.text.batches import TextBatches
from keras_slstm.text.subword_vectorizer import SubwordVectorizer
from keras_slstm.text.tag_output import as_conll, as_html, as_json, as_records, token_offsets
from keras_slstm.text.tag_schemes import Span, convert_tags, span_scores, spans_to_tags, tags_to_spans
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
    "as_conll",
    "as_html",
    "as_json",
    "as_records",
    "convert_tags",
    "labels_of_pieces",
    "load_word_vectors",
    "pool_word_pieces",
    "span_scores",
    "spans_to_tags",
    "tags_to_spans",
    "token_offsets",
    "word_ids",
]
