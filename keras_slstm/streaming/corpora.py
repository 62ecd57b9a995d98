"""Corpora of texts, of pairs and of tagged sentences, prepared from files."""

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
    max_words: int = 4_000_000,
    processes: int = 1,
    overwrite: bool = False,
) -> PreparedCorpus:
    """Prepare labelled texts of any size for training: store them in a folder as word ids.

    The files are read once, with constant memory: drafts of the shards number the words of their texts as they come,
    and when all words are counted, the numbers are replaced by the ids of the vocabulary. The folder gets a fingerprint
    of files and settings. With the same ones, the next call returns at once. A preparation that was interrupted counts
    for nothing.

    Args:
        files: One or more files: tables and JSON lines as `read_labelled_text` reads them (plain, `.gz`, `.zst`) and
            Parquet; or TFDS splits, as `"tfds:ag_news_subset/train"`.
        folder: Where to keep the prepared corpus.
        vectorizer: The settings of the vocabulary. If it has one already, such as that of the training part, that is
            used. None: `TextVectorizer()`.
        labels: The label names in the order of their ids, such as those of the training part. None: those of the
            files, sorted.
        text_column, label_column: Names of the columns, keys or TFDS features, if they are not `text` and `label`. For
            TFDS, see `load_corpus`.
        on_error: `"raise"` stops at the first malformed line, `"skip"` leaves such lines out with a warning.
        data_dir: Where TFDS keeps its data.
        max_words: The largest number of different words to count. From there on, counts of rare words are bounds; see
            `WordSketch`.
        processes: Number of processes that read. One that starts loads Keras first, which pays for a few million texts.
        overwrite: Whether to replace a corpus of other files or settings in `folder`.

    Raises:
        DataError: If a file is malformed or has a label that is not in `labels`.
        FileExistsError: If `folder` holds files of another kind. They stay as they are.
        FileNotFoundError: If a file does not exist.
        ImportError: If the extra `stream` is not installed.
        ValueError: If `folder` holds a corpus of other files or settings, or an argument is wrong.

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
    """Prepare labelled pairs of texts, as `prepare_corpus` prepares texts.

    Scores are not prepared: every different value of the label is a label.

    Args:
        files: Files as `read_labelled_pairs` reads them, Parquet, or TFDS splits; see `prepare_corpus`.
        folder, vectorizer, labels: See `prepare_corpus`.
        first_column, second_column, label_column: Names of the columns, keys or TFDS features, if they are not the
            usual ones; see `read_labelled_pairs`.
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
    """Prepare tagged sentences, as `prepare_corpus` prepares texts.

    With a `scheme`, the files are read once more at the beginning, to find the scheme of their tags.

    Args:
        files: Column files as `read_conll` reads them, or TFDS splits with words and tags; see `prepare_corpus`.
        folder: Where to keep the prepared corpus.
        vectorizer: As of `prepare_corpus`, without characters. None: `TokenVectorizer(max_characters=None)`.
        labels: The tags in the order of their ids, such as those of the training part. None: those of the files,
            sorted, or, with a `scheme`, all tags of that scheme for their types of span.
        token_column, tag_column: Columns of the words and the tags; see `read_conll` and, for TFDS,
            `load_tagged_corpus`.
        scheme: `"BIO"` or `"BIOES"`, to which tags of spans are converted. None: the tags stay as they are.
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
