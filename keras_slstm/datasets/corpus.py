"""Corpora of labelled texts: the generated corpus, TFDS data sets, and your own files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from keras_slstm.datasets import prepared, travel_desk
from keras_slstm.datasets.loading import (
    Examples,
    ReadRow,
    Row,
    Sources,
    Splits,
    check_share,
    check_shares,
    complete_parts,
    generated_sources,
    part_size,
    read_sources,
    shuffled,
)
from keras_slstm.datasets.readers import read_labelled_text
from keras_slstm.datasets.records import OnError, PathLike, file_kind

__all__ = ["Corpus", "Texts", "complete_parts", "is_file", "load_corpus", "load_folds", "read_texts"]

# Names that published data sets give to their text, in order of preference.
TEXT_FEATURES = ("text", "sentence", "description", "content", "review", "review_body")
# Features that the papers on these data sets join by a space for classification.
JOINED_FEATURES = {"ag_news_subset": "title+description", "dbpedia": "title+content"}


@dataclass(frozen=True)
class Texts(Examples):
    """Texts and their labels, in the same order."""

    texts: list[str]
    labels: list[str]


@dataclass(frozen=True)
class Corpus(Splits[Texts]):
    """A corpus for classification: three parts, and the names of all labels in their fixed order."""

    label_names: list[str]


def load_corpus(
    name: PathLike,
    data_dir: PathLike | None = None,
    manual_dir: PathLike | None = None,
    seed: int = 0,
    validation: float = 0.1,
    test: float = 0.1,
    validation_path: PathLike | None = None,
    test_path: PathLike | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    on_error: OnError = "raise",
    labels: Sequence[str] | None = None,
) -> Corpus:
    """Load a corpus of labelled texts, by name or from a file.

    If the corpus lacks a validation or test part, the part is drawn at random from its training part, in the same way
    for the same seed. The sizes are `round(validation * n)` and `round(test * n)` of the `n` texts: 8,530 / 1,066 /
    1,066 for the 10,662 sentences of `"movie_review"`, and 4,907 / 545 / 500 for the questions of `"trec"`.

    | name | texts | labels | parts |
    | --- | --- | --- | --- |
    | `travel_desk` | generated requests | 12 | all three |
    | `movie_review`, `subj`, `cr`, `mpqa` | sentences | 2 | none: see also `load_folds` |
    | `trec/coarse`, `trec/fine` | questions | 6, 50 | test |
    | `sst/sentences_5`, `sst/sentences_2` | sentences | 5, 2 | all three |
    | `sst/phrases_5`, `sst/phrases_2` | phrases to train on | 5, 2 | all three |
    | `fdu_mtl/books` and 15 more, `fdu_mtl/all` | reviews | 2 | all three |
    | `dbpedia` | titles and abstracts | 14 | test |
    | `imdb_reviews`, `ag_news_subset`, `glue/sst2` ... | TFDS data sets with a text and a label | | |

    Args:
        name: A name from the table (`"travel_desk"` needs neither a network nor TFDS), or the path of a file (see
            `read_labelled_text`). A name without a configuration after the slash means the first configuration of
            the data set: `trec/coarse`, `sst/sentences_5`, `fdu_mtl/all`.
        data_dir: The folder in which TFDS keeps prepared data: by default `$TFDS_DATA_DIR` or
            `~/tensorflow_datasets`. Data is prepared once; an interrupted preparation starts again.
        manual_dir: A folder with files that you downloaded yourself, or with a subfolder of such files for each data
            set, named after it.
        seed: Seed of the random parts.
        validation: Fraction of the texts that become the validation part, if there is none.
        test: Fraction of the texts that become the test part, if there is none.
        validation_path: File of the validation part, if `name` is a file.
        test_path: File of the test part, if `name` is a file.
        text_column: Column, JSON key or TFDS feature of the text, if its name or type does not identify it. TFDS
            features can be joined: the default is `"title+content"` for `dbpedia` and `"title+description"` for
            `ag_news_subset`, as in the papers.
        label_column: Likewise for the label.
        on_error: How to treat malformed lines in a file: `"raise"`, or `"skip"` with a warning.
        labels: The names of all labels in their order, for example those of a trained model. Default: those of the data
            set or, for a file, of the training part, sorted.

    Returns:
        A `Corpus`.

    Raises:
        DataError: If a file is malformed or has a label that is not one of `labels`. The message names the file and the
            line.
        FileNotFoundError: If a file is missing. For the data sets above, the message says where to put which files.
        ImportError: If TFDS is needed and not installed.
        ValueError: If the name is unknown, or the data set lacks a text or a label.

    Example:

    ```python
    corpus = load_corpus("travel_desk")
    print(len(corpus.train), corpus.label_names)
    print(corpus.train.texts[0], "->", corpus.train.labels[0])
    ```
    """
    check_shares(validation, test)
    held_out = {"validation_path": validation_path, "test_path": test_path}
    sources = read_texts(name, data_dir, manual_dir, text_column, label_column, on_error, held_out, labels)
    return Corpus(os.fspath(name), **sources.complete(Texts, validation, test, seed), label_names=sources.labels())


def load_folds(
    name: PathLike,
    k: int = 10,
    data_dir: PathLike | None = None,
    manual_dir: PathLike | None = None,
    seed: int = 0,
    validation: float = 0.1,
    text_column: str | None = None,
    label_column: str | None = None,
    on_error: OnError = "raise",
) -> list[Corpus]:
    r"""Load a corpus without a split as k folds, for cross-validation.

    Every text is in the test part of exactly one fold. A fraction `validation` of the other texts is drawn at random
    for the validation part, and the rest is the training part. The sizes of the test parts differ by at most one text;
    labels are not stratified. The same seed gives the same folds.

    The papers on sentence classification use 10 folds (MR, CR, Subj, MPQA). The paper on the depth-adaptive GRN states
    10 in its table of data sets and 5 in its text.

    Args:
        name: `"movie_review"`, `"subj"`, `"cr"`, `"mpqa"`, another corpus whose texts are all in one part, or a file.
        k: Number of folds.
        seed: Seed of the folds.
        validation: Fraction of the texts outside the test part that become the validation part.
        data_dir, manual_dir, text_column, label_column, on_error: See `load_corpus`.

    Returns:
        A `Corpus` for each fold.

    Raises:
        ValueError: If the corpus comes with a validation or test part, or has fewer than `k` texts. See also
            `load_corpus`.

    Example:

    ```python
    from pathlib import Path

    Path("mails.tsv").write_text("label\ttext\n" + "".join(f"{i % 2}\tmail {i}\n" for i in range(50)))
    for fold in load_folds("mails.tsv", k=5):
        print(len(fold.train), len(fold.validation), len(fold.test))
    ```
    """
    check_share("validation", validation)
    sources = read_texts(name, data_dir, manual_dir, text_column, label_column, on_error)
    if len(sources.parts) > 1:
        raise ValueError(
            f'"{os.fspath(name)}" already has a {" and a ".join(list(sources.parts)[1:])} part: use `load_corpus`. '
            "Folds are for a corpus without a split."
        )
    texts = sources.parts["train"].part(Texts)
    if not isinstance(k, int) or not 2 <= k <= len(texts):
        raise ValueError(f"`k` must be an integer from 2 to the number of texts, {len(texts)}, but got {k!r}.")
    order = shuffled(len(texts), seed)
    folds = []
    for fold in range(k):
        start, end = fold * len(order) // k, (fold + 1) * len(order) // k
        others = order[end:] + order[:start]
        size = part_size("validation", validation, len(others))
        parts = {"train": others[size:], "validation": others[:size], "test": order[start:end]}
        fold_parts = {part: texts.take(indices) for part, indices in parts.items()}
        folds.append(Corpus(os.fspath(name), **fold_parts, label_names=sources.labels()))
    return folds


def read_texts(
    name: PathLike,
    data_dir: PathLike | None = None,
    manual_dir: PathLike | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    on_error: OnError = "raise",
    held_out: Mapping[str, PathLike | None] | None = None,
    labels: Sequence[str] | None = None,
) -> Sources:
    """Read the existing parts of a corpus of labelled texts; see `load_corpus`."""

    def read_file(path: PathLike) -> list[Row]:
        examples = read_labelled_text(path, text_column or "text", label_column or "label", on_error)
        return [Row(example.text, example.label, [example.line]) for example in examples]

    def convert(name: str, builder: Any) -> tuple[ReadRow, list[str]]:
        return text_features(name, builder, text_column, label_column)

    sources = read_sources(
        name, is_file(name), held_out or {}, read_file, {"travel_desk": _travel_desk}, convert, data_dir, manual_dir
    )
    if labels is not None:
        sources = replace(sources, label_names=list(labels))
    sources.check_labels(sources.labels(), given=labels is not None)
    return sources


def text_features(
    name: str, builder: Any, text_column: str | None = None, label_column: str | None = None
) -> tuple[ReadRow, list[str]]:
    """Return a function that converts the records of a TFDS data set of texts to rows, and the label names."""
    features = builder.info.features
    columns = (text_column or JOINED_FEATURES.get(builder.name, "")).split("+")
    texts = [prepared.feature(name, features, "text", "Text", column, TEXT_FEATURES) for column in columns]
    label = prepared.feature(name, features, "label", "ClassLabel", label_column, ("label",))
    names = features[label].names

    def row_of(record: dict[str, Any]) -> Row | None:
        if record[label] < 0:  # some test parts have no published labels, as in GLUE
            return None
        return Row(" ".join(record[text].decode("utf-8") for text in texts if record[text]), names[record[label]])

    return row_of, list(names)


def is_file(name: PathLike) -> bool:
    """Whether a name is the path of a file of examples, not the name of a data set."""
    if Path(name).is_file():
        return True
    try:
        file_kind(name)
    except ValueError:
        return False
    return True  # named like such a file: reading it reports that it is missing


def _travel_desk() -> Sources:
    splits = travel_desk.generate_splits()
    rows = {part: [Row(request.text, request.intent) for request in found] for part, found in splits.items()}
    return generated_sources("travel_desk", rows, list(travel_desk.INTENTS))
