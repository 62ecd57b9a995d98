"""One word for where a model is trained."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import Any

import keras

from keras_slstm.distribute.cluster import Cluster, find_cluster
from keras_slstm.distribute.private import be_patient

NAMES = ("auto", "cpu", "gpu", "mirrored", "multi_worker", "tpu")
TIMEOUT = 600.0


@dataclass(frozen=True)
class Joined:
    """The cluster that this process is a member of, and the strategy that connects it."""

    cluster: Cluster
    strategy: Any


_joined: Joined | None = None


def joined() -> Joined | None:
    """The cluster that `strategy` has connected this process with; None while it is on its own."""
    return _joined


def is_chief() -> bool:
    """Whether this process is the one that writes files; a process on its own is."""
    return _joined is None or _joined.cluster.is_chief


def strategy(name: str = "auto", timeout: float = TIMEOUT) -> Any:
    """Say where models are trained; they are made and compiled inside its `scope()`.

    Call it first of all, before anything that computes: TensorFlow and JAX connect their processes before they touch
    a device.

    Args:
        name: `"cpu"`, `"gpu"`: one device. `"mirrored"`: all GPUs of this machine. `"multi_worker"`: all processes of
            the cluster, which `TF_CONFIG` or Slurm's variables describe (see `find_cluster`), with all GPUs that each
            of them sees. `"tpu"`: the TPU that TensorFlow finds. `"auto"`: what there is of these: several processes,
            a TPU, several GPUs, one, none.
        timeout: Seconds after which a process gives up waiting for another in `"multi_worker"` on TensorFlow; more
            than processes may be apart, one of which may be compiling or writing a file. One that gives no sign of
            life for a minute, or for half of `timeout` if that is less, is given up at once.

    Returns:
        On TensorFlow a `tf.distribute.Strategy`; on JAX a `keras.distribution.DataParallel`, which is the process'
        distribution from now on; for one device on JAX and PyTorch an object that only has a `scope()`.

    Raises:
        ValueError: If the name is another, or the machine, the variables or the backend do not fit it.

    Example:

    ```python
    strategy = keras_slstm.distribute.strategy()
    with strategy.scope():
        model = build_model()
        model.compile("adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    keras_slstm.distribute.fit(model, words, labels, batch_size=64, epochs=5)
    ```
    """
    if name not in NAMES:
        raise ValueError(f"`name` must be one of {NAMES}, but got {name!r}.")
    if not timeout > 0:
        raise ValueError(f"`timeout` must be a positive number of seconds, but got {timeout!r}.")
    cluster = find_cluster() if name in ("auto", "multi_worker") else None
    if name == "multi_worker" and cluster is None:
        raise ValueError(
            'strategy("multi_worker") needs a cluster of two processes at least, but neither TF_CONFIG nor the '
            "variables of a Slurm job step describe one. To try it on one machine: python -m keras_slstm.distribute."
        )
    if _joined is not None:
        if cluster != _joined.cluster:
            raise ValueError(f"This process has joined a cluster, so it has no use for strategy({name!r}).")
        return _joined.strategy
    backend = keras.backend.backend()
    if backend == "tensorflow":
        return _join(cluster, _multi_worker_strategy(cluster, timeout)) if cluster else _tensorflow_strategy(name)
    if backend == "jax":
        return _jax_distribution(name, cluster)
    if cluster is not None or name in ("mirrored", "tpu"):
        raise ValueError(f"Keras has no training on several devices on the backend {backend}: use TensorFlow or JAX.")
    return _OneDevice()


class _OneDevice:
    """What has a `scope()` and nothing else."""

    def scope(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()


def _join(cluster: Cluster, strategy: Any) -> Any:
    global _joined
    _joined = Joined(cluster, strategy)
    return strategy


def _tensorflow_strategy(name: str) -> Any:
    import tensorflow as tf

    gpus = len(tf.config.list_physical_devices("GPU"))
    if name == "tpu" or (name == "auto" and os.environ.get("TPU_NAME")):
        tpu = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
        return tf.distribute.TPUStrategy(tpu)
    if name == "mirrored" or (name == "auto" and gpus > 1):
        return tf.distribute.MirroredStrategy()
    if name == "gpu" and not gpus:
        raise ValueError('strategy("gpu"): TensorFlow finds no GPU.')
    if name == "cpu" and gpus:
        return tf.distribute.OneDeviceStrategy("CPU:0")
    return tf.distribute.get_strategy()  # one device, as without any strategy


def _multi_worker_strategy(cluster: Cluster, timeout: float) -> Any:
    import tensorflow as tf

    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec({"worker": list(cluster.addresses)}),
        task_type="worker",
        task_id=cluster.index,
        num_accelerators={"GPU": len(tf.config.list_physical_devices("GPU"))},
        rpc_layer="grpc",
    )
    be_patient(cluster.addresses, min(timeout / 2, 60.0))
    options = tf.distribute.experimental.CommunicationOptions(timeout_seconds=timeout)
    return tf.distribute.MultiWorkerMirroredStrategy(resolver, options)


def _jax_distribution(name: str, cluster: Cluster | None) -> Any:
    if cluster is not None:
        keras.distribution.initialize(cluster.addresses[0], cluster.size, cluster.index)
    kind = None if name in ("auto", "multi_worker", "mirrored") else name
    try:
        devices = keras.distribution.list_devices(kind)
    except RuntimeError as error:
        raise ValueError(f'strategy("{name}"): JAX finds no {name.upper()}. {error}') from None
    if len(devices) == 1:
        return _OneDevice()
    # Each process feeds its own part of the batches: see `sharding.py`.
    distribution = keras.distribution.DataParallel(devices=devices, auto_shard_dataset=False)
    keras.distribution.set_distribution(distribution)
    return distribution if cluster is None else _join(cluster, distribution)
