from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_slstm import ScorePearson
from tests.backend import dtype_policy
from tests.oracles import pair_classifier


def distributions(count, seed):
    return np.random.default_rng(seed).dirichlet(np.ones(5) * 0.3, count)


@pytest.mark.parametrize("weighted", [False, True])
def test_pearson_equals_that_of_all_pairs(weighted):
    true, found = distributions(103, 0), distributions(103, 1)
    found = 0.4 * true + 0.6 * found
    weights = np.random.default_rng(2).uniform(0, 2, 103) if weighted else np.ones(103)
    weights[50:60] = 0.0 if weighted else 1.0
    levels = np.arange(1, 6)
    expected = pair_classifier.pearson(true @ levels, found @ levels, weights)
    metric = ScorePearson()
    for _ in range(2):  # the result covers only the time since the last reset
        for part in np.split(np.arange(103), [1, 30, 70]):
            options = {"sample_weight": weights[part].astype("float32")} if weighted else {}
            metric.update_state(true[part].astype("float32"), found[part].astype("float32"), **options)
        assert float(metric.result()) == pytest.approx(expected, abs=1e-5)
        metric.reset_state()
    assert 0.3 < expected < 0.9


def test_pearson_in_float64():
    with dtype_policy("float64"):
        true, found = distributions(50, 3), distributions(50, 4)
        metric = ScorePearson(dtype="float64")
        metric.update_state(keras.ops.convert_to_tensor(true, "float64"), keras.ops.convert_to_tensor(found, "float64"))
        expected = pair_classifier.pearson(true @ np.arange(5), found @ np.arange(5), np.ones(50))
        assert float(metric.result()) == pytest.approx(expected, abs=1e-12)


def test_pearson_without_variation_is_zero():
    metric = ScorePearson()
    assert float(metric.result()) == 0
    true = distributions(40, 0).astype("float32")
    equal = np.tile(np.float32([0.1, 0.2, 0.3, 0.3, 0.1]), (40, 1))
    middle = np.full((40, 5), 0.2, "float32")  # in float32, not exactly the middle level
    for pair in ((true, equal), (equal, true), (equal, equal), (true, middle)):
        metric.reset_state()
        metric.update_state(*pair)
        assert float(metric.result()) == 0


@pytest.mark.parametrize("width", [1e-2, 1e-3, 1e-4])
def test_pearson_of_predictions_that_vary_little(width):
    """Predictions early in a training are nearly uniform."""
    true, metric = distributions(2000, 5), ScorePearson()
    found = width * true + (1 - width) / 5
    for part in np.split(np.arange(2000), 20):
        metric.update_state(true[part].astype("float32"), found[part].astype("float32"))
    assert float(metric.result()) == pytest.approx(1, abs=1e-3)


def test_pearson_signs_and_config():
    metric = ScorePearson.from_config(ScorePearson(name="r").get_config())
    assert metric.name == "r"
    true = distributions(40, 0).astype("float32")
    metric.update_state(true, true[:, ::-1].copy())
    assert float(metric.result()) == pytest.approx(-1, abs=1e-5)
