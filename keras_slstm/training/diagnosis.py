"""Says in plain words if a trained model has learned nothing, and gives advice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

_TRY = (
    "Check that texts and labels belong together, train longer (more updates), try another learning rate (three times "
    "higher or lower), and give more examples of each label, or word vectors."
)


def diagnose_labels(wanted: Sequence[str], found: Sequence[str]) -> str | None:
    """Diagnose a classifier that has learned nothing.

    Args:
        wanted: The true label of each example.
        found: The predicted ones.

    Returns:
        A few sentences, or None where the model is better than one that always gives the most frequent label.

    Raises:
        ValueError: If there is not one prediction for each label, or there is no example.

    Example:

    >>> diagnose_labels(["yes", "no", "no"], ["yes", "no", "no"])
    >>> print(diagnose_labels(["yes", "no", "no"], ["no", "no", "no"])[:61])
    The model has learned nothing: it gives every example "no".
    """
    return _diagnose(wanted, found, "example")


def _diagnose(wanted: Sequence[str], found: Sequence[str], unit: str) -> str | None:
    if len(wanted) != len(found) or not wanted:
        raise ValueError(f"There must be one prediction for each label, but there are {len(wanted)} and {len(found)}.")
    label, count = Counter(wanted).most_common(1)[0]
    right = sum(one == other for one, other in zip(wanted, found))
    if len(set(found)) == 1 and len(set(wanted)) > 1:
        return f'The model has learned nothing: it gives every {unit} "{found[0]}". {_TRY}'
    if right <= count and len(set(wanted)) > 1:
        return (
            f"The model has learned nothing of use: it is right in {right / len(wanted):.1%} of the {unit}s, and one "
            f'that always says "{label}" in {count / len(wanted):.1%}. {_TRY}'
        )
    return None


def diagnose_tags(wanted: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> str | None:
    """Diagnose a tagger that has learned nothing: `diagnose_labels` for the words of sentences."""
    labels, others = ([label for labels in sentences for label in labels] for sentences in (wanted, found))
    return _diagnose(labels, others, "word")


def diagnose_length(scores: Sequence[float]) -> str | None:
    """Say so if a training ended while its development score (more is better) was still rising.

    >>> diagnose_length([0.5, 0.7, 0.7])
    >>> diagnose_length([0.5, 0.6, 0.7])
    'The last epoch is the best one: the model was still learning. Train longer (more updates).'
    """
    if len(scores) > 1 and scores[-1] > max(scores[:-1]):
        return "The last epoch is the best one: the model was still learning. Train longer (more updates)."
    return None
