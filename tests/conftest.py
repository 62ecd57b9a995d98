"""Sets up the backend before any test. The variable KERAS_BACKEND selects it (default: tensorflow)."""

from __future__ import annotations

import gc
import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from tests.__main__ import XLA_FLAGS

os.environ.setdefault("XLA_FLAGS", XLA_FLAGS)

import keras
import pytest

if keras.backend.backend() == "jax":
    from keras_slstm.ops.backend import numpy_initializers

    # Keras' own layers, too, draw their initial weights without compiling.
    for initializer in numpy_initializers.BUILT_IN:
        initializer.__call__ = lambda self, shape, dtype=None, **_: numpy_initializers.draw(self, shape, dtype)

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

    # Two replicas for MirroredStrategy; TensorFlow must know before it uses the device.
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--suite",
        choices=("short", "ci", "full"),
        help="deselect the tests that the run of this name leaves out on this backend, by their markers; without this "
        "option, pytest runs every test it is given",
    )


@pytest.fixture(scope="session", autouse=True)
def no_folders_of_tensorflow_datasets() -> Iterator[None]:
    """Remove the temporary folders that TensorFlow Datasets leaves for data sets that it does not find."""
    make, made = tempfile.mkdtemp, []

    def mkdtemp(suffix: str | None = None, prefix: str | None = None, dir: str | None = None) -> str:
        path = make(suffix, prefix, dir)
        if suffix == "tfds":
            made.append(path)
        return path

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "mkdtemp", mkdtemp)
        yield
    for path in made:
        shutil.rmtree(path, ignore_errors=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select the tests of the run and the backend, for `python -m tests`."""
    suite = config.getoption("--suite")
    if suite is None:
        return
    kept, left_out = [], []
    for item in items:
        (kept if _is_in(suite, item) else left_out).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)


def _is_in(suite: str, item: pytest.Item) -> bool:
    backends, ci_run, short_run = (
        all(keras.backend.backend() in marker.args for marker in _markers(item, name))
        for name in ("backends", "ci_run", "short_run")
    )
    if suite == "full":
        return backends
    return backends and ci_run and short_run == (suite == "short")


def _markers(item: pytest.Item, name: str) -> Iterator[pytest.Mark]:
    """Yield the item's markers, including those of `pytestmark` in its package's `__init__.py`."""
    yield from item.iter_markers(name)
    package = item.module.__package__
    for marker in getattr(sys.modules.get(package), "pytestmark", ()):
        if marker.name == name:
            yield marker.mark


@pytest.fixture
def backend() -> str:
    """The name of the backend under test."""
    return keras.backend.backend()


@pytest.fixture(autouse=True)
def _seed() -> None:
    """Make each test draw the same numbers, whichever other tests run."""
    keras.utils.set_random_seed(0)


if keras.backend.backend() == "jax":
    import jax

    _finished = itertools.count(1)

    @pytest.fixture(autouse=True)
    def _forget_what_was_compiled() -> Iterator[None]:
        """Clear compiled functions: each uses memory mappings, and Linux grants a process only 65,530 of them.

        XLA crashes beyond that, after about 500 tests.
        """
        yield
        if next(_finished) % 10 == 0 and _parts_of_the_address_space() > 40_000:
            jax.clear_caches()
            gc.collect()

    def _parts_of_the_address_space() -> int:
        maps = Path("/proc/self/maps")
        return maps.read_bytes().count(b"\n") if maps.exists() else 0
