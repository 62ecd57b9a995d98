"""The baselines against the equations, one word at a time."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_slstm.layers.convolution_stack import ConvolutionStack
from keras_slstm.layers.transformer_encoder import TransformerEncoder
from tests.backend import to_numpy
from tests.layer_case import randomize

X = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("float32")
MASK = np.array([[1, 1, 1, 0, 0], [0, 1, 1, 1, 1]], bool)


def test_convolutions_see_zeros_outside_the_sentence():
    layer = ConvolutionStack(4, num_layers=2)
    layer.build(X.shape)
    randomize(layer)
    expected = np.zeros((2, 5, 4))
    for row, words in ((0, X[0, :3]), (1, X[1, 1:])):
        for convolution in layer.convolutions:
            kernel, bias = (to_numpy(w) for w in (convolution.kernel, convolution.bias))
            padded = np.pad(words, ((1, 1), (0, 0)))
            words = np.stack(
                [np.maximum(np.einsum("wi,wio->o", padded[t : t + 3], kernel) + bias, 0) for t in range(len(words))]
            )
        expected[row, MASK[row]] = words
    np.testing.assert_allclose(to_numpy(layer(X, mask=MASK)), expected, atol=1e-5)


def test_transformer_is_the_explicit_loop():
    layer = TransformerEncoder(4, num_blocks=2, num_heads=2, feed_forward=6)
    layer.build(X.shape)
    randomize(layer)
    got = to_numpy(layer(X, mask=MASK))
    np.testing.assert_array_equal(got[~MASK], 0)
    for row, words in ((0, X[0, :3]), (1, X[1, 1:])):
        x = dense(layer.projection, words.astype("float64"))
        for t in range(len(x)):
            for i in range(2):
                angle = t / 10_000 ** (2 * i / 4)
                x[t, i] += np.sin(angle)
                x[t, 2 + i] += np.cos(angle)
        for block in layer.blocks:
            x = x + attention(block.attention, normalised(block.norms[0], x))
            wide = np.maximum(dense(block.widen, normalised(block.norms[1], x)), 0)
            x = x + dense(block.narrow, wide)
        x = normalised(layer.norm, x)
        np.testing.assert_allclose(got[row, MASK[row]], x, atol=1e-4)


def dense(layer, x):
    return x @ to_numpy(layer.kernel) + to_numpy(layer.bias)


def normalised(layer, x):
    scaled = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6)
    return scaled * to_numpy(layer.gamma) + to_numpy(layer.beta)


def attention(layer, x):
    weights = {w.path.split("/", 1)[-1]: to_numpy(w) for w in layer.weights}
    q, k, v = (
        np.einsum("te,ehd->htd", x, next(w for p, w in weights.items() if p.endswith(f"{name}/kernel")))
        + next(w for p, w in weights.items() if p.endswith(f"{name}/bias"))[:, None]
        for name in ("query", "key", "value")
    )
    scores = np.einsum("hqd,hkd->hqk", q, k) / np.sqrt(q.shape[-1])
    shares = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    out = np.einsum("hqk,hkd->qhd", shares, v)
    kernel = next(w for p, w in weights.items() if p.endswith("attention_output/kernel"))
    bias = next(w for p, w in weights.items() if p.endswith("attention_output/bias"))
    return np.einsum("qhd,hde->qe", out, kernel) + bias


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ConvolutionStack(0), "units"),
        (lambda: ConvolutionStack(4, num_layers=0), "num_layers"),
        (lambda: ConvolutionStack(4, kernel_size=2), "odd"),
        (lambda: TransformerEncoder(6, num_heads=4), "divisible"),
        (lambda: TransformerEncoder(3, num_heads=3), "even"),
        (lambda: TransformerEncoder(4, num_blocks=0), "num_blocks"),
        (lambda: TransformerEncoder(4, dropout=1.0), "dropout"),
        (lambda: TransformerEncoder(4, feed_forward=0), "feed_forward"),
    ],
)
def test_wrong_arguments(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_dropout_acts_in_training_only():
    layer = TransformerEncoder(4, num_blocks=1, num_heads=2, dropout=0.5)
    still = to_numpy(layer(X))
    np.testing.assert_array_equal(still, to_numpy(layer(X)))
    assert np.abs(still - to_numpy(layer(X, training=True))).max() > 0.01
    assert isinstance(layer, keras.layers.Layer)
