from __future__ import annotations

import multiprocessing
import os
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
import pytest

from keras_slstm.training.compile_once import compile_once

pytestmark = pytest.mark.backends("jax")


@pytest.fixture(autouse=True)
def without_a_folder(monkeypatch):
    """As if the user had chosen no folder. Even the fastest programs are kept."""
    import jax
    from jax.experimental.compilation_cache.compilation_cache import reset_cache

    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")  # for other processes
    names = ["jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs"]
    before = {name: getattr(jax.config, name) for name in names}
    for name, value in zip(names, (None, 0)):
        jax.config.update(name, value)
    reset_cache()
    yield
    for name, value in before.items():
        jax.config.update(name, value)
    reset_cache()


def _train(seed: int) -> None:
    keras.utils.set_random_seed(seed)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(5, "tanh"), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(np.ones((4, 3)), np.ones((4, 1)), verbose=0)


def _programs() -> set[str]:
    folder = Path(os.environ["JAX_COMPILATION_CACHE_DIR"])
    return {path.name for path in folder.iterdir() if path.name.startswith("jit_train_step")}


def test_another_seed_compiles_nothing_new():
    import jax

    hits = []
    jax.monitoring.register_event_listener(lambda event, **_: hits.append(event) if "cache_hit" in event else None)
    _train(0)  # a command may have compiled something before
    with compile_once():
        _train(0)
        programs, found = _programs(), len(hits)
        _train(1)
        assert _programs() == programs
    assert len(programs) == 1
    assert len(hits) > found
    with compile_once():  # with another folder
        _train(1)
        assert len(_programs()) == 1


def test_other_processes_share_the_programs():
    with compile_once():
        process = multiprocessing.get_context("spawn").Process(target=_train, args=(0,))
        process.start()
        process.join()
        assert process.exitcode == 0
        programs = _programs()
        _train(1)
        assert _programs() == programs


def test_the_folder_is_removed():
    import jax

    folders = []

    def fail() -> None:
        with compile_once():
            folders.append(Path(os.environ["JAX_COMPILATION_CACHE_DIR"]))
            assert folders[0].is_dir()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert not folders[0].exists()
    assert "JAX_COMPILATION_CACHE_DIR" not in os.environ
    assert jax.config.jax_compilation_cache_dir is None


def test_a_folder_of_the_user_is_kept(tmp_path):
    import jax

    jax.config.update("jax_compilation_cache_dir", str(tmp_path))
    with compile_once():
        assert jax.config.jax_compilation_cache_dir == str(tmp_path)
        _train(0)
    assert jax.config.jax_compilation_cache_dir == str(tmp_path)
    assert any(tmp_path.iterdir())


def test_the_trainings_of_a_command_share_programs(tmp_path, monkeypatch):
    from keras_slstm.cli.tasks import jobs

    folders = []

    def train(job, shared):
        folders.append(os.environ.get("JAX_COMPILATION_CACHE_DIR"))
        return {}

    monkeypatch.setattr(jobs, "print_summary", lambda results: None)
    options = {"workers": 1, "seed": [0, 1], "output": tmp_path, "overwrite": False, "ensemble": False}
    options |= {"strategy": None, "timeout": None}
    corpus = SimpleNamespace(name="corpus")
    jobs.train_all(SimpleNamespace(**options), lambda: [(corpus, None)], train, needed={})
    assert None not in folders
    assert len(folders) == 2
    assert len({*folders}) == 1


def _train_apart(training):
    raise LookupError(os.environ.get("JAX_COMPILATION_CACHE_DIR"))


def test_the_seeds_of_a_trial_share_programs(tmp_path, monkeypatch):
    from keras_slstm.tuning import search

    monkeypatch.setattr(search, "train_apart", _train_apart)
    fake = SimpleNamespace(seeds=[0], training=lambda *_: None)
    trial = SimpleNamespace(trial_id="0", hyperparameters=SimpleNamespace(values={}))
    with pytest.raises(LookupError, match="keras_slstm-"):
        search.Search._run(fake, trial, tmp_path)


def test_the_seeds_of_a_confirmation_share_programs(tmp_path, monkeypatch):
    from keras_slstm.tuning import confirmation

    monkeypatch.setattr(confirmation, "train_apart", _train_apart)
    fake = SimpleNamespace(training=lambda *_: None, folder=tmp_path)
    with pytest.raises(LookupError, match="keras_slstm-"):
        confirmation._measure(fake, "best", "0", {}, [0], SimpleNamespace(texts=[], labels=[]))
