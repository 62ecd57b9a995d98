"""Training steps of several processes on PyTorch.

Every process reads whole batches and computes the outputs of its own rows. Then the processes exchange outputs, so that
each computes the loss and metrics of the whole batch, as one process would, even with masks, uneven parts and losses
that compare rows. Gradients are averaged before the optimizer gets them, so clipping, loss scaling and accumulation
work as in one process.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator
from typing import Any

import keras

from keras_slstm.distribute.cluster import Cluster
from keras_slstm.distribute.collectives import joined_cluster
from keras_slstm.distribute.jax_processes import PART, PartOfBatches
from keras_slstm.distribute.keras_internals import replaced_call, with_added_losses
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
    """Set the variables of all processes to the chief's values."""
    import torch

    with torch.no_grad():
        for variable in [*model.variables, *getattr(getattr(model, "optimizer", None), "variables", [])]:
            value = variable.value.detach().contiguous().clone()
            torch.distributed.broadcast(value, 0)
            variable.value.data.copy_(value)


class ExchangedFunction:
    """A model's `train_function`, `test_function` or `predict_function`, for data from `whole_batches`.

    It runs the model's own step on the whole batch. In the step, a call of the model computes the rows of this process
    and returns those of all, and each gradient is averaged over the processes as soon as it is computed.

    Args:
        model: The model, with all its variables.
        kind: `"train"`, `"test"` or `"predict"`.
    """

    def __init__(self, model: keras.Model, kind: str):
        if model.steps_per_execution > 1:
            raise ValueError(f"`steps_per_execution` must be 1 on PyTorch, but got {model.steps_per_execution}.")
        self.model = model
        self._kind = kind

    def __call__(self, data: Any) -> Any:
        import torch

        model = self.model
        batch = data[0][0][PART]
        step = getattr(model, f"{self._kind}_step")
        with _split_model_calls(model, learns=self._kind == "train"):
            if self._kind != "train":
                with torch.no_grad():
                    return step(batch)
            with _mean_gradients(model.trainable_variables):
                logs = step(batch)
        with torch.no_grad():
            # For example, the moving statistics of batch normalization.
            floats = [v for v in model.non_trainable_variables if torch.is_floating_point(v.value)]
            for variable, value in zip(floats, _mean([v.value for v in floats])):
                variable.assign(value)
        return logs


@contextlib.contextmanager
def _split_model_calls(model: keras.Model, learns: bool) -> Iterator[None]:
    """Let a call of the model compute the rows of this process only, and return those of all processes."""
    call, share = model.call, 1.0

    def divided(*args: Any, **kwargs: Any) -> Any:
        nonlocal share
        rows = len(keras.tree.flatten((args, kwargs))[0])
        own = _own_rows(rows)
        share = len(own) / rows
        own = own or range(rows - 1, rows)  # a row that does not count

        def part(value: Any) -> Any:
            return value[own.start : own.stop] if keras.ops.is_tensor(value) and value.ndim else value

        args, kwargs = keras.tree.map_structure(part, (args, kwargs))
        with _own_random_numbers(model) if learns else contextlib.nullcontext():
            outputs = call(*args, **kwargs)
        return keras.tree.map_structure(lambda output: _gather_output(output, len(own), rows), outputs)

    with replaced_call(model, divided), with_added_losses(model, lambda loss: _weighted_sum(loss, share)):
        yield


def _gather_output(output: Any, own: int, rows: int) -> Any:
    """Return the outputs of all processes, with their mask."""
    import torch

    if output.ndim == 0 or len(output) != own:
        raise ValueError(
            f"Every output must have one element for each of {own} rows, but got shape {tuple(output.shape)}."
        )
    filled = torch.arange(_part_size(rows), device=output.device).clip(max=own - 1)  # `all_gather` needs equal sizes
    gathered = _gather(output[filled])[:rows]
    mask = getattr(output, "_keras_mask", None)
    if mask is not None:
        gathered._keras_mask = _gather(mask[filled])[:rows]
    return gathered


@contextlib.contextmanager
def _mean_gradients(variables: list[Any]) -> Iterator[None]:
    """Replace each gradient by its mean over all processes as soon as it is complete.

    PyTorch computes the gradients in the same order in all processes.
    """
    import torch

    def mean(gradient: Any) -> Any:
        part = (gradient / torch.distributed.get_world_size()).contiguous()  # PyTorch may use the gradient again
        torch.distributed.all_reduce(part)
        return part

    hooks = [variable.value.register_hook(mean) for variable in variables]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


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
