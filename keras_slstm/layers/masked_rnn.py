"""Base class of the recurrent layers: masks of any kind, initial states, dropout."""

from __future__ import annotations

import inspect
from typing import Any, Self

import keras
from keras import ops

from keras_slstm.layers.masked_inputs import masked_inputs
from keras_slstm.layers.padded_inputs import PaddedInputs
from keras_slstm.layers.quantized_kernels import QuantizedBuildConfig
from keras_slstm.layers.recurrent_segments import loop_in_segments
from keras_slstm.layers.rematerialized import Rematerialized
from keras_slstm.layers.state_checks import check_states
from keras_slstm.ops.export_mode import in_export_mode
from keras_slstm.ops.masks import not_empty, pad_empty, zero_padding
from keras_slstm.types import Shape, Tensor
from keras_slstm.validation import check_bool, check_optional_integer, check_rate


class MaskedRNN(Rematerialized, QuantizedBuildConfig, PaddedInputs, keras.layers.RNN):
    """A `keras.layers.RNN` around a cell, which works in `keras.layers.Bidirectional` and with `initial_state`.

    Unlike in Keras' own layers, outputs at masked positions are always 0, the last output is the state after the last
    *real* word wherever the padding is, and a row of padding gives zeros.

    A subclass defines `loop_weights`, the tensors of its weights in the compute dtype, and `loop`, which is
    `inner_loop` of `RNN` as a function of them (and sees no NaN in the padding). If its constructor takes other
    arguments, it also defines `get_config`.

    Args:
        cell: A layer with `units`, `state_size` and the methods of `WeightArguments`. The arguments of the cell are
            arguments of the layer, too.
        dropout, recurrent_dropout: Rates, for `loop` to apply.
        seed: Seed of the dropout.
        segment_length: Number of words that the gradient recomputes at a time, or None to store all states.
        **kwargs: Arguments of `keras.layers.RNN`.
    """

    def __init__(
        self,
        cell: keras.Layer,
        dropout: float,
        recurrent_dropout: float,
        seed: int | None,
        segment_length: int | None = None,
        **kwargs: Any,
    ) -> None:
        for flag in ("return_sequences", "return_state", "go_backwards", "stateful", "unroll"):
            if flag in kwargs:
                kwargs[flag] = check_bool(flag, kwargs[flag])
        value = kwargs.get("zero_output_for_mask", True)
        if value is not True:
            raise ValueError(f"`zero_output_for_mask` must be True, but got {value!r}: it cannot be switched off.")
        super().__init__(cell, **kwargs)
        self.units = cell.units
        self.dropout = check_rate("dropout", dropout)
        self.recurrent_dropout = check_rate("recurrent_dropout", recurrent_dropout)
        self.seed = seed
        self.segment_length = check_optional_integer("segment_length", segment_length, least=1)
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.input_spec = keras.layers.InputSpec(ndim=3)

    def build(self, sequences_shape: Shape, initial_state_shape: Any = None) -> None:
        super().build(sequences_shape, initial_state_shape)
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: sequences_shape[-1]})

    def quantizable_parts(self) -> list[Any]:
        return [self.cell]

    def call(
        self,
        sequences: Tensor,
        initial_state: Any = None,
        mask: Tensor | None = None,
        training: bool = False,
        sequences_mask: Tensor | None = None,
    ) -> Any:
        # With an initial state, Keras passes the mask of the sequences under this other name.
        sequences, mask = masked_inputs(self, sequences, sequences_mask if mask is None else mask)
        self._check_states(initial_state, ops.shape(sequences)[0])
        rows = not_empty(sequences, mask)
        time = ops.shape(sequences)[1]
        sequences, mask = pad_empty(sequences, mask)
        result = super().call(sequences, initial_state=initial_state, mask=mask, training=training)
        if rows is None:
            return result
        output, *states = result if self.return_state else (result,)
        if self.return_sequences:
            output = zero_padding(output, None if mask is None else self._in_reading_order(mask))[:, :time]
        else:
            output = zero_padding(output, rows)
        if initial_state is None and not self.stateful:  # otherwise a row without words keeps its states
            states = [zero_padding(state, rows) for state in states]
        return (output, *states) if self.return_state else output

    def inner_loop(
        self, sequences: Tensor, initial_state: Any, mask: Tensor | None, training: bool = False
    ) -> tuple[Tensor, Tensor, list[Tensor]]:
        if self.stateful:  # on PyTorch, updating the variables would change tensors that the gradient reads
            initial_state = [ops.copy(state) for state in initial_state]
        if self.segment_length is None or in_export_mode():  # an export takes no gradient
            return self.loop(self.loop_weights(), sequences, initial_state, mask, training)
        return loop_in_segments(self, sequences, initial_state, mask, training)

    def loop_weights(self) -> Any:
        raise NotImplementedError

    def loop(
        self, weights: Any, sequences: Tensor, initial_state: Any, mask: Tensor | None, training: bool
    ) -> tuple[Tensor, Tensor, list[Tensor]]:
        raise NotImplementedError

    def _check_states(self, states: Any, batch: Any) -> None:
        if states is not None:
            check_states(states, self.state_size, batch, self.name, "initial states")

    def _in_reading_order(self, x: Tensor) -> Tensor:
        return ops.flip(x, axis=1) if self.go_backwards else x

    def compute_mask(self, sequences: Tensor, mask: Tensor | None = None) -> Any:
        if mask is not None:
            mask = self._in_reading_order(mask) if self.return_sequences else None
        return [mask, *[None] * len(self.state_size)] if self.return_state else mask

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["cell"]
        del config["zero_output_for_mask"]  # always True
        return {
            **config,
            "units": self.units,
            "dropout": self.dropout,
            "recurrent_dropout": self.recurrent_dropout,
            "seed": self.seed,
            "segment_length": self.segment_length,
            **self.cell.weight_config(),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        return cls(**config)


def make_cell(cell_class: type[keras.Layer], arguments: dict[str, Any], kwargs: dict[str, Any]) -> keras.Layer:
    """Create the cell of a layer from `arguments` and from those in `kwargs`, which are removed from it."""
    names = tuple(inspect.signature(cell_class).parameters)
    arguments = {**arguments, **{name: kwargs.pop(name) for name in names if name in kwargs}}
    shared = {name: kwargs[name] for name in ("dtype", "trainable") if name in kwargs}
    return cell_class(name="cell", **arguments, **shared)
