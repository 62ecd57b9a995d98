"""The features of two sentence vectors that a classifier reads (Choi, Kim and Lee, 2019)."""

from __future__ import annotations

from keras import ops

from keras_slstm.types import Tensor

# How many vectors of the size of a sentence vector are joined.
PAIR_FEATURES = {"inference": 4, "paraphrase": 2}


def pair_features(s1: Tensor, s2: Tensor, kind: str) -> Tensor:
    """The features phi of a pair of sentences.

    Args:
        s1: The vectors of the first sentences, `(batch, features)`.
        s2: Those of the second.
        kind: `"inference"`: [s1; s2; |s1 - s2|; s1 * s2], eq. 15. `"paraphrase"`: [|s1 - s2|; s1 * s2], eq. 16, which
            does not change when the sentences change places.

    Returns:
        `(batch, 4 * features)` or `(batch, 2 * features)`.
    """
    symmetric = [ops.abs(s1 - s2), s1 * s2]
    return ops.concatenate(symmetric if kind == "paraphrase" else [s1, s2, *symmetric], axis=-1)
