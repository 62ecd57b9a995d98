"""`SuBiLSTM` against prefixes and suffixes that are encoded separately, and against Keras' LSTM and GRU."""

from __future__ import annotations

import functools

import keras
import numpy as np
import pytest

from keras_slstm import layers
from keras_slstm.layers.subilstm import COMBINATIONS
from keras_slstm.ops.kernels import suffix_rnn, suffix_tensorflow
from tests.backend import BACKEND, EXACT, EXACT_GRADIENT, MODES, default_cotangent, dtype_policy, evaluate, to_numpy
from tests.layer_case import randomize
from tests.oracles.differences import central_differences
from tests.oracles.subilstm import subilstm

pytestmark = pytest.mark.short_run("tensorflow", "torch")  # JAX compiles each case, so only `--ci` runs them

E, D = 3, 2
X = np.random.default_rng(0).normal(size=(5, 4, E))
MASK = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 1, 1, 1], [1, 0, 0, 1], [0, 0, 0, 0]], bool)
# More words than fit in a block, and than in a rematerialised segment.
LONG = np.random.default_rng(1).normal(size=(2, 19, E))
LONG_MASK = np.random.default_rng(2).random((2, 19)) < 0.8

# Every recurrence, and each `combine` with each weight sharing, cell and context.
VARIANTS = [
    {"tied": tied, "cell": cell, "combine": COMBINATIONS[2 * (gru ^ tied) + (gru ^ bounded)], "max_context": context}
    for tied in (True, False)
    for gru, cell in enumerate(("lstm", "gru"))
    for bounded, context in enumerate((None, 1))
]
# All pairs of options that meet in the recurrence.
PAIRWISE = [(True, "lstm", None), (True, "gru", 2), (False, "lstm", 2), (False, "gru", None)]
# The fastest mode: in eager mode, JAX would compile each operation separately.
FIRST = MODES[-1] if BACKEND == "jax" else "eager"


def _id(variant):
    if not isinstance(variant, dict):
        return str(variant)
    return "-".join(f"{name}={value}" for name, value in variant.items()) or "default"


def _layer(x=X, return_sequences=True, **kwargs):
    with dtype_policy("float64"):
        layer = layers.SuBiLSTM(D, return_sequences=return_sequences, **kwargs)
        layer.build(x.shape)
        randomize(layer)
    return layer


def _weights(layer):
    return {weight.name: to_numpy(weight) for weight in layer.trainable_variables}


def _run(layer, mask=MASK, x=X, mode=None, **kwargs):
    with dtype_policy("float64"):
        return evaluate(layer, x, mask, mode=mode or FIRST, **kwargs)


def _oracle(layer, mask=MASK, x=X, weights=None, max_context="that of the layer"):
    with dtype_policy("float64"):
        weights = weights or _weights(layer)
    context = layer.max_context if max_context == "that of the layer" else max_context
    options = {"tied": layer.tied, "combine": layer.combine, "cell": layer.cell, "max_context": context}
    return subilstm(weights, x, mask, units=D, **options)[0 if layer.return_sequences else 1]


@pytest.mark.parametrize("mask", [None, MASK], ids=["whole", "masked"])
@pytest.mark.parametrize("variant", VARIANTS, ids=_id)
def test_layer_is_the_encoding_of_each_prefix_and_suffix(variant, mask):
    layer = _layer(**variant)
    np.testing.assert_allclose(_run(layer, mask).outputs[0], _oracle(layer, mask), **EXACT)


LONG_VARIANTS = [
    {},
    {"tied": False},
    {"cell": "gru"},
    {"cell": "gru", "rematerialize": True},
    {"rematerialize": True},
    {"max_context": 3},
    {"max_context": 30},
]
# Compiling takes seconds, so this covers each loop with and without a mask, and each cell.
COMPILED = [({}, True), ({"cell": "gru", "rematerialize": True}, True), ({"max_context": 3}, False)]
# The other loops of XLA on TensorFlow are tested below, with sentences of unknown length.
ELSEWHERE = {"xla": [{"max_context": 3}]} if BACKEND == "tensorflow" else {}
LONG_CASES = [
    *((FIRST, variant, True) for variant in LONG_VARIANTS),
    *((FIRST, variant, False) for variant in ({}, {"rematerialize": True}, {"max_context": 3})),
    *(
        (mode, variant, masked)
        for mode in MODES
        if mode not in (FIRST, "eager")
        for variant, masked in COMPILED
        if variant not in ELSEWHERE.get(mode, [])
    ),
]


@pytest.mark.parametrize(("mode", "variant", "masked"), LONG_CASES, ids=_id)
@pytest.mark.short_run("torch")
def test_long_sentences_equal_the_encodings_in_every_mode(mode, variant, masked):
    """Values and gradients: in blocks, in segments and in a growing loop, with known and unknown lengths."""
    layer = _layer(LONG, **variant)
    mask = LONG_MASK if masked else None
    found = _run(layer, mask, LONG, mode)
    np.testing.assert_allclose(found.outputs[0], _oracle(layer, mask, LONG), **EXACT)
    if (variant, masked) not in COMPILED:
        return
    for path, gradient in found.weight_gradients.items():
        name = path.rpartition("/")[2]
        if name in ("forward_recurrent_kernel", "backward_bias"):
            expected = _long_difference(tuple(variant.items()), masked, name)
            np.testing.assert_allclose(gradient, expected, **EXACT_GRADIENT, err_msg=name)


@functools.cache
def _long_difference(variant, masked, name):
    """The finite difference of the loss in one weight, which is the same in all modes."""
    layer = _layer(LONG, **dict(variant))
    with dtype_policy("float64"):
        weights = _weights(layer)

    def loss(value):
        y = _oracle(layer, LONG_MASK if masked else None, LONG, {**weights, name: value})
        return np.sum(y * default_cotangent(y.shape))

    return central_differences(loss, weights[name])


@pytest.mark.parametrize("masked", [True, False])
def test_rematerialisation_has_the_same_gradients(masked):
    mask = LONG_MASK if masked else None
    found, expected = (_run(_layer(LONG, rematerialize=again), mask, LONG) for again in (True, False))
    np.testing.assert_allclose(found.input_gradient, expected.input_gradient, **EXACT)
    for one, other in zip(found.weight_gradients.values(), expected.weight_gradients.values(), strict=True):
        np.testing.assert_allclose(one, other, **EXACT)


@pytest.mark.parametrize("block", [1, 4])
@pytest.mark.parametrize("variant", [{"max_context": 2, "recurrent_dropout": 0.3, "seed": 5}, {"max_context": 30}])
def test_contexts_of_blocks_of_words_have_the_same_gradients(variant, block, monkeypatch):
    monkeypatch.setattr(suffix_rnn, "BLOCK", block)
    layers = (_layer(LONG, rematerialize=again, **variant) for again in (True, False))
    found, expected = (_run(layer, LONG_MASK, LONG, training=True) for layer in layers)
    np.testing.assert_allclose(found.outputs[0], expected.outputs[0], **EXACT)
    np.testing.assert_allclose(found.input_gradient, expected.input_gradient, **EXACT)
    for one, other in zip(found.weight_gradients.values(), expected.weight_gradients.values(), strict=True):
        np.testing.assert_allclose(one, other, **EXACT)


@pytest.mark.parametrize("variant", [{}, {"combine": "concat"}, {"max_context": 1}], ids=_id)
def test_sentence_vector_is_the_maximum_over_the_words(variant):
    layer = _layer(return_sequences=False, **variant)
    np.testing.assert_allclose(_run(layer).outputs[0], _oracle(layer), **EXACT)


@pytest.mark.parametrize(
    "variant",
    [
        {},
        {"rematerialize": True},
        {"tied": False, "combine": "gate"},
        {"cell": "gru", "combine": "mean"},
        {"cell": "gru", "tied": False, "rematerialize": True},
        {"max_context": 1, "combine": "concat"},
        {"max_context": 2, "cell": "gru", "tied": False},
    ],
    ids=_id,
)
@pytest.mark.short_run("torch")
def test_gradients_are_finite_differences(variant):
    """For every weight and for the input."""
    some, mask = X[2:], MASK[2:]
    layer = _layer(some, **variant)
    found = _run(layer, mask, some)
    with dtype_policy("float64"):
        weights = _weights(layer)

    def loss(x=some, **changed):
        y = _oracle(layer, mask, x, {**weights, **changed})
        return np.sum(y * default_cotangent(y.shape))

    np.testing.assert_allclose(found.input_gradient, central_differences(lambda x: loss(x=x), some), **EXACT_GRADIENT)
    assert len(found.weight_gradients) == len(weights)
    for path, gradient in found.weight_gradients.items():
        name = path.rpartition("/")[2]
        expected = central_differences(lambda value, name=name: loss(**{name: value}), weights[name])
        np.testing.assert_allclose(gradient, expected, **EXACT_GRADIENT, err_msg=name)


@pytest.mark.parametrize(("tied", "cell", "context"), PAIRWISE)
def test_weights_fit_keras_bidirectional(tied, cell, context):
    """Forward prefixes and backward suffixes equal Keras' Bidirectional with the same weights."""
    keras_layer = {"lstm": keras.layers.LSTM, "gru": keras.layers.GRU}[cell]
    x = X.astype("float32")
    both = keras.layers.Bidirectional(keras_layer(D, return_sequences=True))
    layer = layers.SuBiLSTM(D, tied=tied, cell=cell, combine="concat", max_context=context, return_sequences=True)
    for one in (both, layer):
        one.build(x.shape)
        randomize(one)
    forward, backward = (0, 1) if tied else (0, 3)
    for index, inner in ((forward, both.forward_layer), (backward, both.backward_layer)):
        mine = (layer.kernels[index], layer.recurrent_kernels[index], layer.biases[index])
        for own, given in zip(mine, inner.get_weights(), strict=True):
            own.assign(given)
    p_forward, _, _, s_backward = np.split(to_numpy(layer(x)), 4, axis=-1)
    found = np.concatenate([p_forward, s_backward], axis=-1)
    np.testing.assert_allclose(found, to_numpy(both(x)), rtol=0, atol=1e-6)


def test_an_unlimited_context_equals_a_wide_one():
    wide, unlimited = _layer(max_context=4), _layer()
    np.testing.assert_allclose(_run(wide).outputs[0], _run(unlimited).outputs[0], **EXACT)
    assert np.max(np.abs(_run(_layer(max_context=1)).outputs[0] - _run(unlimited).outputs[0])) > 1e-3


@pytest.mark.parametrize("combine", ["max", "gate"])
def test_tied_equals_untied_with_equal_weights(combine):
    tied, untied = _layer(combine=combine), _layer(combine=combine, tied=False)
    with dtype_policy("float64"):
        for mine, given in (
            (untied.kernels, tied.kernels),
            (untied.recurrent_kernels, tied.recurrent_kernels),
            (untied.biases, tied.biases),
        ):
            for index in range(4):
                mine[index].assign(given[index // 2])
        for name in ("combine_kernels", "combine_biases"):
            for own, other in zip(getattr(untied, name), getattr(tied, name), strict=True):
                own.assign(other)
    np.testing.assert_allclose(_run(tied).outputs[0], _run(untied).outputs[0], **EXACT)


def test_float32_is_within_1e_5():
    """At a realistic size and length."""
    layer = layers.SuBiLSTM(32, return_sequences=True)
    x = np.random.default_rng(0).normal(size=(2, 16, 16)).astype("float32")
    mask = np.array([[True] * 16, [False] * 4 + [True] * 10 + [False] * 2])
    found = evaluate(layer, x, mask, mode=FIRST).outputs[0]
    np.testing.assert_allclose(found, subilstm(_weights(layer), x, mask, units=32)[0], rtol=0, atol=1e-5)


@pytest.mark.skipif(BACKEND != "tensorflow", reason="only TensorFlow has the growing loop")
def test_xla_uses_the_loop_with_fixed_shapes():
    import tensorflow as tf

    seen = []

    def note():
        seen.append(suffix_tensorflow.is_possible())
        return tf.constant(0)

    note()
    tf.function(note)()
    tf.function(note, jit_compile=True)()
    inner = tf.function(note)
    tf.function(lambda: inner(), jit_compile=True)()
    assert seen == [True, True, False, False]


@pytest.mark.skipif(BACKEND != "tensorflow", reason="other backends know all shapes when XLA compiles")
@pytest.mark.parametrize(
    ("variant", "x", "mask"),
    [({}, X, MASK), ({"rematerialize": True}, LONG, LONG_MASK), ({"max_context": 2}, X, MASK)],
    ids=["default", "rematerialize", "max_context"],
)
@pytest.mark.short_run
def test_xla_compiles_sentences_of_unknown_length(variant, x, mask):
    """Keras' `fit` does this from the third length on."""
    import tensorflow as tf

    layer = layers.SuBiLSTM(D, return_sequences=True, **variant)
    layer.build((None, None, E))
    randomize(layer)
    signature = [tf.TensorSpec([None, None, E]), tf.TensorSpec([None, None], "bool")]

    def run(x, mask):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layer(x, mask=mask)
        return y, tape.gradient(y, x)

    compiled = tf.function(run, jit_compile=True, input_signature=signature)
    arguments = tf.constant(x, "float32"), tf.constant(mask)
    for found, expected in zip(compiled(*arguments), run(*arguments), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def test_inference_is_differentiable():
    layer = _layer(LONG)
    found, expected = _run(layer, LONG_MASK, LONG, training=False), _run(layer, LONG_MASK, LONG)
    np.testing.assert_allclose(found.outputs[0], expected.outputs[0], **EXACT)
    np.testing.assert_allclose(found.input_gradient, expected.input_gradient, **EXACT)


def test_random_context_is_drawn_in_training_from_its_range():
    layer = _layer(max_context=(1, 3), seed=3)
    contexts = {context: _oracle(layer, max_context=context) for context in range(5)}
    with dtype_policy("float64"):
        found = to_numpy(layer(X, mask=MASK, training=True))
        drawn = {int(layer._context(training=True).words) for _ in range(30)}
    near = [context for context, expected in contexts.items() if np.max(np.abs(found - expected)) < 1e-9]
    assert len(near) == 1, "the whole batch must have one context"
    assert drawn == {1, 2, 3}
    np.testing.assert_allclose(_run(layer).outputs[0], contexts[3], **EXACT)


def test_dropout_is_the_same_for_all_words():
    """A feature of a sentence is dropped at all words or at none."""
    layer = layers.SuBiLSTM(D, dropout=0.5, combine="mean", return_sequences=True, seed=3)
    layer.build((None, None, 8))
    x = np.random.default_rng(0).normal(size=(4, 5, 8)).astype("float32")
    zero = evaluate(layer, x, training=True).input_gradient == 0
    dropped = np.all(zero, axis=1)
    assert 0 < np.mean(dropped) < 1
    assert np.all(zero == dropped[:, None])


@pytest.mark.parametrize(("tied", "cell", "context"), PAIRWISE)
def test_recurrent_dropout_acts_only_on_products(tied, cell, context):
    """With everything dropped, h no longer enters the products, and the rest does not change."""
    layer = _layer(seed=0, recurrent_dropout=1 - 1e-9, tied=tied, cell=cell, max_context=context)
    with dtype_policy("float64"):
        found = to_numpy(layer(X, training=True))
        weights = _weights(layer)
    weights = {name: 0 * value if "recurrent" in name else value for name, value in weights.items()}
    np.testing.assert_allclose(found, _oracle(layer, None, weights=weights), **EXACT)


@pytest.mark.parametrize("option", ["dropout", "recurrent_dropout"])
@pytest.mark.parametrize("variant", [{}, {"tied": False, "max_context": 1}, {"rematerialize": True}], ids=_id)
def test_gradient_uses_the_same_dropout_mask(variant, option):
    """The gradient belongs to the same dropout factors, which the seed draws again.

    The direction of the difference changes all weights and the input.
    """

    def layer(*changed):
        layer = _layer(seed=5, **{option: 0.5}, **variant)
        for variable, value in zip(layer.trainable_variables, changed):
            variable.assign(value)
        return layer

    def loss(x, *weights):
        with dtype_policy("float64"):
            y = to_numpy(layer(*weights)(x, training=True, mask=MASK))
        return np.sum(y * default_cotangent(y.shape))

    found = _run(layer(), training=True)
    gradients = [found.input_gradient, *found.weight_gradients.values()]
    values = [X, *_weights(layer()).values()]
    directions = [0.1 * default_cotangent(value.shape) for value in values]
    one, other = (loss(*(v + step * d for v, d in zip(values, directions))) for step in (1e-5, -1e-5))
    along = sum(np.sum(gradient * d) for gradient, d in zip(gradients, directions, strict=True))
    np.testing.assert_allclose(along, (one - other) / 2e-5, **EXACT_GRADIENT)
