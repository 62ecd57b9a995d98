"""`DepthAdaptiveGRN` against the explicit loops of `tests/oracles/depth_adaptive_grn.py`, in float64."""

from __future__ import annotations

import itertools

import keras
import numpy as np
import pytest

from keras_slstm import layers
from tests.backend import BACKEND, EXACT, EXACT_GRADIENT, MODES, default_cotangent, dtype_policy, evaluate, to_numpy
from tests.layer_case import randomize
from tests.oracles.depth_adaptive_grn import depth_adaptive_grn, probabilities
from tests.oracles.differences import central_differences

pytestmark = pytest.mark.short_run("tensorflow", "torch")  # JAX compiles each case, so only `--ci` runs them

E, D, L, S = 3, 4, 4, 3
X = np.random.default_rng(0).normal(size=(5, 5, E))
MASK = np.array([[1] * 5, [0, 1, 1, 1, 0], [1, 0, 1, 1, 0], [0, 0, 0, 0, 1], [0] * 5], bool)
DEPTHS = np.random.default_rng(1).integers(1, L + 1, size=(5, 5))

VARIANTS = [
    {},
    {"selection": "hard"},
    {"selection": "soft"},
    {"selection": "full"},
    {"sequential": "sinusoidal"},
    {"sequential": "learned", "max_length": 5},
    {"sequential": "learned", "max_length": 2},  # later words share the last position
    {"sequential": None},
]


def _id(variant):
    return "-".join(f"{name}={value}" for name, value in variant.items()) or "default"


def _layer(**kwargs):
    with dtype_policy("float64"):
        outputs = {"return_sequences": True, "return_state": True, "return_depths": True}
        layer = layers.DepthAdaptiveGRN(D, **{"max_depth": L, "depth_units": S, **outputs, **kwargs})
        layer.build(X.shape)
        randomize(layer)
        # Large weights make the depths differ.
        layer.inner_bias.assign([0.5, 0.3, 0.4])
        layer.depth_kernel.assign([[5.0, -3.0, 0.0, -2.0], [-4.0, 5.0, -1.0, 3.0], [0.0, -2.0, 4.0, 3.0]])
        layer.depth_bias.assign([0.1, 0.3, -0.2, 0.2])
    return layer


def _weights(layer):
    with dtype_policy("float64"):
        return {_name(v.path): to_numpy(v) for v in layer.weights if v.dtype == "float64"}


def _name(path):
    """Return the last part of a path, after the direction if it is a weight of the two LSTMs."""
    name = path.rpartition("/")[2]
    direction = next((d for d in ("forward", "backward") if f"{d}_lstm" in path), None)
    return f"{direction}/{name.removesuffix('_1')}" if direction else name


def _run(layer, mask=None, **kwargs):
    with dtype_policy("float64"):
        # In eager mode, JAX would compile each operation separately.
        return evaluate(layer, X, mask, mode=MODES[-1] if BACKEND == "jax" else "eager", **kwargs)


def _oracle(layer, mask, x=X, weights=None, **kwargs):
    options = {"units": D, "max_depth": L, "selection": layer.selection, "sequential": layer.sequential}
    return depth_adaptive_grn(weights or _weights(layer), x, mask, **options, **kwargs)


@pytest.mark.parametrize("mask", [None, MASK], ids=["whole", "masked"])
@pytest.mark.parametrize("variant", VARIANTS, ids=_id)
def test_layer_is_the_explicit_loop(variant, mask):
    layer = _layer(**variant)
    h, g, c_g, depths = _oracle(layer, mask)
    assert layer.selection == "full" or len(set(depths[depths > 0])) > 1, "the depths do not differ"
    for one, other in zip(_run(layer, mask).outputs, (h, g, c_g, depths), strict=True):
        np.testing.assert_allclose(one, other, **EXACT)


@pytest.mark.parametrize("mask", [None, MASK], ids=["whole", "masked"])
def test_given_depths_are_used(mask):
    layer = _layer()
    found = _run(layer, mask, depths=DEPTHS).outputs
    expected = _oracle(layer, mask, depths=DEPTHS if mask is None else DEPTHS * mask)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, **EXACT)


def test_implicit_mask_is_used_with_given_depths():
    """The implicit mask, which Keras passes under another name in this case."""
    ids, depths = np.array([[1, 2, 0], [0, 3, 0]]), np.array([[2, 1, 2], [2, 2, 2]])
    embed = keras.layers.Embedding(4, 3, mask_zero=True)
    layer = layers.DepthAdaptiveGRN(2, max_depth=2, depth_units=2, return_depths=True)
    inputs = keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="int32")
    model = keras.Model(inputs, layer(embed(inputs[0]), depths=inputs[1]))
    expected = [to_numpy(y) for y in layer(embed(ids), depths=depths, mask=ids > 0)]
    np.testing.assert_array_equal(expected[1], depths * (ids > 0))
    for found in (layer(embed(ids), depths=depths), model([ids, depths])):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(to_numpy(one), other, atol=1e-6)


def test_given_depths_are_clipped():
    layer = _layer()
    found = _run(layer, depths=np.where(DEPTHS > 2, 99, -7)).outputs
    expected = _run(layer, depths=np.where(DEPTHS > 2, L, 1)).outputs
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("selection", ["given", "hard"])
@pytest.mark.short_run("torch")
def test_gradients_are_finite_differences(selection):
    """For the input and every weight, through h^0 and the depth embedding; the choice itself has no gradient."""
    layer = _layer(selection="hard")
    given = {"depths": DEPTHS * MASK} if selection == "given" else {}
    with dtype_policy("float64"):
        found = {mode: evaluate(layer, X, MASK, mode=mode, **given) for mode in MODES}
    weights = _weights(layer)

    def loss(x, weights):
        outputs = _oracle(layer, MASK, x, weights, **given)[:3]
        return sum(np.sum(y * default_cotangent(y.shape)) for y in outputs)

    expected = {
        name: central_differences(lambda value, name=name: loss(X, {**weights, name: value}), weight)
        for name, weight in weights.items()
        if name != "depth_bias"
    }
    for_input = central_differences(lambda x: loss(x, weights), X)
    for mode, values in found.items():
        np.testing.assert_allclose(values.input_gradient, for_input, **EXACT_GRADIENT, err_msg=mode)
        learned = {_name(path): gradient for path, gradient in values.weight_gradients.items()}
        assert set(learned) == set(expected)
        for name, gradient in learned.items():
            assert np.any(expected[name]), name
            np.testing.assert_allclose(gradient, expected[name], **EXACT_GRADIENT, err_msg=f"{name} {mode}")


@pytest.mark.parametrize("variant", VARIANTS[4:7], ids=_id)
def test_sequential_module_learns_through_the_first_state(variant):
    layer = _layer(selection="hard", **variant)
    found = _run(layer, MASK)
    weights = _weights(layer)

    def loss(x, changed):
        outputs = _oracle(layer, MASK, x, {**weights, **changed})[:3]
        return sum(np.sum(y * default_cotangent(y.shape)) for y in outputs)

    np.testing.assert_allclose(found.input_gradient, central_differences(lambda x: loss(x, {}), X), **EXACT_GRADIENT)
    for path, gradient in found.weight_gradients.items():
        if (name := _name(path)) in ("position_embeddings", "inner_kernel", "initial_kernel"):
            expected = central_differences(lambda value, name=name: loss(X, {name: value}), weights[name])
            np.testing.assert_allclose(gradient, expected, **EXACT_GRADIENT, err_msg=name)


def test_sampled_depths_follow_the_softmax():
    """In training, depths are sampled from eq. 7; otherwise they are the most probable ones."""
    x = np.repeat(X[:1, :1], 4000, axis=1)
    layer = _layer(sequential=None)
    with dtype_policy("float64"):
        depths = to_numpy(layer(x, training=True)[-1])[0]
        quiet = to_numpy(layer(x)[-1])[0]
    w = _weights(layer)
    inner = np.maximum(0, X[0, 0] @ w["inner_kernel"] + w["inner_bias"])
    p = probabilities(inner @ w["depth_kernel"] + w["depth_bias"])
    np.testing.assert_allclose(np.bincount(depths, minlength=L + 1)[1:] / 4000, p, atol=0.03)
    assert set(quiet) == {1 + np.argmax(p)}


@pytest.mark.parametrize("selection", ["hard", "soft", "full"])
def test_other_selections_do_not_sample(selection):
    layer = _layer(selection=selection)
    with dtype_policy("float64"):
        for one, other in zip(layer(X, training=True), layer(X, training=False), strict=True):
            np.testing.assert_array_equal(to_numpy(one), to_numpy(other))


@pytest.mark.parametrize("mask", [None, MASK, np.zeros_like(MASK)], ids=["whole", "masked", "empty"])
def test_regulariser_is_the_mean_depth(mask):
    layer = _layer(depth_penalty=0.3, sequential=None)
    with dtype_policy("float64"):
        layer(X, mask=mask, training=True)
        (found,) = layer.losses
        found = float(to_numpy(found))
    w = _weights(layer)
    shares = []
    for i in np.ndindex(*X.shape[:2]):
        if mask is None or mask[i]:
            inner = np.maximum(0, X[i] @ w["inner_kernel"] + w["inner_bias"])
            p = probabilities(inner @ w["depth_kernel"] + w["depth_bias"])
            shares.append(sum(j * p[j - 1] for j in range(1, L + 1)) / L)
    np.testing.assert_allclose(found, 0.3 * np.mean(shares) if shares else 0.0, rtol=1e-10)


@pytest.mark.short_run("torch")
def test_regulariser_reduces_depths():
    # With targets of 0, words would learn depth 1 without a penalty, because g is 0 there.
    x, y = X.astype("float32"), np.random.default_rng(0).normal(size=(5, 1)).astype("float32")
    means: dict[float, list[float]] = {0.0: [], 5.0: []}
    for factor, seed in itertools.product(means, (0, 1)):
        keras.utils.set_random_seed(seed)
        grn = layers.DepthAdaptiveGRN(D, L, selection="hard", depth_penalty=factor, return_depths=True)
        inputs = keras.Input((5, E))
        model = keras.Model(inputs, keras.layers.Dense(1)(grn(inputs)[0]))
        model.compile(keras.optimizers.Adam(0.03), loss="mse", jit_compile=BACKEND == "jax")
        before = to_numpy(grn(x)[1]).mean()
        model.fit(x, y, batch_size=5, epochs=40, verbose=0)
        means[factor].append(to_numpy(grn(x)[1]).mean())
        assert grn.depth_bias.trainable == bool(factor)
        if factor:
            assert means[factor][-1] < min(before, 1.2)
    assert np.mean(means[5.0]) < np.mean(means[0.0])


@pytest.mark.short_run("torch")
def test_float32_is_within_1e_5():
    """At a realistic size and depth, with given depths."""
    rng = np.random.default_rng(0)
    layer = layers.DepthAdaptiveGRN(32, return_sequences=True, return_state=True, return_depths=True)
    x = rng.normal(size=(2, 20, 16)).astype("float32")
    mask = np.array([[True] * 20, [False] * 4 + [True] * 12 + [False] * 4])
    depths = rng.integers(1, 10, size=mask.shape)
    found = evaluate(layer, x, mask, mode="eager", depths=depths).outputs
    weights = {_name(v.path): to_numpy(v) for v in layer.weights if v.dtype == "float32"}
    options = {"units": 32, "max_depth": 9, "selection": "gumbel", "sequential": "bilstm"}
    expected = depth_adaptive_grn(weights, x, mask, depths=depths * mask, **options)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)


def test_sentences_do_not_depend_on_their_batch():
    """g takes as many steps as the deepest word of its own sentence."""
    layer = _layer()
    depths = np.concatenate([np.ones_like(DEPTHS[:1]), np.full_like(DEPTHS[:1], L)])
    with dtype_policy("float64"):
        together = layer(X[:2], depths=depths)
        for row in (0, 1):
            for one, other in zip(together, layer(X[row : row + 1], depths=depths[row : row + 1]), strict=True):
                np.testing.assert_allclose(to_numpy(one)[row], to_numpy(other)[0], **EXACT)


def test_number_of_parameters_is_that_of_the_equations():
    e, d, s, depth = 5, 4, 3, 9
    layer = layers.DepthAdaptiveGRN(d, depth, depth_units=s)
    layer.build((None, None, e))
    half = d // 2
    bilstm = 2 * 4 * (e * half + half * half + half)
    classifier = (d * s + s) + (s * depth + depth) + (s * d + d)
    word, node = 7 * (4 * d * d + (e + s) * d + d), 3 * (2 * d * d + d)
    assert layer.count_params() == bilstm + classifier + word + node


@pytest.mark.parametrize("dropped", ["dropout", "recurrent_dropout"])
def test_dropout_keeps_the_mean(dropped):
    layer = layers.DepthAdaptiveGRN(64, 3, selection="full", sequential=None, seed=1, **{dropped: 0.5})
    x = np.ones((16, 8, 32), "float32")
    layer.build(x.shape)
    found, expected = to_numpy(layer(x, training=True)), to_numpy(layer(x))
    assert np.max(np.abs(found - expected)) > 1e-3
    np.testing.assert_allclose(found.mean(), expected.mean(), atol=0.02)


def test_the_activity_regulariser_is_of_the_output():
    layer = _layer(activity_regularizer="l2", return_state=False, return_depths=False)
    outputs = to_numpy(layer(X))
    (loss,) = layer.losses  # none of the BiLSTM
    np.testing.assert_allclose(float(loss), 0.01 * np.sum(outputs**2) / len(X), rtol=1e-6)


def test_regularisers_and_constraints_reach_the_weights():
    layer = layers.DepthAdaptiveGRN(
        4, kernel_regularizer="l2", recurrent_constraint="non_neg", bias_constraint="unit_norm"
    )
    layer.build((None, None, 2))
    assert len(layer.losses) == 4 + 2  # including the two kernels of the BiLSTM
    assert layer.node_kernel.constraint is not None
    assert layer.kernel.constraint is None
    assert layer.inner_bias.constraint is not None


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"units": 0}, "`units` must be an integer of at least 2, but got 0"),
        ({"units": 1}, "`units` must be an integer of at least 2, but got 1"),
        ({"units": 2, "max_depth": 0}, "`max_depth` must be an integer of at least 1, but got 0"),
        ({"units": 2, "selection": "best"}, '`selection` must be "gumbel", .* but got .best.'),
        (
            {"units": 2, "sequential": "lstm"},
            '`sequential` must be "bilstm", .* or None, but got .lstm.',
        ),
        ({"units": 2, "sequential": "learned"}, "Pass `max_length` if .* got max_length=None"),
        ({"units": 2, "max_length": 9}, "Pass `max_length` if .* got max_length=9"),
        (
            {"units": 2, "max_length": 0, "sequential": "learned"},
            "`max_length` must be an integer of at least 1, but got 0",
        ),
        ({"units": 2, "depth_units": 0}, "`depth_units` must be an integer of at least 1, but got 0"),
        ({"units": 2, "depth_penalty": -1}, "`depth_penalty` must be a number of at least 0, but got -1"),
        ({"units": 2, "depth_penalty": "l2"}, "`depth_penalty` must be a number of at least 0, but got 'l2'"),
        ({"units": 2, "depth_penalty": 1.0, "selection": "full"}, "must be 0 with selection"),
        ({"units": 2, "dropout": 1}, r"`dropout` must be in \[0, 1\), but got 1"),
        ({"units": 2, "recurrent_dropout": "a"}, r"`recurrent_dropout` must be in \[0, 1\), but got 'a'"),
        ({"units": 2, "return_depths": None}, "`return_depths` must be True or False, but got None"),
    ],
)
def test_wrong_arguments(kwargs, message):
    with pytest.raises(ValueError, match=message):
        layers.DepthAdaptiveGRN(**kwargs)


def test_input_and_mask_must_match():
    with pytest.raises(ValueError, match="expected ndim=3"):
        layers.DepthAdaptiveGRN(2)(np.zeros((2, 3), "float32"))
    with pytest.raises(ValueError, match=r"mask of shape \(batch, time\)"):
        layers.DepthAdaptiveGRN(2)(np.zeros((2, 3, 4), "float32"), mask=np.ones((2, 3, 1), bool))
    for shape in ((2,), (2, 1), (2, 3, 1)):
        with pytest.raises(ValueError, match=r"depths of shape \(batch, time\)"):
            layers.DepthAdaptiveGRN(2)(np.zeros((2, 3, 4), "float32"), depths=np.ones(shape, "int32"))


def test_a_mask_given_as_depths_is_refused():
    """Passed by position, as the mask of other layers."""
    with pytest.raises(ValueError, match=r"expects integers as depths, but got bools.* by name"):
        layers.DepthAdaptiveGRN(2)(np.zeros((2, 3, 4), "float32"), np.ones((2, 3), bool))


@pytest.mark.skipif(BACKEND == "jax", reason="JAX has no 64-bit integers")
def test_depths_are_clipped_before_they_are_cast():
    layer = layers.DepthAdaptiveGRN(2, max_depth=3, return_depths=True)
    _, found = layer(np.zeros((1, 2, 4), "float32"), depths=np.array([[2**40, -(2**40)]]))
    assert to_numpy(found).tolist() == [[3, 1]]


def test_depths_of_words_before_the_first_call():
    layer = layers.DepthAdaptiveGRN(2, max_depth=3, selection="hard")
    assert to_numpy(layer.word_depths(np.zeros((2, 5, 4), "float32"))).shape == (2, 5)


def test_former_name_of_the_penalty_loads():
    layer = layers.DepthAdaptiveGRN(2, depth_penalty=0.5)
    config = layer.get_config()
    config["depth_regularizer"] = config.pop("depth_penalty")
    assert layers.DepthAdaptiveGRN.from_config(config).depth_penalty == 0.5


@pytest.mark.parametrize("batch", [1, 2])
def test_recurrent_dropout_without_a_word(batch):
    layer = layers.DepthAdaptiveGRN(3, 2, recurrent_dropout=0.5, return_sequences=True, return_state=True)
    outputs = layer(np.zeros((batch, 0, 4), "float32"), training=True)
    assert [tuple(y.shape) for y in outputs] == [(batch, 0, 3), (batch, 3), (batch, 3)]
    assert not np.any(to_numpy(outputs[1]))
