"""The labels of a classifier: checked, and turned into ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np


def check_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the label names, or raise ValueError if they are not at least two different non-empty strings."""
    if isinstance(labels, str) or not all(isinstance(label, str) and label for label in labels):
        raise ValueError(f"`labels` must be a list of non-empty strings, but got {labels!r}.")
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise ValueError(f"`labels` must be at least two different names, but got {list(labels)!r}.")
    return tuple(labels)


def label_ids(names: Sequence[str], labels: Iterable[str | int]) -> np.ndarray:
    """The ids of labels, int32: of names, or of integers, which are ids already.

    Raises:
        ValueError: If there is no such label; the message names its position.
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
    """The weights of classes as Keras takes them: the keys that are label names become ids.

    Raises:
        ValueError: If there is no such label.
    """
    known = _ids_by_key(names)
    for key in class_weight:
        if key not in known:
            raise ValueError(f"Unknown label {key!r} in `class_weight`. Known labels: {', '.join(names)}.")
    return {known[key]: weight for key, weight in class_weight.items()}


def _ids_by_key(names: Sequence[str]) -> dict[str | int, int]:
    return {key: i for i, name in enumerate(names) for key in (name, i)}
