"""The checks of arguments and input shapes in every layer with weights."""

from __future__ import annotations

import json

import keras
import numpy as np
import pytest

from keras_slstm import layers

MAKERS = [layers.AttentionPooling, lambda: layers.CASLSTM(2), lambda: layers.NormalizedLSTM(2), lambda: layers.SLSTM(2)]


@pytest.mark.parametrize("make", MAKERS)
def test_number_of_features_is_fixed_when_built(make):
    layer = make()
    layer(np.zeros((2, 3, 4), "float32"))
    with pytest.raises(ValueError, match="expected axis -1 of input shape to have value 4"):
        layer(np.zeros((2, 3, 5), "float32"))


@pytest.mark.parametrize("make", [*MAKERS, lambda: keras.layers.RNN(layers.NormalizedLSTMCell(2))])
def test_number_of_features_must_be_known(make):
    with pytest.raises(ValueError, match="needs to know the number of features"):
        make()(keras.Input((None, None)))


@pytest.mark.parametrize("layer_class", [layers.CASLSTM, layers.NormalizedLSTM, layers.SLSTM])
def test_numpy_numbers_are_accepted(layer_class):
    config = layer_class(np.int64(2), dropout=np.float32(0.5), recurrent_dropout=np.float16(0.25)).get_config()
    assert (config["units"], config["dropout"], config["recurrent_dropout"]) == (2, 0.5, 0.25)
    json.dumps(config)  # as Python's own numbers
