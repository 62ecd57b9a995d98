"""Trainings reported to fail in Keras' `fit` still fail there, and work with `keras_slstm.distribute.fit`."""

import ast
import importlib.util
import re

import pytest

from tests.processes import ROOT, run_python

REPORTS = ROOT / "docs" / "guides" / "reports"
pytestmark = pytest.mark.ci_run
needs_tensorflow = pytest.mark.backends("tensorflow")


def run(name):
    """Run a program in two processes."""
    return run_python("-m", "keras_slstm.distribute", "--workers", 2, REPORTS / name)


def check_trained(found):
    assert found.returncode == 0, found.stderr
    losses = ast.literal_eval(re.search(r"losses: (.*)", found.stdout)[1])
    assert losses[-1] < losses[0]


@needs_tensorflow
@pytest.mark.parametrize("name", ["multi_worker", "dictionaries"])
def test_keras_fit_fails(name):
    found = run(f"{name}.py")
    assert found.returncode != 0, "Keras has fixed this: update docs/guides/reports.md"
    assert "Attempt to convert a value" in found.stdout + found.stderr


@needs_tensorflow
@pytest.mark.parametrize("name", ["multi_worker", "dictionaries"])
def test_distribute_fit_trains(name):
    check_trained(run(f"{name}_distribute.py"))


@needs_tensorflow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs ray[train]")
@pytest.mark.parametrize("remedy", [True, False])
def test_ray_train(remedy):
    found = run_python(REPORTS / "ray_trainer.py", *([] if remedy else ["--keras"]))
    if remedy:
        check_trained(found)
    else:
        assert found.returncode != 0
        assert "Attempt to convert a value" in found.stdout + found.stderr


@pytest.mark.backends("jax")
def test_an_lstm_on_two_devices_matches_keras_fit():
    flags = "--xla_force_host_platform_device_count=2"
    losses = []
    for name in ("lstm.py", "lstm_distribute.py"):
        found = run_python(REPORTS / name, XLA_FLAGS=flags, KERAS_BACKEND="jax")
        check_trained(found)
        losses.append(ast.literal_eval(re.search(r"losses: (.*)", found.stdout)[1]))
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
