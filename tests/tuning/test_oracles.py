"""The oracles of the search."""

from __future__ import annotations

import warnings

import pytest

pytest.importorskip("keras_tuner")

from sklearn.exceptions import ConvergenceWarning

from keras_slstm.tuning import oracles


def test_the_gaussian_process_is_quiet(monkeypatch, tmp_path):
    def populate_space(self, trial_id):
        warnings.warn("The optimal value is close to its bound.", ConvergenceWarning, stacklevel=2)
        return {"status": oracles.TrialStatus.STOPPED, "values": None}

    monkeypatch.setattr(oracles.BayesianOptimizationOracle, "populate_space", populate_space)
    oracle = oracles.BayesianOracle(objective="loss", max_trials=3)
    oracle.trials = {"0": None}  # the first trial takes the defaults
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert oracle.populate_space("1")["status"] == oracles.TrialStatus.STOPPED
