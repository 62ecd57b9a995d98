from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from keras_slstm.ops.kernels.slstm import FEW_ROWS, slstm
from keras_slstm.ops.slstm import SLSTMWeights
from tests.ops.kernel_cases import Case, cases_of, random_mask

BATCH, WORDS, E, D = 4, 5, 3, 2


def random_weights(rng: np.random.Generator, k: int, m: int, e: int = E) -> SLSTMWeights:
    gates = 4 + 2 * k + m
    shapes = [(e, gates * D), ((2 * k + 1) * D, gates * D), (gates * D,)]
    if m:
        shapes += [(m * D, (gates - m) * D), (D, m * D), (D, 3 * m * D), (D, 3 * m * D), (3 * m * D,)]
    return SLSTMWeights(*(0.7 * rng.normal(size=shape) for shape in shapes))


def dropout_mask(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return (rng.random(shape) < 0.5) * 2.0


@cases_of(slstm)
def draw(rng: np.random.Generator) -> Iterator[Case]:
    def case(name: str, k: int, m: int, steps: int, *, masked: bool = False, **arguments: Any) -> Case:
        given = {
            "weights": random_weights(rng, k, m),
            "x": rng.normal(size=(BATCH, WORDS, E)),
            "mask": random_mask(rng, BATCH, WORDS) if masked else None,
            "h0": rng.normal(size=D),
            "steps": steps,
        }
        return Case(name, {**given, **arguments}, constants=("h_dropout_mask", "g_dropout_mask"))

    each_word = rng.normal(size=(BATCH, WORDS, D))
    dropout_masks = {
        "h_dropout_mask": dropout_mask(rng, BATCH, WORDS, D),
        "g_dropout_mask": dropout_mask(rng, BATCH, 2, D),
    }
    yield case("paper", 1, 1, 3, masked=True)
    yield case("sentence", 1, 1, 2, return_words=False)
    yield case("no nodes", 2, 0, 2, masked=True)
    yield case("no neighbours", 0, 1, 2, masked=True, h0=each_word, return_words=False)
    yield case("wide", WORDS + 1, 2, 2, masked=True, h0=each_word, **dropout_masks)
    long = {"x": rng.normal(size=(BATCH, FEW_ROWS // BATCH + 1, E))}  # the gradients of the weights are not joined
    yield case("paper, long", 1, 1, 3, **long)
    yield case("sentence, long", 1, 1, 3, return_words=False, **long)
    again = {"rematerialize": True}
    yield case("paper, rematerialized", 1, 1, 3, masked=True, **again)
    yield case("sentence, rematerialized", 1, 1, 3, return_words=False, **again)
    yield case("no nodes, rematerialized", 2, 0, 3, **again)
    yield case("wide, rematerialized", WORDS + 1, 2, 2, masked=True, h0=each_word, **dropout_masks, **again)
