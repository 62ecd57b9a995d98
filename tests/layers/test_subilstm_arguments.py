"""The arguments of `SuBiLSTM`, its first weights, and its errors."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from keras import ops

from keras_slstm import layers
from tests.backend import to_numpy
from tests.layers.test_subilstm import D, E

pytestmark = pytest.mark.short_run("torch")


def test_number_of_parameters_is_that_of_the_paper():
    """Tied weights are as many as those of a BiLSTM, untied twice as many."""
    bilstm = keras.layers.Bidirectional(keras.layers.LSTM(4))
    counts = {}
    for name, layer in {
        "bilstm": bilstm,
        "tied": layers.SuBiLSTM(4),
        "untied": layers.SuBiLSTM(4, tied=False),
        "gate": layers.SuBiLSTM(4, combine="gate"),
    }.items():
        layer.build((None, None, 5))
        counts[name] = layer.count_params()
    assert counts["tied"] == counts["bilstm"]
    assert counts["untied"] == 2 * counts["bilstm"]
    assert counts["gate"] == counts["bilstm"] + 2 * (8 * 4 + 4)


def test_forget_gates_start_open():
    layer = layers.SuBiLSTM(D)
    layer.build((None, None, E))
    for bias in layer.biases:
        np.testing.assert_array_equal(np.reshape(to_numpy(bias), (4, D))[:, 0], [0, 1, 0, 0])
    for options in ({"unit_forget_bias": False}, {"cell": "gru"}):
        layer = layers.SuBiLSTM(D, bias_initializer="ones", **options)
        layer.build((None, None, E))
        assert all(np.all(to_numpy(bias) == 1) for bias in layer.biases)


def test_recurrences_start_with_different_weights():
    layer = layers.SuBiLSTM(D, tied=False)
    layer.build((None, None, E))
    for weights in (layer.kernels, layer.recurrent_kernels):
        values = [to_numpy(weight) for weight in weights]
        assert all(np.max(np.abs(a - b)) > 1e-3 for i, a in enumerate(values) for b in values[:i])


def test_arguments_reach_the_weights():
    layer = layers.SuBiLSTM(2, tied=False, combine="gate", kernel_regularizer="l2", bias_initializer="ones")
    layer.build((None, None, 3))
    assert len(layer.losses) == 6
    names = ["forward_prefix", "forward_suffix", "backward_prefix", "backward_suffix"]
    parts = ["kernel", "recurrent_kernel", "bias"]
    assert [weight.name for weight in layer.weights] == [
        *(f"{name}_{part}" for name in names for part in parts),
        *(f"{direction}_combine_{part}" for direction in ("forward", "backward") for part in ("kernel", "bias")),
    ]
    assert np.all(to_numpy(layer.combine_biases[0]) == 1)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"units": 0}, "`units` must be an integer of at least 1, but got 0"),
        ({"units": 2, "tied": 1}, "`tied` must be True or False, but got 1"),
        ({"units": 2, "combine": "sum"}, "`combine` must be .* but got 'sum'"),
        ({"units": 2, "cell": "rnn"}, "`cell` must be .* but got 'rnn'"),
        ({"units": 2, "max_context": -1}, "`max_context` must be None, .* but got -1"),
        ({"units": 2, "max_context": 1.5}, "`max_context` must be None, .* but got 1.5"),
        ({"units": 2, "max_context": (3, 1)}, r"`max_context` must be None, .* but got \(3, 1\)"),
        ({"units": 2, "max_context": [3]}, r"`max_context` must be None, .* but got \[3\]"),
        ({"units": 2, "max_context": (0, True)}, r"`max_context` must be None, .* but got \(0, True\)"),
        ({"units": 2, "dropout": 1.0}, r"`dropout` must be in \[0, 1\), but got 1.0"),
        ({"units": 2, "recurrent_dropout": -0.1}, r"`recurrent_dropout` must be in \[0, 1\), but got -0.1"),
        ({"units": 2, "rematerialize": "full"}, "`rematerialize` must be True or False, but got 'full'"),
        ({"units": 2, "return_sequences": None}, "`return_sequences` must be True or False, but got None"),
    ],
)
def test_wrong_arguments_raise(kwargs, message):
    with pytest.raises(ValueError, match=message):
        layers.SuBiLSTM(**kwargs)


def test_wrong_shapes_raise():
    with pytest.raises(ValueError, match="needs to know the number of features"):
        layers.SuBiLSTM(2).build((None, None, None))
    with pytest.raises(ValueError, match=r"expects a mask of shape \(batch, time\)"):
        layers.SuBiLSTM(2)(ops.ones((2, 3, 4)), mask=ops.ones((2, 2), dtype="bool"))
