from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from keras_slstm.ops.cas_lstm import LayerWeights
from keras_slstm.ops.kernels.cas_lstm import sequence
from tests.backend import BACKEND, MODES
from tests.ops.kernel_cases import MODE, Case, cases_of, random_mask

TIME, BATCH, E, D = 4, 3, 2, 2


@cases_of(sequence)
def draw(rng: np.random.Generator) -> Iterator[Case]:
    for name, options in {
        "layer 1": {"layer_1": True},
        "layer 1, masked, dropout": {"layer_1": True, "mask": True, "dropout": True},
        "lam 0.3, masked": {"lam": 0.3, "mask": True},
        "trainable lam, masked, dropout": {"lam": "vector", "mask": True, "dropout": True},
        "no lam": {},
        "peephole": {"peephole": True},
        "peephole, masked, dropout": {"peephole": True, "mask": True, "dropout": True},
    }.items():
        # XLA on TensorFlow also computes one product per gate; one case shows that it compiles.
        modes = MODES[1:] if name.startswith("trainable") and BACKEND == "tensorflow" else (MODE,)
        yield Case(name, _arguments(rng, **options), constants=("dropout_mask",), modes=modes)


def _arguments(rng, layer_1=False, lam=None, peephole=False, mask=False, dropout=False):
    gates = 4 if layer_1 else 5
    weights = LayerWeights(
        kernel=rng.normal(size=(E, gates * D)),
        recurrent_kernel=rng.normal(size=(D, (4 if peephole else gates) * D)),
        bias=rng.normal(size=(gates * D,)),
        lam=rng.random(D) if lam == "vector" else lam,
        peephole=rng.normal(size=(2, D)) if peephole else None,
    )
    return {
        "weights": weights,
        "x": rng.normal(size=(TIME, BATCH, E)),
        "h": rng.normal(size=(BATCH, D)),
        "c": rng.normal(size=(BATCH, D)),
        "lower_cells": None if layer_1 else rng.normal(size=(TIME, BATCH, D)),
        "mask": random_mask(rng, BATCH, TIME).T[..., None] if mask else None,
        "dropout_mask": 2.0 * rng.integers(2, size=(BATCH, D)) if dropout else None,
    }
