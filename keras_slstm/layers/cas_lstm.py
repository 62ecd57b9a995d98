"""Cell-aware stacked LSTM (Choi, Kim, Lee: Cell-aware Stacked LSTMs for Modeling Sentences, ACML 2019)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_slstm.layers.cas_lstm_cell import CASLSTMCell
from keras_slstm.layers.masked_inputs import masked_inputs
from keras_slstm.layers.masked_rnn import MaskedRNN, make_cell
from keras_slstm.ops.cas_lstm import LayerWeights, gates
from keras_slstm.ops.dropout import dropout_mask
from keras_slstm.ops.kernels.cas_lstm import sequence
from keras_slstm.ops.masks import zero_padding
from keras_slstm.types import Tensor
from keras_slstm.validation import check_rate


class VerticalGates(NamedTuple):
    """The gates of a layer l > 1 on the layer below, for every word: `(batch, time, units)` each.

    Attributes:
        g: Its vertical forget gate, which acts on the cell of the layer below.
        lower_o: The output gate of the layer below, which acts on the same cell.
    """

    g: Tensor
    lower_o: Tensor


@keras.saving.register_keras_serializable(package="keras_slstm")
class CASLSTM(MaskedRNN):
    """A stack of LSTMs whose layers also read the cells of the layer below, through a forget gate g.

        i, f, o, g = sigmoid(h_t^{l-1} W + h_{t-1}^l U + b),   c~ = tanh(.)
        c_t^l = i * c~ + (1 - lam) * f * c_{t-1}^l + lam * g * c_t^{l-1},   h_t^l = o * tanh(c_t^l)

    for the layers l > 1; layer 1 is a plain LSTM. `CASLSTMCell` (`layer.cell`) documents all equations (the code is in
    `keras_slstm/ops/cas_lstm.py`), the variants and the weights. The output is the h of the highest layer; the paper's
    sentence vector is its maximum over the words (`MaskedGlobalMaxPooling1D`), and a bidirectional model is two
    independent stacks (`keras.layers.Bidirectional`).

    The products with W are computed for all words together, and the gradient is hand-written. Unlike in
    `keras.layers.LSTM`, outputs at masked positions are always 0, the last output is the state after the last *real*
    word wherever the padding is, and a row of padding gives zeros.

    Args:
        units: Number of units of every layer.
        num_layers: Number of layers.
        lam: A constant in [0, 1], `"trainable"`, or None: see `CASLSTMCell`.
        peephole: Whether to compute g by eq. 17: see `CASLSTMCell`.
        dropout: Fraction of the inputs x to drop.
        layer_dropout: Fraction of h to drop between layers (cells are never dropped).
        recurrent_dropout: Fraction of h to drop before U multiplies it. All three drop the same features for all words
            of a sentence.
        seed: Seed of the dropout.
        return_sequences, return_state, go_backwards, stateful: As in `keras.layers.LSTM`.
        segment_length: For long texts: number of words per segment. The gradient stores the states between the segments
            and recomputes one segment at a time, which needs less memory but one more forward pass. Values and
            gradients do not change. None: it stores all states.
        **kwargs: The other arguments of `CASLSTMCell` and `keras.layers.Layer`.

    Call arguments:
        sequences: `(batch, time, features)`.
        initial_state: States [h1, c1, h2, c2, ...] to start from, from the lowest layer up, each `(batch, units)`.
            Default: zeros.
        mask: `(batch, time)` bool, True at real words; None if all are real. Padding may be anywhere and is skipped.
        training: Whether to apply dropout.

    Returns:
        h of the highest layer in the compute dtype: after the last real word, `(batch, units)`, or with
        `return_sequences` of all words, `(batch, time, units)` (in reading order with `go_backwards`). With
        `return_state` followed by the final [h1, c1, h2, c2, ...], each `(batch, units)`.

    Raises:
        ValueError: If an argument is out of range, the number of features is unknown, the input or the mask has the
            wrong shape, or the number of initial states is wrong.

    Weights:
        cell/kernel_1, cell/recurrent_kernel_1, ...: see `CASLSTMCell`.

    Example:

    ```python
    words = keras.Input((None, 300))
    layer = keras_slstm.CASLSTM(300, num_layers=3, return_sequences=True)
    states = keras.layers.Bidirectional(layer)(words)
    sentence = keras_slstm.layers.MaskedGlobalMaxPooling1D()(states)  # (batch, 600)
    ```

    Reference:
        [Choi, Kim and Lee, 2019](https://proceedings.mlr.press/v101/choi19a.html)
    """

    def __init__(
        self,
        units: int,
        num_layers: int = 2,
        lam: float | str | None = 0.5,
        peephole: bool = False,
        dropout: float = 0.0,
        layer_dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        segment_length: int | None = None,
        **kwargs: Any,
    ) -> None:
        cell_arguments = {"units": units, "num_layers": num_layers, "lam": lam, "peephole": peephole}
        super().__init__(
            make_cell(CASLSTMCell, cell_arguments, kwargs),
            dropout,
            recurrent_dropout,
            seed,
            segment_length,
            return_sequences=return_sequences,
            return_state=return_state,
            go_backwards=go_backwards,
            stateful=stateful,
            unroll=False,
            **kwargs,
        )
        self.num_layers, self.lam, self.peephole = self.cell.num_layers, self.cell.lam, self.cell.peephole
        self.layer_dropout = check_rate("layer_dropout", layer_dropout)
        self.state_size = keras.tree.flatten(self.cell.state_size)

    def get_initial_state(self, batch_size: Any) -> list[Tensor]:
        """Zeros, `(batch, units)` each."""
        return keras.tree.flatten(self.cell.get_initial_state(batch_size))

    def loop_weights(self) -> list[LayerWeights]:
        return self.cell.layer_weights()  # type: ignore[no-any-return]

    def loop(
        self, weights: Any, sequences: Tensor, initial_state: Any, mask: Tensor | None, training: bool
    ) -> tuple[Tensor, Tensor, list[Tensor]]:
        layers = self._run(weights, sequences, initial_state, mask, training)
        states = [_last(*pair) for layer in layers for pair in ((layer.h, layer.hs), (layer.c, layer.cs))]
        return states[-2], _swap_batch_and_time(layers[-1].hs), states

    def vertical_gates(
        self, sequences: Tensor, initial_state: Any = None, mask: Tensor | None = None
    ) -> list[VerticalGates]:
        """The gates on the cells that pass from one layer to the next, for each word (Figure 4 of the paper).

        Args:
            sequences, initial_state, mask: As in the call. A stateful layer starts from zeros here.

        Returns:
            For the layers 2, 3, ... the pair of g and of the output gate of the layer below, `(batch, time, units)`
            each, 0 at masked positions; in reading order with `go_backwards`.
        """
        if not self.built:
            self.build(sequences.shape)
        sequences, mask = masked_inputs(self, ops.convert_to_tensor(sequences), mask)
        self._check_states(initial_state, ops.shape(sequences)[0])
        if initial_state is None:
            initial_state = self.get_initial_state(ops.shape(sequences)[0])
        states = [ops.convert_to_tensor(state, dtype=self.compute_dtype) for state in initial_state]
        layers = self._run(self.loop_weights(), sequences, states, mask, training=False)
        opened = [
            gates(one.weights, one.x, _before(one.h, one.hs), _before(one.c, one.cs), one.lower_cells) for one in layers
        ]
        mask = None if mask is None else self._in_reading_order(mask)
        return [
            VerticalGates(*(zero_padding(_swap_batch_and_time(gate), mask) for gate in (upper.g, lower.o)))
            for lower, upper in pairwise(opened)
        ]

    def _run(
        self,
        layer_weights: list[LayerWeights],
        sequences: Tensor,
        states: list[Tensor],
        mask: Tensor | None,
        training: bool,
    ) -> list[_LayerRun]:
        """Run the layers, one after the other, over the whole sentence."""
        x = _swap_batch_and_time(self._in_reading_order(sequences))
        if mask is not None:
            mask = ops.expand_dims(_swap_batch_and_time(self._in_reading_order(mask)), -1)
        lower_cells = None
        runs: list[_LayerRun] = []
        for weights, h, c in zip(layer_weights, states[::2], states[1::2], strict=True):
            rate = self.layer_dropout if runs else self.dropout
            if rate and training:
                x = x * dropout_mask(x[:1], rate, self.seed_generator)
            h_mask = None
            if self.recurrent_dropout and training:
                h_mask = dropout_mask(h, self.recurrent_dropout, self.seed_generator)
            hs, cs = sequence(weights, x, h, c, lower_cells, mask, h_mask)
            runs.append(_LayerRun(weights, x, h, c, hs, cs, lower_cells))
            x, lower_cells = hs, cs
        return runs

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["unroll"]  # not an argument of this layer
        return {
            **config,
            "num_layers": self.num_layers,
            "lam": self.lam,
            "peephole": self.peephole,
            "unit_forget_bias": self.cell.unit_forget_bias,
            "layer_dropout": self.layer_dropout,
        }


class _LayerRun(NamedTuple):
    """One layer over a whole sentence: its weights, inputs, first state, all its states, and the cells below."""

    weights: LayerWeights
    x: Tensor
    h: Tensor
    c: Tensor
    hs: Tensor
    cs: Tensor
    lower_cells: Tensor | None


def _before(first: Tensor, states: Tensor) -> Tensor:
    """The state before every word."""
    return ops.concatenate([ops.expand_dims(first, 0), states], axis=0)[:-1]


def _last(first: Tensor, states: Tensor) -> Tensor:
    """The state after the last word; the first state if there is no word."""
    return ops.concatenate([ops.expand_dims(first, 0), states[-1:]], axis=0)[-1]


def _swap_batch_and_time(x: Tensor) -> Tensor:
    return ops.transpose(x, (1, 0, *range(2, len(x.shape))))
