"""The arguments of `CASLSTM`, its first weights, and its errors."""

from __future__ import annotations

import re

import numpy as np
import pytest

from keras_slstm import layers
from tests.backend import to_numpy
from tests.layers.test_cas_lstm import D, E, X

pytestmark = pytest.mark.short_run("torch")


def test_number_of_parameters_is_that_of_the_paper():
    """(d_{l-1} + d_l + 1) 5 d_l in layer l > 1 (its footnote 1); 2.9M with the 1024-d classifier of Table 1."""
    e, d = 5, 3
    layer = layers.CASLSTM(d, num_layers=3)
    layer.build((None, None, e))
    assert layer.count_params() == (e + d + 1) * 4 * d + 2 * (d + d + 1) * 5 * d


def test_forget_gates_start_open():
    cell = layers.CASLSTMCell(D, num_layers=3)
    cell.build((None, E))
    for bias in cell.biases[1:]:
        np.testing.assert_array_equal(np.reshape(to_numpy(bias), (5, D))[:, 0], [0, 1, 0, 0, 1])
    np.testing.assert_array_equal(np.reshape(to_numpy(cell.biases[0]), (4, D))[:, 0], [0, 1, 0, 0])
    cell = layers.CASLSTMCell(D, unit_forget_bias=False, bias_initializer="ones")
    cell.build((None, E))
    assert all(np.all(to_numpy(bias) == 1) for bias in cell.biases)


def test_layers_start_with_different_weights():
    cell = layers.CASLSTMCell(D, num_layers=3)
    cell.build((None, D))
    for weights in (cell.kernels, cell.recurrent_kernels):
        assert np.max(np.abs(to_numpy(weights[1]) - to_numpy(weights[2]))) > 1e-3


def test_trainable_lam_starts_in_the_middle():
    found, expected = (layers.CASLSTM(D, lam=lam, kernel_initializer="ones") for lam in ("trainable", 0.5))
    for layer in (found, expected):
        layer.build(X.shape)
    for one, other in zip(found.cell.recurrent_kernels, expected.cell.recurrent_kernels):
        one.assign(other)
    x = X.astype("float32")
    np.testing.assert_allclose(to_numpy(found(x)), to_numpy(expected(x)), atol=1e-6)


def test_arguments_reach_the_weights():
    layer = layers.CASLSTM(2, peephole=True, kernel_regularizer="l2", peephole_initializer="ones")
    layer.build((None, None, 3))
    assert len(layer.losses) == 2
    np.testing.assert_array_equal(to_numpy(layer.cell.peepholes[1]), np.ones((2, 2)))
    assert [weight.name for weight in layer.weights] == [
        *("kernel_1", "recurrent_kernel_1", "bias_1"),
        *("kernel_2", "recurrent_kernel_2", "bias_2", "peephole_2"),
    ]


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"units": 0}, "`units` must be an integer of at least 1, but got 0"),
        ({"units": 2, "num_layers": 0}, "`num_layers` must be an integer of at least 1, but got 0"),
        ({"units": 2, "lam": 1.5}, r'`lam` must be a number in \[0, 1\], "trainable" or None, but got 1.5'),
        ({"units": 2, "lam": True}, "`lam` must be .* but got True"),
        ({"units": 2, "lam": "learned"}, "`lam` must be .* but got 'learned'"),
        ({"units": 2, "peephole": 1}, "`peephole` must be True or False, but got 1"),
        ({"units": 2, "peephole": True, "lam": "trainable"}, "`lam` must be None with `peephole`.* got 'trainable'"),
        ({"units": 2, "unit_forget_bias": "no"}, "`unit_forget_bias` must be True or False, but got 'no'"),
        ({"units": 2, "dropout": 1.0}, r"`dropout` must be in \[0, 1\), but got 1.0"),
        ({"units": 2, "layer_dropout": 2}, r"`layer_dropout` must be in \[0, 1\), but got 2"),
        ({"units": 2, "recurrent_dropout": -0.1}, r"`recurrent_dropout` must be in \[0, 1\), but got -0.1"),
    ],
)
def test_wrong_arguments(kwargs, message):
    with pytest.raises(ValueError, match=message):
        layers.CASLSTM(**kwargs)


def test_unroll_is_refused():
    with pytest.raises(TypeError, match="unroll"):
        layers.CASLSTM(2, unroll=True)


def test_input_mask_and_states_must_match():
    x = np.zeros((2, 3, 4), "float32")
    with pytest.raises(ValueError, match="expected ndim=3"):
        layers.CASLSTM(2)(x[:, 0])
    with pytest.raises(ValueError, match=r"mask of shape \(batch, time\)"):
        layers.CASLSTM(2)(x, mask=np.ones((2, 3, 1), bool))
    with pytest.raises(ValueError, match="expects 4 initial states, but got 2"):
        layers.CASLSTM(2)(x, initial_state=[np.zeros((2, 2), "float32")] * 2)
    with pytest.raises(ValueError, match="expects 4 initial states, but got 2"):
        layers.CASLSTM(2).vertical_gates(x, initial_state=[np.zeros((2, 2), "float32")] * 2)
    with pytest.raises(ValueError, match="expects 4 states, but got 2"):
        layers.CASLSTMCell(2)(x[:, 0], [np.zeros((2, 2), "float32")] * 2)
    for shape in ((1, 2), (2, 3), (2,)):
        states = [*[np.zeros((2, 2), "float32")] * 3, np.zeros(shape, "float32")]
        with pytest.raises(
            ValueError, match=r"\(batch, units\) = \(2, 2\), but state 4 has the shape " + re.escape(str(shape))
        ):
            layers.CASLSTMCell(2)(x[:, 0], states)
