"""The features with which a classifier compares two sentence vectors (Choi, Kim and Lee, 2019)."""

from __future__ import annotations

from keras import ops

from keras_slstm.types import Tensor

# The size of the features of each kind, in multiples of the size of a sentence vector.
PAIR_FEATURES = {"inference": 4, "paraphrase": 2}


def pair_features(s1: Tensor, s2: Tensor, kind: str) -> Tensor:
    """Return the features phi of pairs of sentences.

    Args:
        s1: The vectors of the first sentences, `(batch, features)`.
        s2: The vectors of the second sentences, of the same shape.
        kind: `"inference"`: [s1; s2; |s1 - s2|; s1 * s2], eq. 15. `"paraphrase"`: [|s1 - s2|; s1 * s2], eq. 16, which
            is symmetric in the two sentences.

    Returns:
        `(batch, 4 * features)` or `(batch, 2 * features)`.
    """
    symmetric = [ops.abs(s1 - s2), s1 * s2]
    return ops.concatenate(symmetric if kind == "paraphrase" else [s1, s2, *symmetric], axis=-1)
