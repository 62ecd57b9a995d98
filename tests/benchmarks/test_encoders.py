from __future__ import annotations

from collections import Counter

import keras
import numpy as np
import pytest

from benchmarks import encoders, peers
from keras_slstm.layers import SLSTM
from tests.backend import BACKEND, to_numpy

BATCH, LENGTH, UNITS, STEPS = 2, 5, 4, 4


def _products(jaxpr):
    """Count the matrix products of a jaxpr by (rows, k, columns)."""
    counted = Counter()
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            (left, right), ((contracted, _), _) = equation.invars, equation.params["dimension_numbers"]
            k = int(np.prod([left.aval.shape[axis] for axis in contracted]))
            counted[left.aval.size // k, k, right.aval.size // k] += 1
        for value in equation.params.values():
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                counted += _products(inner)
    return counted


@pytest.mark.backends("jax")
@pytest.mark.skipif(BACKEND != "jax", reason="counts products in a jaxpr")
@pytest.mark.parametrize("sequences", [False, True])
def test_the_floor_counts_the_products_over_words_that_the_layer_computes(sequences):
    import jax

    layer = SLSTM(UNITS, steps=STEPS, return_sequences=sequences)
    x = np.zeros((BATCH, LENGTH, UNITS), "float32")
    layer.build(x.shape)
    words = BATCH * (LENGTH + 2)
    computed = {key: n for key, n in _products(jax.make_jaxpr(layer)(x).jaxpr).items() if key[0] == words}
    counted = {
        (rows, k, columns): n
        for rows, k, columns, n in encoders.products(BATCH, LENGTH, UNITS, STEPS, sequences)
        if rows == words
    }
    # In the first step, the product of the one vector that all words are with W is summed over the window: 3 rows.
    assert computed.pop((words, 3, 7 * UNITS)) == 1
    assert computed == counted


@pytest.mark.backends("torch")
@pytest.mark.skipif(BACKEND != "torch", reason="needs PyTorch")
def test_classes_of_a_peer_run_without_the_rest_of_their_file(tmp_path):
    path = tmp_path / "foreign.py"
    path.write_text(
        "import a_module_that_is_missing\n\nclass Twice:\n    def __call__(self, x):\n        return factor * x\n"
    )
    names = {"factor": 2}
    peers._define_classes(path, names)
    assert names["Twice"]()(3) == 6


@pytest.mark.backends("torch")
@pytest.mark.skipif(BACKEND != "torch", reason="needs PyTorch")
def test_a_peer_is_timed_like_a_layer():
    from benchmarks import timing

    peer = peers.peers(UNITS, STEPS, None)[peers.TORCH_BILSTM]()
    x = timing.tensor(np.ones((BATCH, LENGTH, UNITS)), "float32")
    timing.training_step(peer, x, "eager")()
    assert to_numpy(peer(x)).shape == (2, BATCH, UNITS)
    assert sum(keras.ops.size(v.value) for v in peer.trainable_variables) == 2 * 4 * UNITS * (2 * UNITS + 2)
