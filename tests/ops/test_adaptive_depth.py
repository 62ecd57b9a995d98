"""Skipping the words that have stopped gives what computing every word gives: outputs and gradients."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from keras import ops

from keras_slstm.ops import adaptive_depth
from keras_slstm.ops.masks import zero_padding
from keras_slstm.ops.sentence_state import State, TransitionWeights, make_words
from tests.backend import BACKEND, MODES, gradients

BATCH, TIME, D, L = 6, 7, 3, 5
RNG = np.random.default_rng(0)
MASK = RNG.random((BATCH, TIME)) < 0.7
MASK[0], MASK[1], MASK[2] = True, False, [0, 0, 0, 1, 0, 0, 0]
DEPTHS = {
    "random": RNG.integers(1, L + 1, size=(BATCH, TIME)),
    "shallow": np.ones((BATCH, TIME), int),  # the batch stops before the last layer
    "full": np.full((BATCH, TIME), L),
    "one deep word": np.where(np.arange(BATCH * TIME).reshape(BATCH, TIME) == 3, L, 2),
    "a sentence each": np.repeat(1 + np.arange(BATCH)[:, None] % L, TIME, axis=1),
}
SHAPES = {
    "words": (3 * D, 7 * D),
    "sentence": (D, 7 * D),
    "node_words": (D, D),
    "node_mean": (D, 2 * D),
    "node_self": (D, 3 * D),
    "node_bias": (3 * D,),
}
WEIGHTS = [RNG.normal(size=shape).astype("float32") * 0.5 for shape in SHAPES.values()]
H = RNG.normal(size=(BATCH, TIME, D)).astype("float32")
G = RNG.normal(size=(BATCH, D)).astype("float32")
PROJECTED = RNG.normal(size=(BATCH, TIME, 7 * D)).astype("float32")
NOISE = (RNG.random((BATCH, TIME, D)) < 0.5) * 2.0


def _run(function, depths, mask, noise):
    """A function of arrays, for `gradients`."""

    def run(h, g, projected, *weights):
        real = None if mask is None else ops.convert_to_tensor(mask)
        chosen = ops.convert_to_tensor(depths if mask is None else depths * mask, dtype="int32")
        h, g = zero_padding(h, real), g[:, None]
        state = State(h, 0.3 * h, g, 0.3 * g)
        h_noise = ops.convert_to_tensor(NOISE, dtype="float32") if noise else None
        g_noise = h_noise[:, :1] if noise else None
        words = make_words(projected, real)
        return function(TransitionWeights(*weights), state, words, chosen, L, h_noise, g_noise)

    return run


@pytest.fixture
def many_sizes(monkeypatch):
    """On JAX, as many branches as a large batch has."""
    if BACKEND == "jax":
        original = adaptive_depth.prefix_sizes
        monkeypatch.setattr(adaptive_depth, "prefix_sizes", lambda words: original(words, parts=2, least=1))


@pytest.mark.parametrize("training", [False, True] if BACKEND == "tensorflow" else [False])
# On TensorFlow, XLA computes every word.
@pytest.mark.parametrize("mode", ["eager", "graph"] if BACKEND == "tensorflow" else MODES[-1:])
@pytest.mark.usefixtures("many_sizes")
@pytest.mark.parametrize(
    ("depths", "mask", "noise"),
    [
        ("random", None, False),
        ("random", MASK, True),
        ("shallow", MASK, False),
        ("full", None, False),
        ("one deep word", None, True),
        ("a sentence each", MASK, False),
    ],
)
def test_skipping_changes_nothing(depths, mask, noise, mode, training):
    arrays = (H, G, PROJECTED, *WEIGHTS)
    expected = gradients(_run(adaptive_depth.every_word, DEPTHS[depths], mask, noise), *arrays, mode=mode)
    skipping = functools.partial(adaptive_depth.run_to_depths, training=training)
    found = gradients(_run(skipping, DEPTHS[depths], mask, noise), *arrays, mode=mode)
    for one, other in zip((*found[0], *found[1]), (*expected[0], *expected[1]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.skipif(BACKEND == "jax", reason="compiled for all depths")
def test_words_that_have_stopped_are_not_computed(monkeypatch):
    """Only as many rows go through the transition as there are words that run."""
    rows = []
    original = adaptive_depth.word_update

    def counting(a, *cells):
        rows.append(a.shape[0])
        return original(a, *cells)

    monkeypatch.setattr(adaptive_depth, "word_update", counting)
    run = _run(adaptive_depth.run_to_depths, DEPTHS["random"], MASK, False)
    run(*(ops.convert_to_tensor(x) for x in (H, G, PROJECTED, *WEIGHTS)))
    assert rows == [int(np.sum(DEPTHS["random"] * MASK >= layer)) for layer in range(1, L + 1)]


@pytest.mark.parametrize("words", [1, 63, 64, 65, 1000, 4096, 100_000])
def test_sizes_rise_to_the_number_of_words(words):
    sizes = adaptive_depth.prefix_sizes(words)
    assert sizes[0] == 0
    assert sizes[-1] == words
    assert sizes == sorted(set(sizes))
    assert len(sizes) <= 12
