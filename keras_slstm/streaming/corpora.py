"""Functions that prepare corpora of texts, pairs and tagged sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keras_slstm.datasets.conll import Column
from keras_slstm.datasets.records import OnError, PathLike
from keras_slstm.streaming.preparation import prepare
from keras_slstm.streaming.prepared_corpus import PreparedCorpus
from keras_slstm.streaming.sources import make_sources
from keras_slstm.text.text_vectorizer import TextVectorizer
from keras_slstm.text.token_vectorizer import TokenVectorizer
from keras_slstm.validation import check_choice

Files = PathLike | list[PathLike] | tuple[PathLike, ...]


def prepare_corpus(
    files: Files,
    folder: PathLike,
    vectorizer: TextVectorizer | None = None,
    labels: Sequence[str] | None = None,
    *,
    text_column: str | None = None,
    label_column: str | None = None,
    on_error: OnError = "raise",
    data_dir: str | None = None,
    max_words: int = 2_000_000,
    processes: int = 1,
    overwrite: bool = False,
) -> PreparedCorpus:
    """Store labelled texts of any size in a folder as word ids, to train on them with `StreamedBatches`.

    The files are read once, with constant memory: each shard is first written as a draft with word numbers of its own;
    when all words have been counted, these numbers are replaced by the ids of the vocabulary. The folder contains a
    fingerprint of the files and settings. If they have not changed, the next call reads nothing and returns at once. An
    interrupted preparation starts again, without what it has written so far.

    Args:
        files: One or more files: tables and JSON Lines as for `read_labelled_text` (plain, `.gz`, `.zst`), or Parquet;
            or splits of TFDS, such as `"tfds:ag_news_subset/train"`.
        folder: The folder for the prepared corpus.
        vectorizer: The settings of the vocabulary. If it already has a vocabulary, such as that of the training part,
            this vocabulary is used. None: `TextVectorizer()`.
        labels: The label names in the order of their ids, such as those of the training part. None: the labels in the
            files, sorted.
        text_column, label_column: Names of the columns, keys or TFDS features. Default: `text` and `label`; for TFDS,
            see `load_corpus`.
        on_error: `"raise"` stops at the first malformed line. `"skip"` skips malformed lines and warns how many were
            skipped.
        data_dir: The data folder of TFDS.
        max_words: The maximum number of distinct words to count. If there are more, the counts of rare words are
            approximate; see `WordSketch`.
        processes: Number of processes that read. Each one first imports Keras, so several are faster only for more than
            a few million texts.
        overwrite: Whether to replace a corpus of other files or settings in `folder`, or a damaged one. A process that
            reads the previous corpus can still do so.

    Raises:
        DataError: If a file is malformed or has a label that is not in `labels`, or if the manifest in `folder` is
            damaged.
        FileExistsError: If `folder` contains other files. They are not touched.
        FileNotFoundError: If a file does not exist.
        ImportError: If the extra `stream` is not installed.
        ValueError: If `folder` contains a corpus of other files or settings, or an argument is invalid.

    Example:

    ```python
    train = keras_slstm.streaming.prepare_corpus("reviews.tsv", "prepared/reviews")
    model = keras_slstm.SentenceClassifier(train.labels, vectorizer=train.vectorizer)
    model.compile("adam")
    model.fit(keras_slstm.streaming.StreamedBatches(train))
    ```
    """
    columns = (text_column, label_column)
    sources = make_sources(files, kind="texts", columns=columns, on_error=on_error, data_dir=data_dir)
    return prepare(sources, folder, vectorizer or TextVectorizer(), labels, max_words, processes, overwrite)


def prepare_pairs(
    files: Files,
    folder: PathLike,
    vectorizer: TextVectorizer | None = None,
    labels: Sequence[str] | None = None,
    *,
    first_column: str | None = None,
    second_column: str | None = None,
    label_column: str | None = None,
    on_error: OnError = "raise",
    data_dir: str | None = None,
    **options: Any,
) -> PreparedCorpus:
    """Store labelled pairs of texts in a folder; see `prepare_corpus`.

    Scores are not supported: each distinct value in the label column is a label.

    Args:
        files: Files as for `read_labelled_pairs`, Parquet, or splits of TFDS; see `prepare_corpus`.
        folder, vectorizer, labels: See `prepare_corpus`.
        first_column, second_column, label_column: Names of the columns, keys or TFDS features. For the defaults, see
            `read_labelled_pairs`.
        on_error, data_dir: See `prepare_corpus`.
        **options: `max_words`, `processes` and `overwrite` of `prepare_corpus`.

    Raises:
        DataError, FileExistsError, FileNotFoundError, ImportError, ValueError: See `prepare_corpus`.

    Example:

    ```python
    train = keras_slstm.streaming.prepare_pairs("pairs.tsv", "prepared/pairs")
    model = keras_slstm.SentencePairClassifier(train.labels, vectorizer=train.vectorizer)
    model.compile("adam")
    model.fit(keras_slstm.streaming.StreamedBatches(train))
    ```
    """
    columns = (first_column, second_column, label_column)
    sources = make_sources(files, kind="pairs", columns=columns, on_error=on_error, data_dir=data_dir)
    return prepare(sources, folder, vectorizer or TextVectorizer(), labels, **options)


def prepare_sentences(
    files: Files,
    folder: PathLike,
    vectorizer: TokenVectorizer | None = None,
    labels: Sequence[str] | None = None,
    *,
    token_column: Column | None = None,
    tag_column: Column | None = None,
    scheme: str | None = None,
    on_error: OnError = "raise",
    data_dir: str | None = None,
    **options: Any,
) -> PreparedCorpus:
    """Store tagged sentences in a folder; see `prepare_corpus`.

    With a `scheme`, the files are read twice: first to detect the scheme of their tags.

    Args:
        files: Column files as for `read_conll`, or splits of TFDS with words and tags; see `prepare_corpus`.
        folder: The folder for the prepared corpus.
        vectorizer: As in `prepare_corpus`, without characters. None: `TokenVectorizer(max_characters=None)`.
        labels: The tags in the order of their ids, such as those of the training part. None: the tags in the files,
            sorted, or, with a `scheme`, all tags of that scheme for the span types in the files.
        token_column, tag_column: The columns of the words and tags; see `read_conll` and, for TFDS,
            `load_tagged_corpus`.
        scheme: The scheme to which the tags of spans are converted, `"BIO"` or `"BIOES"`. None: do not convert them.
        on_error, data_dir: See `prepare_corpus`.
        **options: `max_words`, `processes` and `overwrite` of `prepare_corpus`.

    Raises:
        DataError, FileExistsError, FileNotFoundError, ImportError, ValueError: See `prepare_corpus`.

    Example:

    ```python
    train = keras_slstm.streaming.prepare_sentences("names.conll", "prepared/names", scheme="BIO")
    model = keras_slstm.SequenceTagger(
        train.labels, scheme=train.scheme, characters=None, vectorizer=train.vectorizer
    )
    model.compile("adam")
    model.fit(keras_slstm.streaming.StreamedBatches(train))
    ```
    """
    check_choice("scheme", scheme, ("BIO", "BIOES", None))
    vectorizer = vectorizer or TokenVectorizer(max_characters=None)
    columns = (token_column, tag_column)
    settings = {"columns": columns, "scheme": scheme, "on_error": on_error, "data_dir": data_dir}
    return prepare(make_sources(files, kind="sentences", **settings), folder, vectorizer, labels, **options)
