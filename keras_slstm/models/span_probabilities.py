"""The probability of a whole span under a CRF, rather than of its individual tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keras import ops

from keras_slstm.ops.crf_distributions import crf_pair_marginals
from keras_slstm.ops.crf_functions import crf_marginals
from keras_slstm.span_letters import SCHEMES
from keras_slstm.text.tag_schemes import Span, spans_to_tags
from keras_slstm.validation import check_choice


def span_probabilities(
    potentials: Any, spans: Sequence[Sequence[Any]], lengths: Sequence[int], labels: Sequence[str], scheme: str
) -> list[list[float]]:
    """The probability of each span, marginalised over the labels of the other words.

    Args:
        potentials: The output of a `CRF` layer for sentences without masked positions before or between words.
        spans: The spans of each sentence, each a `Span` or an equivalent tuple.
        lengths: The number of words of each sentence.
        labels: The label names.
        scheme: `"BIO"`, `"BIOES"`, `"BILOU"` or `"BMES"`.

    Returns:
        One probability per span of each sentence.

    Raises:
        ValueError: If the scheme is not supported: in IOB1, the tags of a span depend on the span before it.

    Example:

    ```python
    probabilities = span_probabilities(potentials, [[Span("LOC", 3, 4)]], [5], ["O", "B-LOC", "I-LOC"], "BIO")
    ```
    """
    check_choice("scheme", scheme, [name for name in SCHEMES if name != "IOB1"])
    if not any(spans):
        return [[] for _ in spans]
    numbers = {label: number for number, label in enumerate(labels)}
    single, pairs = (ops.convert_to_numpy(function(potentials)) for function in (crf_marginals, crf_pair_marginals))

    def following(row: int, word: int, before: int, label: int) -> float:
        """The probability of the label of a word given that of the word before it."""
        condition = float(single[row, word - 1, before])
        return float(pairs[row, word, before, label]) / condition if condition else 0.0

    # A product of local probabilities: the log-partitions of a long sentence are too large to subtract in float32.
    def probability(row: int, span: Span) -> float:
        tags = spans_to_tags([span], lengths[row], scheme)[span.start : span.end]
        own = [numbers[tag] for tag in tags]
        found = float(single[row, span.start, own[0]])
        for word, before, label in zip(range(span.start + 1, span.end), own, own[1:]):
            found *= following(row, word, before, label)
        inside = numbers.get(f"I-{span.type}")
        if scheme == "BIO" and span.end < lengths[row] and inside is not None:
            found *= 1 - following(row, span.end, own[-1], inside)  # or the span would be longer
        return min(max(found, 0.0), 1.0)

    return [[probability(row, Span(*span[:3])) for span in found] for row, found in enumerate(spans)]
