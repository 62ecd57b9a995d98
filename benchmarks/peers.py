"""Other authors' implementations of the encoders, for the benchmark of encoders. None of them is part of this package.

    pip install mingru_pytorch
    git clone https://github.com/leuchine/S-LSTM PEERS/S-LSTM                    # the paper's authors, TensorFlow 1
    git clone https://github.com/WildeLau/S-LSTM_pytorch PEERS/S-LSTM_pytorch    # a port to PyTorch
    KERAS_BACKEND=torch python -m benchmarks.encoders --peers PEERS

Peers that are not installed are left out. The classes of the two repositories run unchanged. They are read from their
files, because the modules import what no current Python has (`tensorflow.contrib`) or read the command line.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import keras

Make = Callable[[], Any]

AUTHORS = "S-LSTM of its authors"
PORT = "S-LSTM, PyTorch port"
TORCH_BILSTM = "torch.nn.LSTM, bidirectional"
MINGRU = "minGRU (mingru_pytorch)"


class Peer:
    """Makes a foreign function look like a Keras layer to `benchmarks.timing`."""

    def __init__(self, call: Callable[[Any, Any], Any], weights: list[Any]) -> None:
        self.call = call
        self.trainable_variables = [SimpleNamespace(value=weight) for weight in weights]

    def build(self, input_shape: tuple) -> None:
        """Do nothing: peers have their weights from the start."""

    def __call__(self, x: Any, mask: Any = None, training: bool = False) -> Any:
        return self.call(x, mask)


def peers(units: int, steps: int, folder: Path | None) -> dict[str, Make]:
    """Return the installed peers of the current backend by name; each maps `(batch, time, units)` to a vector."""
    found: dict[str, Make] = {}
    backend = keras.backend.backend()
    if backend == "torch":
        found[TORCH_BILSTM] = lambda: _torch_bilstm(units)
        if importlib.util.find_spec("minGRU_pytorch"):
            found[MINGRU] = lambda: _mingru(units)
        if folder and (path := folder / "S-LSTM_pytorch" / "slstm.py").exists():
            found[PORT] = lambda: _slstm_port(path, units, steps)
    if backend == "tensorflow" and folder and (path := folder / "S-LSTM" / "classfication" / "slstm.py").exists():
        found[AUTHORS] = lambda: _slstm_of_authors(path, units, steps)
    return found


def _torch_bilstm(units: int) -> Peer:
    import torch

    lstm = torch.nn.LSTM(units, units, batch_first=True, bidirectional=True).to(_device())

    def call(x: Any, mask: Any) -> Any:
        if mask is not None:  # cuDNN takes lengths, and computes nothing of the padding
            lengths = mask.sum(1).cpu()
            x = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return lstm(x)[1][0]

    return Peer(call, list(lstm.parameters()))


def _mingru(units: int) -> Peer:
    import torch
    from minGRU_pytorch import minGRU

    cell = minGRU(units).to(_device())

    def call(x: Any, mask: Any) -> Any:
        outputs = cell(x)
        if mask is None:
            return outputs[:, -1]
        return outputs[torch.arange(len(x), device=x.device), mask.sum(1) - 1]  # of the last word

    return Peer(call, list(cell.parameters()))


def _slstm_port(path: Path, units: int, steps: int) -> Peer:
    import torch

    names: dict[str, Any] = {
        "torch": torch,
        "nn": torch.nn,
        "F": torch.nn.functional,
        "Variable": torch.autograd.Variable,
    }
    _define_classes(path, names)
    layer = names["sLSTM"](units, units, steps=steps).to(_device())

    def call(x: Any, mask: Any) -> Any:
        batch, length = x.shape[:2]
        lengths = x.new_full((batch, 1), length, dtype=torch.long) if mask is None else mask.sum(1, keepdim=True)
        with _without_cuda():
            return layer((x.transpose(0, 1), lengths))[1]

    return Peer(call, list(layer.parameters()))


@contextmanager
def _without_cuda() -> Iterator[None]:
    """Let code that calls `.cuda()` run on a machine without a GPU."""
    import torch

    if torch.cuda.is_available():
        yield
        return
    with mock.patch.object(torch.Tensor, "cuda", lambda self: self):
        yield


def _slstm_of_authors(path: Path, units: int, steps: int) -> Peer:
    import tensorflow as tf

    # Today's TensorFlow wants the initial value of a variable inside of a function as a callable.
    changed = {"random_normal": lambda *args, **kwargs: partial(tf.compat.v1.random_normal, *args, **kwargs)}
    config = SimpleNamespace(hidden_size=units, step=1, random_initialize=False)
    names: dict[str, Any] = {"tf": SimpleNamespace(**{**vars(tf.compat.v1), **changed}), "config": config}
    _define_classes(path, names)
    model = SimpleNamespace(config=config, dropout=1.0)
    authors = names["Classifer"]
    for method in ("get_hidden_states_before", "get_hidden_states_after", "sum_together"):
        setattr(model, method, getattr(authors, method).__get__(model))

    def sentence_vector(x: Any, lengths: Any) -> Any:
        return authors.slstm_cell(model, "slstm", units, lengths, x, x, steps)[2]

    graph = tf.compat.v1.wrap_function(
        sentence_vector, [tf.TensorSpec((None, None, units)), tf.TensorSpec((None,), tf.int32)]
    )

    def call(x: Any, mask: Any) -> Any:
        if mask is None:
            return graph(x, tf.fill([tf.shape(x)[0]], tf.shape(x)[1]))
        return graph(x, tf.reduce_sum(tf.cast(mask, tf.int32), axis=1))

    return Peer(call, [variable for variable in graph.variables if variable.trainable])


def _device() -> Any:
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _define_classes(path: Path, names: dict[str, Any]) -> None:
    """Define the classes of a file in `names`, and nothing else of it."""
    module = ast.parse(path.read_text(encoding="utf-8"), str(path))
    module.body = [statement for statement in module.body if isinstance(statement, ast.ClassDef)]
    exec(compile(module, str(path), "exec"), names)
