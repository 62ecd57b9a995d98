"""Training steps of several processes on PyTorch.

Every process reads whole batches and computes the outputs of its own rows. Then the processes exchange outputs, so that
each computes loss and metrics of the whole batch, as one process would: also with masks, uneven parts and losses that
compare rows. Gradients are averaged before the optimizer gets them, so clipping, loss scaling and accumulation work as
in one process.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator
from typing import Any

import keras

from keras_slstm.distribute.cluster import Cluster
from keras_slstm.distribute.collectives import joined_cluster
from keras_slstm.distribute.jax_processes import PART, ROWS, PartOfBatches
from keras_slstm.distribute.keras_internals import with_added_losses
from keras_slstm.distribute.variables import seed_generators

# Distance between the seeds of two processes. Keras draws the seeds of layers below 1e9, so they rarely collide.
_BETWEEN_SEEDS = 1_000_003


class TorchProcesses:
    """The strategy of one of several processes on PyTorch.

    Args:
        cluster: The processes.
        timeout: Seconds that an exchange of gradients may take.
        seconds_left: Seconds that are left for connecting.
    """

    def __init__(self, cluster: Cluster, timeout: float, seconds_left: float):
        import torch

        on_gpu = keras.ops.convert_to_tensor(0.0).device.type == "cuda"
        if on_gpu:
            torch.cuda.set_device(cluster.index % torch.cuda.device_count())
        store = torch.distributed.TCPStore(
            *_host_and_port(cluster.addresses[0]),
            world_size=cluster.size,
            is_master=cluster.is_chief,
            # Longer than the deadline of `strategy`, which ends this process with a clearer message.
            timeout=datetime.timedelta(seconds=seconds_left + 10.0),
        )
        torch.distributed.init_process_group(
            "nccl" if on_gpu else "gloo",
            store=store,
            rank=cluster.index,
            world_size=cluster.size,
            timeout=datetime.timedelta(seconds=timeout),
        )

    def scope(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()


def _host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def is_one_on_torch() -> bool:
    """Whether this process is one of several on PyTorch."""
    return joined_cluster() is not None and keras.backend.backend() == "torch"


def whole_batches(data: keras.utils.PyDataset, class_weight: dict[int, float] | None = None) -> PartOfBatches:
    """Return the batches, which are compared between the processes at the beginning of an epoch."""
    return PartOfBatches(data, 0, 1, 1, class_weight)


def copy_from_chief(model: keras.Model) -> None:
    """Give the variables of all processes the values that they have in the chief."""
    import torch

    with torch.no_grad():
        for variable in [*model.variables, *getattr(getattr(model, "optimizer", None), "variables", [])]:
            value = variable.value.detach().contiguous().clone()
            torch.distributed.broadcast(value, 0)
            variable.value.data.copy_(value)


class ExchangedFunction:
    """A model's `train_function`, `test_function` or `predict_function`, for data from `whole_batches`.

    Args:
        model: The model, with all its variables.
        kind: `"train"`, `"test"` or `"predict"`.

    Raises:
        ValueError: If the model has its own step, which would see the rows of one process only.
    """

    def __init__(self, model: keras.Model, kind: str):
        name = f"{kind}_step"
        if getattr(type(model), name) is not getattr(keras.Model, name):
            raise ValueError(
                f"{type(model).__name__} has its own `{name}`, which several processes on PyTorch cannot divide: "
                "override `compute_loss` instead, or use TensorFlow or JAX."
            )
        if model.steps_per_execution > 1:
            raise ValueError(f"`steps_per_execution` must be 1 on PyTorch, but got {model.steps_per_execution}.")
        self.model = model
        self._step = {"train": self._train, "test": self._test, "predict": self._predict}[kind]

    def __call__(self, data: Any) -> Any:
        element = data[0][0]
        return self._step(element[PART], int(element[ROWS][0]))

    def _train(self, batch: Any, rows: int) -> Any:
        import torch

        model = self.model
        with _own_random_numbers(model):
            outputs = self._outputs(batch, rows, training=True)
        model.zero_grad()
        loss, logs = self._loss(batch, outputs, rows, training=True)
        model.optimizer.scale_loss(loss).backward()
        weights = list(model.trainable_weights)
        with torch.no_grad():
            model.optimizer.apply(_mean([weight.value.grad for weight in weights]), weights)
            # The statistics of a batch normalization, say.
            floats = [v for v in model.non_trainable_variables if torch.is_floating_point(v.value)]
            for variable, value in zip(floats, _mean([v.value for v in floats])):
                variable.assign(value)
        return logs()

    def _test(self, batch: Any, rows: int) -> Any:
        import torch

        with torch.no_grad():
            return self._loss(batch, self._outputs(batch, rows, training=False), rows, training=False)[1]()

    def _predict(self, batch: Any, rows: int) -> Any:
        import torch

        with torch.no_grad():
            return self._outputs(batch, rows, training=False)

    def _loss(self, batch: Any, outputs: Any, rows: int, training: bool) -> Any:
        """Return the loss of the whole batch, and a function that updates the metrics and returns the logs."""
        model = self.model
        x, y, sample_weight = (*batch, None, None)[:3]
        share = len(_own_rows(rows)) / rows
        with with_added_losses(model, lambda loss: _weighted_sum(loss, share)):
            loss = model.compute_loss(x=x, y=y, y_pred=outputs, sample_weight=sample_weight, training=training)
        tracker = next(metric for metric in model.metrics if metric.name == "loss")
        tracker.update_state(loss.detach(), sample_weight=rows)
        return loss, lambda: model.compute_metrics(x, y, outputs, sample_weight=sample_weight)

    def _outputs(self, batch: Any, rows: int, training: bool) -> Any:
        """Return the outputs of all rows, with their masks."""
        import torch

        own = _own_rows(rows) or range(rows - 1, rows)  # a row that does not count
        part = keras.tree.map_structure(lambda tensor: tensor[own.start : own.stop], batch[0])
        takes_training = getattr(self.model, "_call_has_training_arg", True)
        outputs = self.model(part, training=training) if takes_training else self.model(part)

        def whole(output: Any) -> Any:
            if output.ndim == 0 or len(output) != len(own):
                raise ValueError(
                    f"Every output must have one element for each of {len(own)} rows, but got shape "
                    f"{tuple(output.shape)}."
                )
            filled = torch.arange(_part_size(rows), device=output.device).clip(max=len(own) - 1)  # parts of one size
            gathered = _gather(output[filled])[:rows]
            mask = getattr(output, "_keras_mask", None)
            if mask is not None:
                gathered._keras_mask = _gather(mask[filled])[:rows]
            return gathered

        return keras.tree.map_structure(whole, outputs)


def _part_size(rows: int) -> int:
    import torch

    return -(-rows // torch.distributed.get_world_size())


def _own_rows(rows: int) -> range:
    """Return the rows of this process, which may be none if the batch is small."""
    import torch

    size = _part_size(rows)
    start = min(size * torch.distributed.get_rank(), rows)
    return range(start, min(start + size, rows))


def _gather(tensor: Any) -> Any:
    """Return the rows of all processes; a gradient flows to those of this process, times the number of processes.

    Every process differentiates the same loss of all rows, so the mean of the gradients of all processes is that of
    the loss.
    """
    import torch

    size, rank = torch.distributed.get_world_size(), torch.distributed.get_rank()

    class Gather(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, own: Any) -> Any:
            parts = [torch.empty_like(own, memory_format=torch.contiguous_format) for _ in range(size)]
            torch.distributed.all_gather(parts, own.contiguous())
            return torch.cat(parts)

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            return size * gradient.chunk(size)[rank]

    if tensor.dtype == torch.bool:
        return _gather(tensor.to(torch.uint8)).to(torch.bool)
    function: Any = Gather  # PyTorch declares no types for it
    return function.apply(tensor)


def _weighted_sum(loss: Any, share: float) -> Any:
    """Return the mean of the losses of all processes, weighted by their numbers of rows."""
    return _gather((loss * share).reshape(1)).sum()


def _mean(tensors: list[Any]) -> list[Any]:
    """Return the means over all processes; None stays None. Tensors of one dtype are exchanged together."""
    import torch

    means = list(tensors)
    dtypes = dict.fromkeys(tensor.dtype for tensor in tensors if tensor is not None)
    for dtype in dtypes:
        indices = [i for i, tensor in enumerate(tensors) if tensor is not None and tensor.dtype == dtype]
        joined: Any = torch.cat([tensors[i].detach().reshape(-1) for i in indices])
        torch.distributed.all_reduce(joined)
        parts = (joined / torch.distributed.get_world_size()).split([tensors[i].numel() for i in indices])
        for i, part in zip(indices, parts):
            means[i] = part.reshape(tensors[i].shape)
    return means


@contextlib.contextmanager
def _own_random_numbers(model: keras.Model) -> Iterator[None]:
    """Let each process draw its own random numbers. The first process draws those of a single process.

    Afterwards the generators have the same state in all processes, so that one state can be saved for all.
    """
    import torch

    shift = torch.distributed.get_rank() * _BETWEEN_SEEDS
    _shift_seeds(model, shift)
    yield
    _shift_seeds(model, -shift)


def _shift_seeds(model: keras.Model, shift: int) -> None:
    for state in seed_generators(model):
        seed, counter = (int(number) for number in state.value)
        state.assign([seed + shift, counter])
