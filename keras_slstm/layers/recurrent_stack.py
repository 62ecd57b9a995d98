"""Stacks of CAS-LSTM or plain LSTM layers, chosen by name: an encoder that returns its states, and a decoder cell."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.configs import ConfigFromArguments
from keras_slstm.layers.cas_lstm import CASLSTM
from keras_slstm.layers.cas_lstm_cell import CASLSTMCell
from keras_slstm.layers.rematerialized import Rematerialized
from keras_slstm.ops.masks import check_mask
from keras_slstm.types import Shape, Tensor
from keras_slstm.validation import check_bool, check_integer, check_rate

CELLS = ("caslstm", "lstm")
# The stack sets these arguments itself, so they are not options of a cell.
_RESERVED_OPTIONS = {
    "units", "num_layers", "dropout", "layer_dropout", "return_sequences", "return_state", "go_backwards", "stateful",
    "dtype", "name",
}  # fmt: skip
_CASLSTM_OPTIONS = {"lam", "peephole"}  # plain LSTM layers have no gates between layers


def recurrent_cell(cell: str, units: int, num_layers: int, dtype: Any = None, **options: Any) -> keras.layers.Layer:
    """Return a recurrent cell of several layers.

    Args:
        cell: `"caslstm"`, or `"lstm"` for stacked plain LSTM layers.
        units, num_layers: Size and number of the layers.
        dtype: The dtype policy.
        **options: Further arguments of `CASLSTMCell`.

    Returns:
        A cell for `keras.layers.RNN` and `AttentionDecoder`. Its flat states are h and c of each layer.

    Raises:
        ValueError: If `cell` is unknown or does not accept one of the options.
    """
    depths = _depths(cell, num_layers)
    _check_options(cell, options)
    cells = [_call(CASLSTMCell, cell, units=units, num_layers=depth, dtype=dtype, **options) for depth in depths]
    return cells[0] if len(cells) == 1 else keras.layers.StackedRNNCells(cells, dtype=dtype)


@keras.saving.register_keras_serializable(package="keras_slstm")
class RecurrentStack(Rematerialized, ConfigFromArguments, keras.layers.Layer):
    """An encoder of several CAS-LSTM or plain LSTM layers that returns the word vectors and all final states.

    Args:
        cell: `"caslstm"`: one `CASLSTM`. `"lstm"`: stacked plain LSTM layers. (Each is a `CASLSTM` of one layer, which
            is a plain LSTM.)
        units: Size of the vectors, and of the states of each layer.
        num_layers: Number of layers.
        bidirectional: Whether to read in both directions, with one stack of `units / 2` per direction. Their vectors
            and states are concatenated.
        dropout: Dropout rate between the layers.
        cell_options: Further arguments of `CASLSTM`.

    Call arguments:
        sequences: `(batch, time, features)`.
        mask: `(batch, time)` bool, or None.
        training: Whether to apply dropout.

    Returns:
        The word vectors, `(batch, time, units)`, 0 at masked positions; then h and c of each layer, lowest first,
        `(batch, units)` each: the initial states of a decoder with a `recurrent_cell`.

    Raises:
        ValueError: If an argument is out of range, or `units` is odd with `bidirectional`.
    """

    def __init__(
        self,
        cell: str = "caslstm",
        units: int = 256,
        num_layers: int = 2,
        bidirectional: bool = False,
        dropout: float = 0.0,
        cell_options: dict[str, Any] | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.cell = cell
        self.units = check_integer("units", units, 1)
        self.num_layers = check_integer("num_layers", num_layers, 1)
        self.bidirectional = check_bool("bidirectional", bidirectional)
        self.dropout = check_rate("dropout", dropout)
        self.cell_options = dict(cell_options or {})
        _check_options(cell, self.cell_options)
        if self.bidirectional and self.units % 2:
            raise ValueError(f"`units` must be even, half for each direction, but got {units!r}.")
        size = self.units // 2 if self.bidirectional else self.units
        self.directions = [
            [
                _call(
                    CASLSTM,
                    cell,
                    units=size,
                    num_layers=depth,
                    # `layer_dropout` acts within a `CASLSTM`, `dropout` between several of them.
                    layer_dropout=self.dropout,
                    dropout=self.dropout if position else 0.0,
                    return_sequences=True,
                    return_state=True,
                    dtype=self.dtype_policy,
                    **self.cell_options,
                )
                for position, depth in enumerate(_depths(cell, self.num_layers))
            ]
            for _ in range(2 if self.bidirectional else 1)
        ]
        self.supports_masking = True

    def build(self, input_shape: Shape) -> None:
        for layers in self.directions:
            shape = input_shape
            for layer in layers:
                layer.build(shape)
                shape = (*shape[:-1], layer.units)
        self.built = True

    def call(self, sequences: Tensor, mask: Tensor | None = None, training: bool = False) -> tuple[Tensor, ...]:
        mask = check_mask(sequences, mask, self.name)
        results = [_run(self.directions[0], sequences, mask, training)]
        if self.bidirectional:
            mask = None if mask is None else ops.flip(mask, axis=1)
            vectors, *states = _run(self.directions[1], ops.flip(sequences, axis=1), mask, training)
            results.append([ops.flip(vectors, axis=1), *states])
        return tuple(ops.concatenate(parts, axis=-1) if self.bidirectional else parts[0] for parts in zip(*results))

    def compute_mask(self, sequences: Tensor, mask: Tensor | None = None) -> list[Tensor | None]:
        return [mask, *[None] * (2 * self.num_layers)]

    def compute_output_shape(self, input_shape: Shape) -> tuple[Shape, ...]:
        return ((*input_shape[:2], self.units), *[(input_shape[0], self.units)] * (2 * self.num_layers))


def _run(layers: list[CASLSTM], x: Tensor, mask: Tensor | None, training: bool) -> list[Tensor]:
    states: list[Tensor] = []
    for layer in layers:
        x, *own = layer(x, mask=mask, training=training)
        states += own
    return [x, *states]


def _depths(cell: str, num_layers: int) -> list[int]:
    """The number of layers of each CAS-LSTM in a stack: one CAS-LSTM of all layers, or a plain LSTM for each."""
    if cell not in CELLS:
        raise ValueError(f"`cell` must be one of {CELLS}, but got {cell!r}.")
    num_layers = check_integer("num_layers", num_layers, 1)
    return [num_layers] if cell == "caslstm" else [1] * num_layers


def _check_options(cell: str, options: dict[str, Any]) -> None:
    refused = sorted((_RESERVED_OPTIONS | (_CASLSTM_OPTIONS if cell == "lstm" else set())) & options.keys())
    if refused:
        raise ValueError(f"The cell {cell!r} does not take these options: {', '.join(refused)}.")


def _call(function: Any, cell: str, **arguments: Any) -> Any:
    try:
        return function(**arguments)
    except (TypeError, ValueError) as error:
        if "Unrecognized keyword" in str(error) or isinstance(error, TypeError):
            raise ValueError(f"The cell {cell!r} does not take these options: {error}") from error
        raise
