"""The probability of a whole span under a CRF, rather than of its individual tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from keras import ops

from keras_slstm.ops.crf_functions import crf_log_likelihood, labels_shape
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
    rows = [(row, Span(*span[:3])) for row, found in enumerate(spans) for span in found]
    if not rows:
        return [[] for _ in spans]
    numbers = {label: number for number, label in enumerate(labels)}
    known = np.full((len(rows), labels_shape(potentials.shape)[1]), -1, "int32")
    longer = known.copy()  # the same span extended by the next word, to subtract
    continues_span = np.zeros(len(rows), bool)
    for number, (row, span) in enumerate(rows):
        tags = spans_to_tags([span], lengths[row], scheme)[span.start : span.end]
        known[number, span.start : span.end] = [numbers[tag] for tag in tags]
        inside = numbers.get(f"I-{span.type}")
        if scheme == "BIO" and span.end < lengths[row] and inside is not None:
            longer[number] = known[number]
            longer[number, span.end] = inside
            continues_span[number] = True
    own = ops.take(ops.convert_to_tensor(potentials), [row for row, _ in rows], axis=0)
    found = np.exp(ops.convert_to_numpy(crf_log_likelihood(own, known)))
    if continues_span.any():
        found = found - np.where(continues_span, np.exp(ops.convert_to_numpy(crf_log_likelihood(own, longer))), 0)
    values = iter(np.clip(found, 0, 1).tolist())
    return [[next(values) for _ in found] for found in spans]
