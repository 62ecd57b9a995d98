"""Chooses the devices on which a model is trained."""

from __future__ import annotations

import contextlib
import inspect
import os
import re
import warnings
from collections.abc import Iterator
from typing import Any

import keras

from keras_slstm.distribute.channel import Channel, end_process_after
from keras_slstm.distribute.cluster import Cluster, find_cluster
from keras_slstm.distribute.collectives import check_equal, join, joined_cluster
from keras_slstm.distribute.errors import ProcessesDiffer, translate_errors
from keras_slstm.distribute.fingerprint import describe_versions
from keras_slstm.distribute.keras_internals import jax_timeouts, set_heartbeat_timeout
from keras_slstm.distribute.process_age import process_age
from keras_slstm.distribute.torch_processes import TorchProcesses
from keras_slstm.distribute.variables import check_variable

NAMES = ("auto", "cpu", "gpu", "mirrored", "multi_worker", "tpu")
TIMEOUT = 600.0

# The cluster that this process has joined, as the environment describes it, and the strategy that connects them.
_joined: tuple[Cluster, Any] | None = None


def strategy(name: str = "auto", timeout: float = TIMEOUT) -> Any:
    """Choose the devices on which models are trained. Build and compile models inside the `scope()` of the result.

    Call it before any computation: TensorFlow and JAX must connect their processes before they use a device.

    Args:
        name: `"cpu"`, `"gpu"`: one device (on JAX, all devices of this kind). `"mirrored"`: all GPUs of this machine.
            `"multi_worker"`: all processes of the cluster that the variables of the launcher describe (see
            `find_cluster`), with all GPUs that each of them sees. `"tpu"`: the TPU that the backend finds. `"auto"`:
            the first available of several processes, a TPU, several GPUs, one GPU, and the CPU.
        timeout: Seconds after the start of this process within which all processes of `"multi_worker"` must connect;
            in a notebook, seconds after this call. Choose a larger number if processes load large data first.
            Afterwards, a process waits as long for another one, which may be compiling or writing a file. A process
            that gives no sign of life for a minute, or for half of `timeout` if that is less, counts as lost. A process
            whose backend does not connect in time ends with exit status 3, or is killed if the backend blocks Python.

    Returns:
        On TensorFlow, a `tf.distribute.Strategy`. On JAX, a `keras.distribution.DataParallel`, which becomes the
        distribution of this process. On PyTorch, and for one device on JAX, an object that only has a `scope()`.

    Raises:
        ValueError: If the name is unknown, or if the machine, the variables or the backend do not support it.
        ProcessesDiffer: If the processes run different versions of Python, Keras, the backend or this package.
        WorkerLost: If a process does not connect in time, or the port of this process is in use.

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
    if not 0 < timeout < float("inf"):
        raise ValueError(f"`timeout` must be a positive number of seconds, but got {timeout!r}.")
    cluster = _choose_cluster(name)
    if joined_cluster() is not None:
        if _joined is None or cluster != _joined[0]:
            raise ValueError(f"This process has joined a cluster: call strategy({name!r}) in a new process.")
        return _joined[1]
    backend = keras.backend.backend()
    if cluster is not None:
        return _join(cluster, timeout)
    if backend == "tensorflow":
        return _tensorflow_strategy(name)
    if backend == "jax":
        return _jax_distribution(name)
    if name in ("mirrored", "tpu"):
        raise ValueError(
            f"One process on the backend {backend} cannot train on several devices: start one process per device, "
            "or use TensorFlow or JAX."
        )
    return _OneDevice()


def _choose_cluster(name: str) -> Cluster | None:
    """Return the cluster to join, or None for one process. Warn if the variables describe an unused one."""
    if name in ("auto", "multi_worker"):
        cluster = find_cluster()
        if name == "multi_worker" and cluster is None:
            raise ValueError(
                'strategy("multi_worker") needs a cluster of at least two processes, but neither TF_CONFIG nor the '
                "variables of torchrun, Open MPI, Slurm or Kubernetes describe one. To try it on one machine: "
                "python -m keras_slstm.distribute."
            )
        return cluster
    with contextlib.suppress(ValueError):  # unused variables need not be valid
        cluster = find_cluster()
        if cluster is not None and joined_cluster() is None:
            warnings.warn(
                f"strategy({name!r}) trains in this process alone, although the environment variables describe "
                f'{cluster.size} processes: each will train a model of its own. Use strategy("multi_worker") to train '
                "one model together.",
                stacklevel=3,
            )
    return None


class _OneDevice:
    """A strategy whose scope does nothing."""

    def scope(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()


def _join(cluster: Cluster, timeout: float) -> Any:
    """Connect to the other processes, check that they run the same software, and start the backend's own service."""
    global _joined
    backend, connect = {
        "tensorflow": ("TensorFlow", _multi_worker_strategy),
        "jax": ("JAX", _multi_process_distribution),
        "torch": ("PyTorch", TorchProcesses),
    }[keras.backend.backend()]
    # JAX and PyTorch listen on the chief's port only.
    ports = tuple(range(cluster.size)) if backend == "TensorFlow" else (0,)
    channel = Channel(cluster, timeout, ports, process_age())
    found, cluster = cluster, channel.cluster
    join(channel)
    try:
        check_equal(describe_versions(), "versions")
        message = (
            f"Process {cluster.index} of {cluster.size}: {backend} has not connected the processes "
            f"{', '.join(cluster.addresses)} within {timeout:g} seconds."
        )
        # One second more, so that the backend's own error comes first if it can.
        with translate_errors(), end_process_after(channel.seconds_left() + 1.0, message):
            _joined = found, connect(cluster, timeout, channel.seconds_left())
    except BaseException:
        join(None)
        channel.close()
        raise
    return _joined[1]


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
    return tf.distribute.get_strategy()  # the default strategy: one device


def _multi_worker_strategy(cluster: Cluster, timeout: float, seconds_left: float) -> Any:
    import tensorflow as tf

    def create(next_creator: Any, **arguments: Any) -> Any:
        given: Any = arguments.get("initial_value")
        from_function = inspect.isfunction(given)

        def initial_value() -> Any:  # TensorFlow calls it once, before the chief sends its value to the others
            value = tf.convert_to_tensor(given() if from_function else given, arguments.get("dtype"))
            # Weights get the chief's values on purpose. A different learning rate would be replaced unnoticed.
            setting = value.shape.rank == 0 and not arguments.get("trainable") and tf.executing_eagerly()
            check_variable(arguments.get("name"), value.shape, value.dtype, value.numpy() if setting else None)
            return value

        # Callables that are not functions restore checkpoints.
        if tf.distribute.in_cross_replica_context() and (from_function or not callable(given)):
            arguments["initial_value"] = initial_value
        return next_creator(**arguments)

    class CheckedStrategy(tf.distribute.MultiWorkerMirroredStrategy):
        """Compares each variable between the processes before its value is sent to them."""

        @contextlib.contextmanager
        def scope(self) -> Iterator[Any]:
            with super().scope() as entered, tf.variable_creator_scope(create):
                yield entered

    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec({"worker": list(cluster.addresses)}),
        task_type="worker",
        task_id=cluster.index,
        num_accelerators={"GPU": len(tf.config.list_physical_devices("GPU"))},
        rpc_layer="grpc",
    )
    set_heartbeat_timeout(cluster.size, _longest_silence(timeout))
    options = tf.distribute.experimental.CommunicationOptions(timeout_seconds=timeout)
    return CheckedStrategy(resolver, options)


def _longest_silence(timeout: float) -> float:
    return min(timeout / 2, 60.0)


def _jax_distribution(name: str) -> Any:
    kind = None if name in ("auto", "mirrored") else name
    try:
        devices = keras.distribution.list_devices(kind)
    except RuntimeError as error:
        raise ValueError(f'strategy("{name}"): JAX finds no {name.upper()}. {error}') from None
    if len(devices) == 1:
        return _OneDevice()
    return _data_parallel(keras.distribution.DataParallel, devices)


def _multi_process_distribution(cluster: Cluster, timeout: float, seconds_left: float) -> Any:
    class CheckedDataParallel(keras.distribution.DataParallel):
        """Compares each variable between the processes before it is placed on their devices."""

        _path = ""

        def get_variable_layout(self, variable: Any) -> Any:
            self._path = variable.path
            check_variable(variable.path, variable.shape, variable.dtype)
            return super().get_variable_layout(variable)

        @contextlib.contextmanager
        def scope(self) -> Iterator[None]:
            with super().scope():
                try:
                    yield
                except AssertionError as error:
                    found = re.search(r"not the same on each process.*Expected: (.*); got:", str(error), re.DOTALL)
                    if found is None:
                        raise
                    raise ProcessesDiffer(
                        f"All processes must be started alike, but the initial {self._path} differs. "
                        f"By process: {found[1]:.200}"
                    ) from None

    with jax_timeouts(seconds_left, _longest_silence(timeout), timeout):
        keras.distribution.initialize(cluster.addresses[0], cluster.size, cluster.index)
    return _data_parallel(CheckedDataParallel, keras.distribution.list_devices())


def _data_parallel(distribution_class: Any, devices: list[str]) -> Any:
    # Each process already feeds its own part of the batches: see `jax_processes.py`.
    distribution = distribution_class(devices=devices, auto_shard_dataset=False)
    keras.distribution.set_distribution(distribution)
    return distribution
