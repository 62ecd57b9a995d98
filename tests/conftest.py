"""Sets the backend up before any test: it is picked by the variable KERAS_BACKEND (default: tensorflow)."""

from __future__ import annotations

import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# What is compiled here runs once or twice: to optimise it takes longer than to run it.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")

import keras
import pytest

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

    # Two replicas for MirroredStrategy; must be said before TensorFlow touches the device.
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)


@pytest.fixture
def backend() -> str:
    """The name of the backend under test."""
    return keras.backend.backend()


@pytest.fixture(autouse=True)
def _seed() -> None:
    """Each test draws the same numbers, alone or among others."""
    keras.utils.set_random_seed(0)
