"""One way to every corpus of tagged sentences: the generated one, those of TFDS, and a person's own files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keras_slstm.datasets import prepared, travel_desk
from keras_slstm.datasets.conll import Column, TaggedSentence, keep_valid, read_conll
from keras_slstm.datasets.corpus import check_shares, complete_parts
from keras_slstm.datasets.readers import OnError, PathLike
from keras_slstm.errors import DataError
from keras_slstm.extras import require
from keras_slstm.suggestions import did_you_mean
from keras_slstm.text.tag_schemes import SCHEMES, convert_tags, detect_scheme, scheme_labels

# Names that published data sets give to their tags, the first that fits is taken.
TAG_FEATURES = ("tags", "ner", "ner_tags", "upos")


@dataclass(frozen=True)
class TaggedSentences:
    """The words of sentences and the tag of each word, in the same order."""

    tokens: list[list[str]]
    tags: list[list[str]]

    def __post_init__(self):
        if list(map(len, self.tokens)) != list(map(len, self.tags)):
            raise ValueError("A tag for each word of each sentence is expected.")

    def __len__(self) -> int:
        return len(self.tokens)

    def take(self, indices: Sequence[int]) -> TaggedSentences:
        """Some of the sentences, in the order of `indices`."""
        return TaggedSentences([self.tokens[i] for i in indices], [self.tags[i] for i in indices])


@dataclass(frozen=True)
class TaggedCorpus:
    """A corpus for tagging: three parts, the names of all tags in their fixed order, and their scheme.

    `scheme` is `"BIO"` or `"BIOES"` where tags mark spans, and None where each stands for itself.
    """

    name: str
    train: TaggedSentences
    validation: TaggedSentences
    test: TaggedSentences
    label_names: list[str]
    scheme: str | None


def load_tagged_corpus(
    name: PathLike,
    data_dir: PathLike | None = None,
    manual_dir: PathLike | None = None,
    seed: int = 0,
    validation: float = 0.1,
    test: float = 0.1,
    validation_path: PathLike | None = None,
    test_path: PathLike | None = None,
    token_column: Column | None = None,
    tag_column: Column | None = None,
    scheme: str | None = "auto",
    on_error: OnError = "raise",
) -> TaggedCorpus:
    r"""Load a corpus of tagged sentences, by name or from a file.

    A part that the corpus does not come with is drawn at random from its training part, as in `load_corpus`.

    | name | tags (`tag_column`) | parts |
    | --- | --- | --- |
    | `travel_desk` | slots of generated requests, 12 types of span | all three |
    | `conll2003` | `ner` (default): entities, 4 types of span; `chunks`: 10; `pos`: 45 parts of speech | all three |
    | `ud_ewt` | `upos` (default): 17 parts of speech; `xpos`: 49 | all three |
    | `conll2002`, `wikiann/en` ... | sets of TFDS with `tokens` and tags | |

    Args:
        name: A name of the table (`"travel_desk"` needs neither network nor TFDS), or the path of a column file
            (see `read_conll`).
        data_dir: Where TFDS keeps prepared data: by default `$TFDS_DATA_DIR` or `~/tensorflow_datasets`.
        manual_dir: Folder of files that you got yourself: `eng.train`, `eng.testa` and `eng.testb` for
            `conll2003`, the `.conllu` files for `ud_ewt`, or a folder of them named after the set.
        seed: Seed of the random parts.
        validation: Share of the sentences that become the validation part, where there is none.
        test: Share of the sentences that become the test part, where there is none.
        validation_path: File of the validation part, if `name` is a file.
        test_path: File of the test part, if `name` is a file.
        token_column: Column of the words in a file, or TFDS feature, if it is not the usual one.
        tag_column: The same for the tags.
        scheme: `"BIO"` or `"BIOES"`: tags mark spans, and are to be given in that scheme, whether the data has
            them in it or in another one of `SCHEMES`. None: tags are taken as they stand. `"auto"`: BIO if any
            tag of the training part begins with `B-`, `I-`, `E-` or `S-`, and as they stand otherwise.
        on_error: What a malformed sentence of a file does: `"raise"`, or `"skip"` with a warning.

    Returns:
        A `TaggedCorpus`. With a scheme, its `label_names` are all tags of that scheme for the types of span of the
        training part; otherwise the tags of the training part.

    Raises:
        DataError: If a file is malformed, its tags do not fit their scheme, or a tag of the validation or test
            part does not occur in the training part; the message names file and line.
        FileNotFoundError: If a file is missing; for the sets above the message says what to put where.
        ImportError: If TFDS is needed and not installed.
        ValueError: If the name is unknown, or the data set lacks words or tags.

    Example:

    ```python
    corpus = load_tagged_corpus("travel_desk", scheme="BIOES")
    for token, tag in zip(corpus.train.tokens[0], corpus.train.tags[0]):
        print(token, tag)
    ```
    """
    check_shares(validation, test)
    if scheme not in ("auto", "BIO", "BIOES", None):
        raise ValueError(f'`scheme` must be "BIO", "BIOES", "auto" or None. Received: scheme={scheme!r}')
    sources = _read_sources(name, data_dir, manual_dir, validation_path, test_path, token_column, tag_column, on_error)
    if scheme == "auto":
        scheme = "BIO" if _mark_spans(sources["train"].sentences) else None
    if scheme:
        found = detect_scheme(sentence.tags for source in sources.values() for sentence in source.sentences)
        sources = {part: source.converted(found, scheme, on_error) for part, source in sources.items()}
    labels = _label_names(sources["train"].sentences, scheme)
    for source in sources.values():
        source.check_labels(labels)
    parts = {part: source.tagged() for part, source in sources.items()}
    return TaggedCorpus(
        os.fspath(name), **complete_parts(parts, validation, test, seed), label_names=labels, scheme=scheme
    )


@dataclass(frozen=True)
class _Source:
    """The sentences of one part, and where they come from: a file, or a data set by its name."""

    origin: PathLike
    sentences: list[TaggedSentence]
    is_file: bool = True

    def converted(self, source: str, target: str, on_error: OnError) -> _Source:
        sentences = self.sentences
        if self.is_file:
            sentences = keep_valid(self.origin, sentences, source, on_error)
        return _Source(self.origin, [self._convert(sentence, source, target) for sentence in sentences], self.is_file)

    def _convert(self, sentence: TaggedSentence, source: str, target: str) -> TaggedSentence:
        try:
            return sentence._replace(tags=convert_tags(sentence.tags, source, target))
        except ValueError as error:
            raise ValueError(f"{self.origin}, sentence {' '.join(sentence.tokens)!r}: {error}") from error

    def check_labels(self, labels: Iterable[str]) -> None:
        known = set(labels)
        for sentence in self.sentences:
            for position, tag in enumerate(sentence.tags):
                if tag not in known:
                    problem = f'the tag "{tag}" does not occur in the training part; its tags: {", ".join(labels)}'
                    if self.is_file:
                        raise DataError(self.origin, sentence.lines[position], problem)
                    raise ValueError(f"{self.origin}, sentence {' '.join(sentence.tokens)!r}: {problem}")

    def tagged(self) -> TaggedSentences:
        return TaggedSentences([s.tokens for s in self.sentences], [s.tags for s in self.sentences])


def _read_sources(
    name: PathLike,
    data_dir: PathLike | None,
    manual_dir: PathLike | None,
    validation_path: PathLike | None,
    test_path: PathLike | None,
    token_column: Column | None,
    tag_column: Column | None,
    on_error: OnError,
) -> dict[str, _Source]:
    if Path(name).is_file() or "." in Path(name).name:  # named like one: a missing file is reported as such
        paths = {"train": name, "validation": validation_path, "test": test_path}
        return {
            part: _Source(path, read_conll(path, tag_column, token_column, on_error=on_error))
            for part, path in paths.items()
            if path is not None
        }
    name = os.fspath(name)
    if validation_path or test_path:
        raise ValueError(f"`validation_path` and `test_path` go with a file. Received: name={name!r}")
    for argument, column in (("token_column", token_column), ("tag_column", tag_column)):
        if isinstance(column, int) or (column and name == "travel_desk"):
            raise ValueError(f"`{argument}` has to be a feature of {name!r}. Received: {argument}={column!r}")
    if name == "travel_desk":
        return {
            split: _Source(name, [TaggedSentence(r.tokens, r.tags, []) for r in requests], is_file=False)
            for split, requests in travel_desk.generate_splits().items()
        }
    return _read_tfds(name, data_dir, manual_dir, token_column, tag_column)


def _read_tfds(
    name: str,
    data_dir: PathLike | None,
    manual_dir: PathLike | None,
    token_column: Any,
    tag_column: Any,
) -> dict[str, _Source]:
    builder = prepared.prepare(name, data_dir, manual_dir)
    tokens = token_column or "tokens"
    usual = [feature for feature in TAG_FEATURES if feature in builder.info.features]
    tags = tag_column or (usual[0] if usual else TAG_FEATURES[0])
    label_names = _check_features(name, builder.info.features, tokens, tags)
    sources = {}
    for split in ("train", "validation", "test"):
        if split in builder.info.splits:
            sentences = [
                TaggedSentence(
                    [token.decode("utf-8") for token in record[tokens]],
                    [label_names[index] for index in record[tags]],
                    [],
                )
                for record in prepared.read_split(builder, split)
                if len(record[tokens])  # some sets hold an empty sentence
            ]
            sources[split] = _Source(f'the part "{split}" of {name}', sentences, is_file=False)
    if "train" not in sources:
        raise ValueError(f'The data set "{name}" has no split "train"; its splits: {list(builder.info.splits)}')
    return sources


def _check_features(name: str, features: Any, tokens: str, tags: str) -> list[str]:
    """The names of the tags; raise ValueError if the data set has no such features."""
    tfds = require("tensorflow_datasets", "datasets")
    for argument, column, kind in (
        ("token_column", tokens, tfds.features.Text),
        ("tag_column", tags, tfds.features.ClassLabel),
    ):
        if column not in features or not isinstance(getattr(features[column], "feature", None), kind):
            found = ", ".join(f"{key} ({type(features[key]).__name__})" for key in features)
            raise ValueError(
                f'"{name}" has no feature "{column}" that is a sequence of {kind.__name__}; its features: {found}. '
                f"Name another one as `{argument}`.{did_you_mean(column, features)}"
            )
    return features[tags].feature.names


def _mark_spans(sentences: Iterable[TaggedSentence]) -> bool:
    return any(tag[:1] in SCHEMES["BIOES"] and tag[1:2] == "-" for sentence in sentences for tag in sentence.tags)


def _label_names(sentences: Iterable[TaggedSentence], scheme: str | None) -> list[str]:
    tags = {tag for sentence in sentences for tag in sentence.tags}
    return scheme_labels({tag[2:] for tag in tags - {"O"}}, scheme) if scheme else sorted(tags)
