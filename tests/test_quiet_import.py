"""Tests of the import that keeps TensorFlow quiet."""

from __future__ import annotations

import logging
import os

import pytest

from keras_slstm.quiet_import import import_keras, without_chatter
from tests.processes import run_python

CHATTER = b"WARNING: All log messages before absl::InitializeLog() is called\nI0000 00:00:17.1 14 port.cc:153] oneDNN\n"


def test_other_output_is_shown(capfd):
    with without_chatter():
        os.write(2, CHATTER + b"something is wrong\n")
    assert capfd.readouterr().err == "something is wrong\n"


def test_output_is_shown_if_the_import_fails(capfd):
    with pytest.raises(ImportError):
        fail_to_import()
    assert capfd.readouterr().err == "a library is missing\n"


@without_chatter()
def fail_to_import():
    os.write(2, CHATTER + b"a library is missing\n")
    raise ImportError


@pytest.mark.backends("tensorflow")
def test_tensorflow_is_quiet_on_request():
    code = "import keras_slstm, keras; keras.ops.zeros(1)"
    done = run_python("-c", code, KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("asked", "before", "after"),
    [
        ("3", logging.NOTSET, logging.ERROR),
        ("2", logging.NOTSET, logging.ERROR),
        ("1", logging.NOTSET, logging.NOTSET),
        (None, logging.NOTSET, logging.NOTSET),
        ("3", logging.DEBUG, logging.DEBUG),  # somebody has chosen
    ],
)
def test_retracing_warnings_follow_the_log_level(asked, before, after, monkeypatch):
    log = logging.getLogger("tensorflow")
    monkeypatch.setattr(log, "level", before)
    if asked is None:
        monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
    else:
        monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", asked)
    import_keras()
    assert log.level == after


@pytest.mark.backends("torch")
@pytest.mark.short_run
def test_tensorflow_is_quiet_on_other_backends():
    """Keras imports it there too, but later: here to set a seed. Its loader stays one of Python's."""
    code = (
        "import keras_slstm, keras, sys, importlib.machinery as m; assert 'tensorflow' not in sys.modules; "
        "keras.utils.set_random_seed(0); assert isinstance(sys.modules['tensorflow'].__loader__, m.SourceFileLoader)"
    )
    done = run_python("-c", code, KERAS_BACKEND="torch", TF_CPP_MIN_LOG_LEVEL="3")
    assert (done.returncode, done.stderr) == (0, "")
