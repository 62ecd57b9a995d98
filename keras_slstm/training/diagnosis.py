"""Plain-language diagnosis of models that have learned nothing, with advice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

_TRY = (
    "Check that texts and labels match, train longer (more updates), try another learning rate (three times higher or "
    "lower), and provide more examples of each label, or word vectors."
)


def diagnose_labels(wanted: Sequence[str], found: Sequence[str]) -> str | None:
    """Diagnose a classifier that has learned nothing.

    Args:
        wanted: The true label of each example.
        found: The predicted label of each example.

    Returns:
        A few sentences, or None if the model is better than always predicting the most frequent label.

    Raises:
        ValueError: If the numbers of labels and predictions differ, or are 0.

    Example:

    >>> diagnose_labels(["yes", "no", "no"], ["yes", "no", "no"])
    >>> print(diagnose_labels(["yes", "no", "no"], ["no", "no", "no"])[:62])
    The model has learned nothing: it labels every example "no".
    """
    return _diagnose(wanted, found, "example")


def _diagnose(wanted: Sequence[str], found: Sequence[str], unit: str) -> str | None:
    if len(wanted) != len(found) or not wanted:
        raise ValueError(f"Pass one prediction per label, not {len(found)} predictions for {len(wanted)} labels.")
    label, count = Counter(wanted).most_common(1)[0]
    right = sum(one == other for one, other in zip(wanted, found))
    if len(set(found)) == 1 and len(set(wanted)) > 1:
        return f'The model has learned nothing: it labels every {unit} "{found[0]}". {_TRY}'
    if right <= count and len(set(wanted)) > 1:
        return (
            f"The model has learned nothing useful: it labels {right / len(wanted):.1%} of the {unit}s correctly, and "
            f'always predicting "{label}" would label {count / len(wanted):.1%} correctly. {_TRY}'
        )
    return None


def diagnose_tags(wanted: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> str | None:
    """Diagnose a tagger that has learned nothing: `diagnose_labels` for the words of sentences."""
    labels, others = ([label for labels in sentences for label in labels] for sentences in (wanted, found))
    return _diagnose(labels, others, "word")


def diagnose_length(scores: Sequence[float]) -> str | None:
    """Diagnose a training run that ended while its development score (higher is better) was still rising.

    >>> diagnose_length([0.5, 0.7, 0.7])
    >>> diagnose_length([0.5, 0.6, 0.7])
    'The last epoch is the best one: the model was still learning. Train longer (more updates).'
    """
    if len(scores) > 1 and scores[-1] > max(scores[:-1]):
        return "The last epoch is the best one: the model was still learning. Train longer (more updates)."
    return None
