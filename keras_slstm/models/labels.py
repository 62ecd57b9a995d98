"""Label names: checks, and conversion of labels of examples and words to ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from keras_slstm.ops.label_schemes import allowed_transitions
from keras_slstm.text.tag_schemes import TagError, check_tags
from keras_slstm.text.token_batches import UNKNOWN_LABEL


def check_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the label names; raise ValueError unless they are at least two distinct non-empty strings."""
    if isinstance(labels, str) or not all(isinstance(label, str) and label for label in labels):
        raise ValueError(f"`labels` must be a list of non-empty strings, but got {labels!r}.")
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise ValueError(f"`labels` must be at least two distinct names, but got {list(labels)!r}.")
    return tuple(labels)


def label_ids(names: Sequence[str], labels: Iterable[str | int]) -> np.ndarray:
    """Return the ids of labels, int32. Labels are names or ids.

    Raises:
        ValueError: If a label is unknown; the message names its position.
    """
    known = _ids_by_key(names)
    ids = []
    for position, label in enumerate(labels):
        if isinstance(label, (list, tuple)):
            raise ValueError(f"Label {position} must be a name or an id, not one-hot, but got {label!r}.")
        if isinstance(label, (bool, float)) or label not in known:
            raise ValueError(f"Unknown label {label!r} at position {position}. Known labels: {', '.join(names)}.")
        ids.append(known[label])
    return np.array(ids, np.int32)


def class_weight_by_id(names: Sequence[str], class_weight: Mapping[str | int, float]) -> dict[int, float]:
    """Return class weights in Keras' form, with label names replaced by ids.

    Raises:
        ValueError: If a label is unknown.
    """
    known = _ids_by_key(names)
    for key in class_weight:
        if key not in known:
            raise ValueError(f"Unknown label {key!r} in `class_weight`. Known labels: {', '.join(names)}.")
    return {known[key]: weight for key, weight in class_weight.items()}


class LabelIds:
    """The labels of a tagger and the constraints of its scheme.

    Args:
        labels: The label names, at least two.
        scheme: The name of a scheme (see `keras_slstm.text.tag_schemes`), or None.

    Raises:
        ValueError: If the names are not distinct non-empty strings, or do not belong to the scheme.
    """

    def __init__(self, labels: Sequence[str], scheme: str | None):
        self.labels = check_labels(labels)
        self.scheme = scheme
        self._ids = _ids_by_key(self.labels)
        self._allowed = None if scheme is None else allowed_transitions(self.labels, scheme)

    def encode(self, labels: Iterable[Sequence[str | int | None]]) -> list[list[int]]:
        """The label ids of each sentence, from names or ids; -1 for an unknown label (None or -1).

        Raises:
            ValueError: If a label does not exist, or the labels of a sentence violate the scheme; the message names the
                sentence and the word.
        """
        encoded = []
        for position, names in enumerate(labels):
            if isinstance(names, str) or not isinstance(names, (list, tuple)):
                raise ValueError(f"The labels of sentence {position} must be a list of names, but are {names!r}.")
            ids = [self._id(name, position, word) for word, name in enumerate(names)]
            self._check_scheme([None if i == UNKNOWN_LABEL else self.labels[i] for i in ids], ids, position)
            encoded.append(ids)
        return encoded

    def _id(self, name: str | int | None, position: int, word: int) -> int:
        if name is None or name == UNKNOWN_LABEL:
            return UNKNOWN_LABEL
        if name not in self._ids:
            raise ValueError(
                f"Unknown label {name!r} of word {word} in sentence {position}. Known labels: {', '.join(self.labels)}."
            )
        return self._ids[name]

    def _check_scheme(self, names: Sequence[str | None], ids: list[int], position: int) -> None:
        if self.scheme is None:
            return
        known = [name for name in names if name is not None]
        try:
            if len(known) == len(names):
                check_tags(known, self.scheme)
            if len(known) < len(names) or self.scheme == "IOB1":  # in IOB1, `check_tags` accepts a superfluous B
                self._check_known(names, ids)
        except TagError as error:
            raise ValueError(f"The labels of sentence {position} violate the scheme: {error}.") from error

    def _check_known(self, names: Sequence[str | None], ids: list[int]) -> None:
        """Raise `TagError` unless the unknown labels of a sentence can be chosen to satisfy the scheme."""
        assert self._allowed is not None
        within = self._allowed.first
        for word, i in enumerate(ids):
            if word:
                within = within @ self._allowed.transitions
            if i != UNKNOWN_LABEL:
                within = within & (np.arange(len(within)) == i)
            if word == len(ids) - 1:
                within = within & self._allowed.last
            if not within.any():
                raise TagError(word, f'"{names[word]}" is not possible there ({self.scheme})')


def _ids_by_key(names: Sequence[str]) -> dict[str | int, int]:
    return {key: i for i, name in enumerate(names) for key in (name, i)}
