"""Training on files of any size: examples are prepared once on disk, then read in batches with constant memory.

`prepare_corpus`, `prepare_pairs` and `prepare_sentences` read the files once. A `Source` yields blocks of examples, and
a `BlockTokenizer` splits all texts of a shard into words at once. Each shard is first written as a draft, with a word
list of its own, while a `WordSketch` counts all words in bounded memory. Then the word numbers of the drafts are
replaced by the ids of the vocabulary, and the shards are written in the ArrayRecord format. The manifest is written
last: a folder without it counts as empty. It contains a fingerprint of the files and settings; if these have not
changed, nothing is read again. Several processes may use a folder at the same time, even with different settings:
shards are not deleted while a process reads or writes them.

`StreamedBatches` reads chunks of examples in a seeded random order, a window at a time. Batch i of an epoch depends
only on the seed, the epoch and i, so training can resume at any batch without further state.
"""

from keras_slstm.streaming.batches import StreamedBatches
from keras_slstm.streaming.corpora import prepare_corpus, prepare_pairs, prepare_sentences
from keras_slstm.streaming.prepared_corpus import PreparedCorpus
from keras_slstm.streaming.word_sketch import WordSketch

__all__ = [
    "PreparedCorpus",
    "StreamedBatches",
    "WordSketch",
    "prepare_corpus",
    "prepare_pairs",
    "prepare_sentences",
]
