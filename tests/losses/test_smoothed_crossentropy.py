import keras
import numpy as np
import pytest

from keras_slstm import SmoothedCrossentropy

P = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]], "float32")
Y = np.array([0, 1, 2])


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("labels", [Y, Y[:, None]], ids=["row", "column"])
def test_label_smoothing_spreads_probability_over_all_labels(smoothing, labels):
    q = (1 - smoothing) * np.eye(3)[Y] + smoothing / 3
    expected = -np.sum(q * np.log(P), axis=1)
    found = keras.ops.convert_to_numpy(SmoothedCrossentropy(smoothing, reduction=None)(labels, P))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(float(SmoothedCrossentropy(smoothing)(labels, P)), expected.mean(), rtol=1e-5)


def test_weights_and_config():
    loss = keras.losses.deserialize(keras.losses.serialize(SmoothedCrossentropy(0.2, reduction="sum")))
    assert loss.label_smoothing == 0.2
    one = float(loss(Y[:1], P[:1]))
    assert float(loss(Y, P, sample_weight=np.array([2.0, 0.0, 0.0], "float32"))) == pytest.approx(2 * one, rel=1e-5)


@pytest.mark.parametrize("smoothing", [-0.1, 1.0, "a"])
def test_smoothing_is_a_share(smoothing):
    with pytest.raises(ValueError, match=r"`label_smoothing` must be in \[0, 1\)"):
        SmoothedCrossentropy(smoothing)
