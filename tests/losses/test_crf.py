"""The reductions and weights of `CRFLoss` against the enumeration of all label sequences."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from keras import ops

from keras_slstm import CRFLoss
from keras_slstm.ops.crf_potentials import pack
from tests.backend import BACKEND, dtype_policy, to_numpy
from tests.oracles import crf as oracle

pytestmark = pytest.mark.short_run("tensorflow", "torch")  # JAX compiles each case, so only `--ci` runs them

K, TIME = 3, 4
_rng = np.random.default_rng(0)
UNARY = _rng.normal(size=(4, TIME, K))
TRANSITIONS = _rng.normal(size=(K, K))
MASK = np.array([[1, 1, 1, 1], [0, 1, 1, 0], [1, 0, 1, 1], [0, 0, 0, 0]], bool)
LABELS = np.array([[0, 1, 2, 0], [9, 2, 1, 9], [1, -5, 0, 2], [0, 0, 0, 0]])
PARTLY = np.array([[0, -1, 2, -1], [0, -1, -1, 0], [1, 0, 0, 2], [0, 0, 0, 0]])
WEIGHTS = np.array([1.0, 0.5, 2.0, 7.0])
WORD_WEIGHTS = _rng.uniform(size=(4, TIME))

SCORES = [oracle.enumerate_scores(unary, TRANSITIONS, mask) for unary, mask in zip(UNARY, MASK)]


def _potentials():
    return pack(*(ops.convert_to_tensor(x) for x in (np.where(MASK[..., None], UNARY, 0), TRANSITIONS, MASK)))


def _loss(labels, weights=None, **options):
    with dtype_policy("float64"):
        return to_numpy(CRFLoss(**options)(labels, _potentials(), sample_weight=weights))


def _by_sentence(labels):
    return np.array([-oracle.log_likelihood(*row) for row in zip(SCORES, MASK, labels)])


@pytest.mark.parametrize("labels", [LABELS, PARTLY], ids=["known", "partly known"])
def test_reductions(labels):
    losses = _by_sentence(labels)
    np.testing.assert_allclose(_loss(labels, reduction=None), losses, atol=1e-12)
    np.testing.assert_allclose(_loss(labels, reduction="none"), losses, atol=1e-12)
    np.testing.assert_allclose(_loss(labels), losses.mean(), rtol=0, atol=1e-12)
    np.testing.assert_allclose(_loss(labels, reduction="mean"), losses.mean(), rtol=0, atol=1e-12)
    np.testing.assert_allclose(_loss(labels, reduction="sum"), losses.sum(), atol=1e-12)
    np.testing.assert_allclose(_loss(labels, reduction="token_mean"), losses.sum() / MASK.sum(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", [(4,), (4, 1)])
def test_weights_of_sentences(shape):
    expected = WEIGHTS * _by_sentence(LABELS)
    found = _loss(LABELS, WEIGHTS.reshape(shape), reduction=None)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(_loss(LABELS, WEIGHTS.reshape(shape), reduction="sum"), expected.sum(), atol=1e-12)


def test_weights_of_words():
    words = np.array([oracle.token_log_likelihood(*row) for row in zip(SCORES, MASK, PARTLY)])
    found = _loss(PARTLY, WORD_WEIGHTS, reduction=None)
    np.testing.assert_allclose(found, -(words * WORD_WEIGHTS).sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(_loss(PARTLY, np.ones_like(WORD_WEIGHTS)), _loss(PARTLY), atol=1e-12)


def test_a_batch_without_words_has_zero_loss():
    potentials = _potentials()[3:]
    for reduction in ("mean", "sum", "token_mean"):
        assert float(CRFLoss(reduction=reduction)(LABELS[3:], potentials)) == 0


def test_config():
    loss = CRFLoss("token_mean", name="nll", dtype="float64", ignore_class=-100)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(loss))
    assert (again.reduction, again.name, again.ignore_class) == ("token_mean", "nll", -100)
    assert again.get_config() == loss.get_config()


def test_an_empty_batch_has_zero_loss():
    for reduction in ("mean", "sum", "token_mean"):
        assert ops.convert_to_numpy(CRFLoss(reduction=reduction)(LABELS[:0], _potentials()[:0])) == 0


@pytest.mark.skipif(BACKEND != "tensorflow", reason="tf.function is TensorFlow's")
def test_a_custom_training_loop_in_a_tf_function():
    import tensorflow as tf

    loss, potentials = CRFLoss(), tf.cast(_potentials(), "float32")
    np.testing.assert_allclose(tf.function(loss)(LABELS, potentials), _by_sentence(LABELS).mean(), rtol=1e-5)


@pytest.mark.parametrize("reduction", ["sum", "sum_over_batch_size"])
@pytest.mark.skipif(BACKEND != "tensorflow", reason="MirroredStrategy is TensorFlow's")
def test_two_replicas_have_the_loss_of_one(reduction):
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"], tf.distribute.ReductionToOneDevice())
    parts = [tf.constant(x) for x in (np.where(MASK[..., None], UNARY, 0), LABELS, MASK)]
    transitions = tf.constant(TRANSITIONS)

    def loss_and_gradients(unary, labels, mask):
        with tf.GradientTape() as tape:
            tape.watch(transitions)
            loss = CRFLoss(reduction, dtype="float64")(labels, pack(unary, transitions, mask))
        return loss, tape.gradient(loss, transitions)

    expected = loss_and_gradients(*parts)
    dataset = tf.data.Dataset.from_tensor_slices(tuple(parts)).batch(4)
    (batch,) = strategy.experimental_distribute_dataset(dataset)
    found = [strategy.reduce("SUM", x, axis=None) for x in strategy.run(loss_and_gradients, batch)]
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_bad_input_is_explained():
    with pytest.raises(ValueError, match="'average'"):
        CRFLoss("average")
    with pytest.raises(ValueError, match=r"weights of shape \(3,\)"):
        _loss(LABELS, WEIGHTS[:3])
    with pytest.raises(ValueError, match=r"weights of shape \(4, 3\)"):
        _loss(LABELS, WORD_WEIGHTS[:, :3])
    with pytest.raises(ValueError, match="label"):
        _loss(LABELS[:, :3])
    with pytest.raises(ValueError, match="3"):
        _loss(np.where(MASK, 3, 0))


def test_the_mean_over_a_single_word_is_its_loss():
    with dtype_policy("float64"):
        one = pack(*(ops.convert_to_tensor(x) for x in (UNARY[:1, :1], TRANSITIONS, MASK[:1, :1])))
        mean, whole = (CRFLoss(reduction=name)(LABELS[:1, :1], one) for name in ("token_mean", "sum"))
    assert float(mean) == pytest.approx(float(whole), abs=1e-12)
