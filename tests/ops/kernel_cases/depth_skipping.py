from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from keras_slstm.ops.kernels.depth_skipping import depth_adaptive_grn
from tests.backend import BACKEND
from tests.ops.kernel_cases import MODE, Case, cases_of, random_mask
from tests.ops.kernel_cases.slstm import D, E, dropout_mask, random_weights

BATCH, TIME, L = 6, 5, 3
# On TensorFlow, eager code, graphs and XLA skip in different ways.
MODES = ("eager", "graph", "xla") if BACKEND == "tensorflow" else (MODE,)


@cases_of(depth_adaptive_grn)
def draw(rng: np.random.Generator) -> Iterator[Case]:
    mask = random_mask(rng, BATCH, TIME)
    h_mask, g_mask = dropout_mask(rng, BATCH, TIME, D), dropout_mask(rng, BATCH, 1, D)

    def case(name: str, depths: Any, mask: Any = None, modes: tuple[str, ...] = (MODE,), **arguments: Any) -> Case:
        given = {
            "weights": random_weights(rng, 1, 1),
            "x": rng.normal(size=(BATCH, TIME, E)),
            "mask": mask,
            "h0": rng.normal(size=(BATCH, TIME, D)),
            "depths": depths if depths is None or mask is None else depths * mask,
            "max_depth": L,
        }
        return Case(name, {**given, **arguments}, modes=modes, constants=("h_dropout_mask", "g_dropout_mask"))

    drawn = rng.integers(1, L + 1, size=(BATCH, TIME))
    yield case("random", drawn, mask, MODES, h_dropout_mask=h_mask, g_dropout_mask=g_mask)
    one_deep_word = np.where(np.arange(BATCH * TIME).reshape(BATCH, TIME) == 3, L, 1)
    yield case("one deep word", one_deep_word, training=True)
    yield case("full", None, mask)
    again = {"rematerialize": True}
    yield case("random, rematerialized", drawn, mask, MODES, h_dropout_mask=h_mask, g_dropout_mask=g_mask, **again)
    yield case("one deep word, rematerialized", one_deep_word, training=True, **again)
    yield case("full, rematerialized", None, mask, **again)
