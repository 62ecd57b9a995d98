"""`CRF` and `CRFDecoder` against the enumeration of all label sequences."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from keras import ops

import keras_slstm
from keras_slstm import layers
from keras_slstm.ops.crf import PENALTY
from keras_slstm.ops.crf_potentials import unpack
from tests.backend import BACKEND, dtype_policy, to_numpy
from tests.layer_case import randomize
from tests.oracles import crf as oracle

pytestmark = pytest.mark.short_run("tensorflow", "torch")  # JAX compiles each case, so only `--ci` runs them

FEATURES = 4
H = np.random.default_rng(0).normal(size=(6, 5, FEATURES))
MASK = np.array(
    [[1, 1, 1, 1, 1], [0, 0, 1, 1, 1], [1, 1, 0, 0, 0], [1, 0, 1, 0, 1], [0, 0, 0, 1, 0], [0, 0, 0, 0, 0]], bool
)
BIO = ["O", "B-X", "I-X", "B-Y"]
BIOES = ["O", "B-X", "I-X", "E-X", "S-X"]
# For each label, the labels that may follow it; then the labels that may begin, and those that may end.
ALLOWED = {
    None: ([{0, 1, 2, 3}] * 4, {0, 1, 2, 3}, {0, 1, 2, 3}),
    "BIO": ([{0, 1, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 3}], {0, 1, 3}, {0, 1, 2, 3}),
    "BIOES": ([{0, 1, 4}, {2, 3}, {2, 3}, {0, 1, 4}, {0, 1, 4}], {0, 1, 4}, {0, 3, 4}),
}
VARIANTS = [
    {"units": 4},
    {"units": 4, "use_boundary": False},
    {"units": 4, "use_kernel": False},
    {"units": 4, "pairwise": True},
    {"units": 4, "pairwise": True, "use_boundary": False},
    {"labels": BIO},
    {"labels": BIO, "scheme": "BIO"},
    {"labels": BIO, "scheme": "BIO", "pairwise": True},
    {"labels": BIOES, "scheme": "BIOES"},
]


def _layer(**options):
    with dtype_policy("float64"):
        layer = layers.CRF(**options)
        layer.build((None, None, FEATURES))
        randomize(layer)
    return layer


def _scores(layer):
    """Return all label sequences of each sentence, with their scores."""
    k = layer.units
    follows, first, last = ALLOWED[layer.scheme]
    allowed = np.array([[y in after for y in range(k)] for after in follows])
    ends = [np.array([y in group for y in range(k)]) for group in (first, last)]
    weights = {weight.name: to_numpy(weight) for weight in layer.weights}
    rows = [oracle.potentials(h, mask, weights, ends[0], allowed, ends[1]) for h, mask in zip(H, MASK)]
    return [oracle.enumerate_scores(*row, mask) for row, mask in zip(rows, MASK)]


@pytest.mark.parametrize("options", VARIANTS, ids=lambda options: "-".join(map(str, options.values())))
def test_layer_matches_the_enumeration_of_all_sequences(options):
    layer = _layer(**options)
    with dtype_policy("float64"):
        potentials = layer(H, mask=MASK)
        found = to_numpy(keras_slstm.crf_log_partition(potentials))
        decoded = to_numpy(keras_slstm.crf_decode(potentials))
        marginals = to_numpy(keras_slstm.crf_marginals(potentials))
    for row, scores in enumerate(_scores(layer)):
        np.testing.assert_allclose(found[row], oracle.log_partition(scores), atol=1e-12)
        np.testing.assert_array_equal(decoded[row], oracle.in_place(max(scores, key=scores.get), MASK[row]))
        expected = oracle.marginals(scores, MASK[row], layer.units)
        np.testing.assert_allclose(marginals[row], expected, atol=1e-12)


def test_one_tensor_contains_scores_transitions_and_mask():
    layer = _layer(units=4, use_boundary=False)
    with dtype_policy("float64"):
        parts = unpack(layer(H, mask=MASK))
    unary = np.where(MASK[..., None], H @ to_numpy(layer.kernel) + to_numpy(layer.bias), 0)
    np.testing.assert_allclose(to_numpy(parts.unary), unary, atol=1e-12)
    np.testing.assert_array_equal(to_numpy(parts.transitions), to_numpy(layer.chain_kernel))
    np.testing.assert_array_equal(to_numpy(parts.mask), MASK)


@pytest.mark.parametrize("pairwise", [False, True])
def test_the_output_has_the_promised_shape(pairwise):
    layer = layers.CRF(3, pairwise=pairwise)
    assert layer.compute_output_shape(H.shape) == tuple(layer(H.astype("float32")).shape)
    unknown = layer.compute_output_shape((None, None, FEATURES))
    assert unknown == ((None, None, 4, 4) if pairwise else (None, None, 4))


def test_without_a_mask_all_words_are_real():
    layer = _layer(units=4)
    with dtype_policy("float64"):
        np.testing.assert_array_equal(to_numpy(layer(H)), to_numpy(layer(H, mask=np.ones_like(MASK))))


def test_the_likelihood_excludes_forbidden_sequences():
    layer = _layer(labels=BIO, scheme="BIO")
    with dtype_policy("float64"):
        potentials = layer(H[:1, :2])
        likelihoods = {
            (a, b): float(to_numpy(keras_slstm.crf_log_likelihood(potentials, np.array([[a, b]])))[0])
            for a in range(4)
            for b in range(4)
        }
    allowed = {pair: value for pair, value in likelihoods.items() if pair[0] != 2 and pair not in [(0, 2), (3, 2)]}
    assert sum(np.exp(value) for value in allowed.values()) == pytest.approx(1)
    for pair in set(likelihoods) - set(allowed):
        assert likelihoods[pair] < 0.9 * PENALTY
    assert likelihoods[2, 2] > 1.1 * PENALTY  # one violation: I may follow I


@pytest.mark.short_run("torch", "jax")
def test_a_sequential_model_learns_with_plain_compile_and_is_saved(tmp_path):
    words = np.random.default_rng(1).integers(1, 7, size=(32, 6))
    words[:8, 4:] = words[8:16, :2] = 0
    # B at each 3, and I after it: the label of a word depends on its neighbour.
    labels = np.where(words == 3, 1, 0)
    labels[:, 1:] = np.where((labels[:, :-1] == 1) & (words[:, 1:] > 0) & (words[:, 1:] != 3), 2, labels[:, 1:])
    model = keras.Sequential(
        [
            keras.layers.Embedding(7, 8, mask_zero=True),
            layers.SLSTM(8, steps=2, return_sequences=True),
            layers.CRF(labels=["O", "B-X", "I-X"], scheme="BIO"),
        ]
    )
    # PyTorch's compiler takes minutes.
    model.compile(
        keras.optimizers.Adam(0.05),
        loss=keras_slstm.CRFLoss(),
        metrics=[keras_slstm.CRFAccuracy()],
        jit_compile=BACKEND != "torch",
    )
    history = model.fit(words, labels, epochs=30, verbose=0).history
    assert history["loss"][-1] < 0.3 * history["loss"][0]
    assert model.evaluate(words, labels, verbose=0, return_dict=True)["crf_accuracy"] > 0.9
    model.save(tmp_path / "tagger.keras")
    loaded = keras.saving.load_model(tmp_path / "tagger.keras")
    np.testing.assert_allclose(loaded.predict(words, verbose=0), model.predict(words, verbose=0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("pairwise", [False, True])
def test_decoder_returns_labels_and_marginals(pairwise):
    layer = _layer(units=4, pairwise=pairwise)
    with dtype_policy("float64"):
        potentials = layer(H, mask=MASK)
        labels, probabilities = layers.CRFDecoder(return_probabilities=True)(potentials)
        alone = layers.CRFDecoder()(potentials)
    labels, probabilities = to_numpy(labels), to_numpy(probabilities)
    np.testing.assert_array_equal(to_numpy(alone), labels)
    for row, scores in enumerate(_scores(layer)):
        expected = oracle.marginals(scores, MASK[row], 4)
        for t in range(5):
            right = expected[t, labels[row, t]] if MASK[row, t] else 0
            assert probabilities[row, t] == pytest.approx(right, abs=1e-12)
    assert (labels[~MASK] == 0).all()


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float16"])
def test_computes_in_at_least_float32(policy):
    with dtype_policy(policy):
        layer = layers.CRF(3)
        potentials = layer(ops.cast(H, keras.config.dtype_policy().compute_dtype), mask=MASK)
    assert keras.backend.standardize_dtype(potentials.dtype) == "float32"
    assert keras.backend.standardize_dtype(keras_slstm.crf_log_partition(potentials).dtype) == "float32"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs `units`"),
        ({"units": 0}, "units"),
        ({"units": 3, "labels": BIO}, "number of `labels`, 4, but got 3"),
        ({"labels": "OBI"}, "list of names"),
        ({"labels": {"O"}}, r"in the order of their numbers, but got \{'O'\}"),
        ({"labels": {"O": 0}}, r"in the order of their numbers, but got \{'O': 0\}"),
        ({"labels": ["O", "B-X", "I-Y"], "scheme": "BIO"}, "with 'I-Y'"),
        ({"labels": ["O", "O"]}, "'O' repeat"),
        ({"units": 3, "scheme": "BIO"}, "Pass the label names"),
        ({"labels": ["O", "X"], "scheme": "BIO"}, "'X'"),
        ({"labels": BIO, "scheme": "IOB1"}, "IOB1"),
        ({"units": 3, "pairwise": True, "use_kernel": False}, "use_kernel"),
        ({"units": 3, "engine": "tfa"}, "'tfa'"),
        ({"units": 3, "engine": "addons", "pairwise": True}, "no pairwise form"),
        ({"units": 3, "use_boundary": 1}, "use_boundary"),
    ],
)
def test_bad_arguments_are_explained(options, message):
    with pytest.raises(ValueError, match=message):
        layers.CRF(**options)


def test_bad_inputs_are_explained():
    with pytest.raises(ValueError, match="a score for each of its 3 labels"):
        layers.CRF(3, use_kernel=False)(H)
    with pytest.raises(ValueError, match=r"expects a mask of shape \(batch, time\)"):
        layers.CRF(3)(H, mask=MASK[:, :3])
    with pytest.raises(ValueError, match="output of a `CRF` layer"):
        keras_slstm.crf_decode(H[..., :2, 0])
    with pytest.raises(ValueError, match="output of a `CRF` layer"):
        layers.CRFDecoder()(H[:, :2])
    probabilities = np.full((2, 7, 5), 0.2)
    with pytest.raises(ValueError, match=r"with the mask, 0 or 1, in the last column of each word, but got 0\.2"):
        keras_slstm.crf_decode(probabilities)


@pytest.mark.parametrize("dtype", ["int32", "bool"])
def test_integers_are_cast(dtype):
    layer, x = layers.CRF(3), H > 0
    np.testing.assert_array_equal(to_numpy(layer(x.astype(dtype))), to_numpy(layer(x.astype("float32"))))


@pytest.mark.parametrize("pairwise", [False, True])
@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0)])
def test_empty_batches_and_sentences(shape, pairwise):
    potentials = layers.CRF(3, pairwise=pairwise)(np.zeros((*shape, FEATURES), "float32"))
    labels, probabilities = layers.CRFDecoder(return_probabilities=True)(potentials)
    assert labels.shape == probabilities.shape == shape


@pytest.mark.skipif(BACKEND == "tensorflow", reason="the engine runs on TensorFlow")
def test_engine_addons_names_the_backend_it_needs():
    with pytest.raises(ValueError, match="runs on the TensorFlow backend"):
        layers.CRF(3, engine="addons")
