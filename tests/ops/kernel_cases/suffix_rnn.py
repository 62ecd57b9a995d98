from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from keras_slstm.ops.kernels.suffix_rnn import from_every_word, from_first_and_every_word, from_first_word
from keras_slstm.ops.subilstm import Context, RecurrentWeights
from tests.backend import BACKEND
from tests.ops.kernel_cases import MODE, Case, cases_of, random_mask

BATCH, E, D = 3, 2, 2
# More words than a block, and so many that recomputed blocks are shorter than stored ones.
LONG, SHORT = 33, 4


@cases_of(from_first_word)
def draw_first(rng: np.random.Generator) -> Iterator[Case]:
    for cell in ("lstm", "gru"):
        yield _case(f"{cell}, masked, dropout", _arguments(rng, cell, SHORT, mask=True, dropout=True))
        yield _case(f"{cell}, rematerialized", _arguments(rng, cell, SHORT, rematerialize=True))


@cases_of(from_every_word, from_first_and_every_word)
def draw_every(rng: np.random.Generator) -> Iterator[Case]:
    for cell in ("lstm", "gru"):
        for rematerialize in (False, True):
            arguments = _arguments(rng, cell, LONG, mask=True, dropout=True, rematerialize=rematerialize)
            # XLA on TensorFlow runs the loop of the other backends.
            modes = ("graph", "xla") if BACKEND == "tensorflow" and cell == "lstm" and rematerialize else (MODE,)
            yield _case(f"{cell}, long, masked, dropout, rematerialize={rematerialize}", arguments, modes)
        for context in (0, 2, 30):
            arguments = _arguments(rng, cell, SHORT, mask=context == 2, dropout=context == 2)
            yield _case(f"{cell}, context {context}", {**arguments, "context": Context(context, max(context, 3))})
    yield _case("no mask", _arguments(rng, "lstm", SHORT))


def _case(name, arguments, modes=(MODE,)):
    return Case(name, arguments, constants=("dropout_mask",), modes=modes)


def _arguments(rng, cell, time, mask=False, dropout=False, rematerialize=False):
    columns = {"lstm": 4, "gru": 3}[cell] * D
    weights = RecurrentWeights(
        rng.normal(size=(E, columns)),
        rng.normal(size=(D, columns)),
        rng.normal(size=(columns,) if cell == "lstm" else (2, columns)),
    )
    return {
        "cell": cell,
        "weights": weights,
        "x": rng.normal(size=(time, BATCH, E)),
        "mask": random_mask(rng, BATCH, time).T[..., None] if mask else None,
        "dropout_mask": 2.0 * rng.integers(2, size=(BATCH, D)) if dropout else None,
        "rematerialize": rematerialize,
    }
