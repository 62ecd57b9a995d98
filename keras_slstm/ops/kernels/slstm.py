"""The S-LSTM with all gates in one product and x U + b computed once."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_slstm.ops import slstm as equation
from keras_slstm.ops.backend import direct
from keras_slstm.ops.backend.joined_gradients import join_gradients, multiply
from keras_slstm.ops.backend.precision import accumulation_dtype
from keras_slstm.ops.backend.segments import repeat
from keras_slstm.ops.backend.traceable import pad
from keras_slstm.ops.export_mode import in_export_mode
from keras_slstm.ops.kernels.gated_mean import gated_mean
from keras_slstm.ops.kernels.tensorflow_ops import slice_along
from keras_slstm.ops.projection import project
from keras_slstm.ops.reference import kernel_of
from keras_slstm.ops.slstm import SLSTMWeights, State, initial_state
from keras_slstm.types import Tensor

# With so few words in a batch, the gradients of the weights are joined over the steps.
FEW_ROWS = 256


@kernel_of(equation.slstm, exports=True)
def slstm(
    weights: SLSTMWeights,
    x: Tensor,
    mask: Tensor | None,
    h0: Tensor,
    steps: int,
    h_dropout_mask: Tensor | None = None,
    g_dropout_mask: Tensor | None = None,
    return_words: bool = True,
    rematerialize: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Always used: saves most of the first step and, unless words are returned, the word updates of the last one."""
    arranged, inputs = arrange_weights(weights, h0.shape[-1]), make_inputs(weights, x, mask)
    dropout_masks = h_dropout_mask, g_dropout_mask
    rematerialize = rematerialize and not in_export_mode()  # an export takes no gradient
    if steps > 1 and len(h0.shape) == 1 and h_dropout_mask is None and not rematerialize:
        state, remaining = _first_transition(arranged, h0, inputs, weights.nodes(h0.shape[-1])), steps - 1
    else:
        state, remaining = initial_state(weights, x, mask, h0), steps
    if rematerialize and remaining > 1:
        state, remaining = repeat(_transition_again, (arranged, inputs, *dropout_masks), state, remaining - 1), 1
    constants = inputs, *dropout_masks
    if _has_few_rows(x) and remaining > 1 and not in_export_mode():
        return _joined_steps(arranged, state, constants, remaining, return_words)
    return _steps(arranged, state, constants, remaining, return_words)


def _steps(
    weights: ArrangedWeights, state: State, constants: Any, steps: int, return_words: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Take steps; the last one updates the words only if they are returned."""
    inputs, *dropout_masks = constants
    for _ in range(steps if return_words else steps - 1):
        state = transition(weights, state, inputs, *dropout_masks)
    if return_words:
        return state.h, state.g, state.c_g
    h, c, g, c_g = state
    h, g = _drop(h, g, *dropout_masks)
    return (None, None, None) if g is None else (None, *node_update(weights, h, c, g, c_g, inputs))


def _joined_steps(
    weights: ArrangedWeights, state: State, constants: Any, steps: int, return_words: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """`_steps`, with one product for the gradient of each kernel."""
    names = [name for name, kernel in weights._asdict().items() if kernel is not None and name != "node_bias"]

    def run(kernels: Any, arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
        node_bias, state, constants = arguments
        joined = ArrangedWeights(**dict(zip(names, kernels, strict=True)), node_bias=node_bias)
        return _steps(joined, state, constants, steps, return_words)

    kernels = tuple(getattr(weights, name) for name in names)
    return join_gradients(run, kernels, (weights.node_bias, state, constants))  # type: ignore[no-any-return]


def _has_few_rows(x: Tensor) -> bool:
    batch, words = x.shape[:2]
    return isinstance(batch, int) and isinstance(words, int) and batch * words <= FEW_ROWS


class Inputs(NamedTuple):
    """Values shared by all steps.

    Attributes:
        projected: `(batch, words, G d)`, x U + b of eq. 2.
        mask_f: `(batch, words, 1)`, the mask as a float, or None.
        count: The number of words, at least 1, in at least float32: `(batch, 1)`, or a number without a mask.
    """

    projected: Tensor
    mask_f: Tensor | None
    count: Tensor


def make_inputs(weights: SLSTMWeights, x: Tensor, mask: Tensor | None) -> Inputs:
    """Compute the values shared by all steps."""
    projected = project(x, weights.kernel) + weights.bias
    dtype = keras.backend.standardize_dtype(projected.dtype)
    if mask is None:
        count = ops.shape(projected)[1]
        known = isinstance(count, int)
        return Inputs(projected, None, max(count, 1) if known else _at_least_one(count, dtype))
    count = ops.sum(ops.cast(mask, "int32"), axis=1, keepdims=True)
    return Inputs(projected, ops.expand_dims(ops.cast(mask, dtype), -1), _at_least_one(count, dtype))


def _at_least_one(count: Tensor, dtype: str) -> Tensor:
    return ops.cast(ops.maximum(count, 1), accumulation_dtype(dtype))


class ArrangedWeights(NamedTuple):
    """The weights, arranged so that one product uses each; without nodes, all but `words` are None.

    Attributes:
        words: `((2k+1) d, G d)`, W of eq. 2.
        sentence: `(m d, G d)`, V of eq. 2; zero where a gate s^j does not read node q.
        node_words: `(d, m d)`, U_f of eq. 3, node by node.
        node_mean: `(d, 2 m d)`, U_g of all nodes, then U_o of all nodes.
        node_self: `(m d, 3 m d)`, W_g, W_f and W_o likewise; zero between different nodes.
        node_bias: `(3 m d,)`, b_g, b_f and b_o likewise.
    """

    words: Tensor
    sentence: Tensor = None
    node_words: Tensor = None
    node_mean: Tensor = None
    node_self: Tensor = None
    node_bias: Tensor = None


def arrange_weights(weights: SLSTMWeights, d: int) -> ArrangedWeights:
    """Arrange the weights of d units."""
    m = weights.nodes(d)
    if not m:
        return ArrangedWeights(weights.recurrent_kernel)

    def gate_by_gate(kernel: Tensor) -> list[Tensor]:
        kernel = ops.reshape(kernel, (-1, m, 3, d))
        return [ops.reshape(kernel[:, :, gate], (-1, m * d)) for gate in range(3)]

    def block_diagonal(blocks: Tensor) -> Tensor:
        """Put m square blocks, `(d, m d)`, on the diagonal of a `(m d, m d)` matrix."""
        if m == 1:
            return blocks
        diagonal = ops.reshape(ops.eye(m, dtype=blocks.dtype), (m, 1, m, 1))
        return ops.reshape(diagonal * ops.reshape(blocks, (1, d, m, d)), (m * d, m * d))

    def in_order(kernel: Tensor) -> Tensor:
        # The gates of one node are in order already; eager code would copy them in each call.
        return ops.concatenate([block_diagonal(w) for w in gate_by_gate(kernel)], axis=1) if m > 1 else kernel

    u_g, u_f, u_o = gate_by_gate(weights.node_kernel)
    return ArrangedWeights(
        weights.recurrent_kernel,
        sentence=ops.concatenate([weights.sentence_kernel, block_diagonal(weights.sentence_gate_kernel)], axis=1),
        node_words=u_f,
        node_mean=ops.concatenate([u_g, u_o], axis=1),
        node_self=in_order(weights.node_recurrent_kernel),
        node_bias=ops.concatenate(gate_by_gate(weights.node_bias), axis=1)[0],
    )


def transition(
    weights: ArrangedWeights,
    state: State,
    inputs: Inputs,
    h_dropout_mask: Tensor | None = None,
    g_dropout_mask: Tensor | None = None,
) -> State:
    """Take one step with all words and sentence nodes."""
    h, c, g, c_g = state
    h, g = _drop(h, g, h_dropout_mask, g_dropout_mask)
    window = (weights.words.shape[0] // h.shape[-1] - 1) // 2

    xi = direct.concatenate(_neighbours(h, window), axis=-1)
    a = multiply(xi, weights.words) + inputs.projected
    node_cells: list[Tensor] = []
    if g is not None:
        d = h.shape[-1]
        m = weights.sentence.shape[0] // d
        a = a + direct.expand_dims(multiply(direct.reshape(g, (-1, m * d)), weights.sentence), 1)
        node_cells = [direct.broadcast_to(c_g[:, j : j + 1], direct.shape(c)) for j in range(m)]
        g, c_g = node_update(weights, h, c, g, c_g, inputs)
    cells = _neighbours(c, window)
    h, c = word_update(a, [*cells[:window][::-1], *cells[window + 1 :]], c, node_cells)
    return State(*_zero_padding(h, c, inputs), g, c_g)


def _transition_again(constants: Any, state: State) -> State:
    weights, inputs, *dropout_masks = constants
    return transition(weights, state, inputs, *dropout_masks)


def _drop(h: Tensor, g: Tensor, h_dropout_mask: Tensor | None, g_dropout_mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Apply the dropout masks to h and g."""
    return (
        h if h_dropout_mask is None else h * h_dropout_mask,
        g if g_dropout_mask is None else g * g_dropout_mask,
    )


def _neighbours(x: Tensor, window: int) -> list[Tensor]:
    """`[x_{i-k}, ..., x_i, ..., x_{i+k}]` of `x`, `(batch, words, d)`, all of its shape; zero beyond its ends."""
    n = direct.shape(x)[1]
    padded = pad(x, ((0, 0), (window, window), (0, 0)))
    return [x if j == window else slice_along(padded, j, n, axis=1) for j in range(2 * window + 1)]


def _first_transition(weights: ArrangedWeights, h0: Tensor, inputs: Inputs, nodes: int) -> State:
    """Take the first step if all words and nodes start from the same vector and zero cells.

    The product with W is then a sum of one vector per real word in the window, and g stays zero, since c_g is a mean of
    cells.
    """
    d = h0.shape[-1]
    window = (weights.words.shape[0] // d - 1) // 2
    read = direct.expand_dims(h0, 0) @ direct.reshape(weights.words, (2 * window + 1, d, -1))  # (2k+1, 1, G d)
    mask_f = ops.ones_like(inputs.projected[:, :, :1]) if inputs.mask_f is None else inputs.mask_f
    a = project(direct.concatenate(_neighbours(mask_f, window), axis=-1), read[:, 0]) + inputs.projected
    zero = ops.zeros_like(inputs.projected[:, :, :d])
    g = None
    if nodes:
        a = a + ops.tile(direct.expand_dims(h0, 0), (1, nodes)) @ weights.sentence
        g = ops.zeros((direct.shape(zero)[0], nodes, d), dtype=zero.dtype)
    h, c = word_update(a, [zero] * (2 * window), zero, [zero] * nodes)
    return State(*_zero_padding(h, c, inputs), g, g)


def _zero_padding(h: Tensor, c: Tensor, inputs: Inputs) -> tuple[Tensor, Tensor]:
    # Not `where`: h and c are finite, and the gradient of a product is cheaper.
    return (h, c) if inputs.mask_f is None else (h * inputs.mask_f, c * inputs.mask_f)


def word_update(
    a: Tensor, neighbour_cells: list[Tensor], cell: Tensor, node_cells: list[Tensor]
) -> tuple[Tensor, Tensor]:
    """Eq. 2 from the pre-activations on, for any set of words.

    Args:
        a: `(..., G d)`, pre-activations in the order i, l1..lk, r1..rk, f, o, u, s1..sm.
        neighbour_cells: Cells at the offsets -1..-k, then 1..k (the order of the gates), each `(..., d)`.
        cell: The words' own cells, `(..., d)`.
        node_cells: The cells of the m sentence nodes, each `(..., d)`.

    Returns:
        `(h, c)`, the new hidden vectors and cells.
    """
    sides, nodes = len(neighbour_cells), len(node_cells)
    i, *rest = direct.split(a, 4 + sides + nodes)
    lr, (f, o, u), s = rest[:sides], rest[sides : sides + 3], rest[sides + 3 :]
    c = gated_mean([i, *lr, f, *s], [direct.tanh(u), *neighbour_cells, cell, *node_cells])
    return direct.sigmoid(o) * direct.tanh(c), c


def node_update(
    weights: ArrangedWeights,
    h: Tensor,
    c: Tensor,
    g: Tensor,
    c_g: Tensor,
    inputs: Inputs,
    gates: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Eq. 3, for all sentence nodes.

    Args:
        weights: The weights.
        h: `(batch, words, d)`, after dropout.
        c: `(batch, words, d)`.
        g: `(batch, m, d)`, after dropout.
        c_g: `(batch, m, d)`.
        inputs: The mask and the number of words.
        gates: `(batch, words, m d)`, h U_f, if already computed.

    Returns:
        `(g, c_g)`, the new hidden vectors and cells of the nodes.
    """
    d = c.shape[-1]
    m = weights.node_words.shape[1] // d
    dtype = keras.backend.standardize_dtype(c_g.dtype)
    own = multiply(direct.reshape(g, (-1, m * d)), weights.node_self) + weights.node_bias
    w_g, w_f, w_o = direct.split(own, 3)  # (batch, m d) each, as all below
    # Sums over words stay in at least float32 until they are divided: in long sentences, they overflow float16.
    wide = accumulation_dtype(dtype)
    mean = direct.cast(_sum_words(h, wide) / inputs.count, dtype)
    u_g, u_o = direct.split(multiply(mean, weights.node_mean), 2)

    # The softmax over the words and the node itself subtracts no maximum, because its arguments are sigmoids.
    gates = multiply(h, weights.node_words) if gates is None else gates
    f = direct.exp(direct.sigmoid(gates + direct.expand_dims(w_f, 1)))
    f_g = direct.exp(direct.sigmoid(w_g + u_g))
    total = direct.cast(f_g, wide) + _sum_words(f if inputs.mask_f is None else f * inputs.mask_f, wide)
    weighted = f * (c if m == 1 else ops.tile(c, (1, 1, m)))
    weighted = direct.cast(f_g * direct.reshape(c_g, (-1, m * d)), wide) + _sum_words(weighted, wide)
    if m > 1:
        f = multiply(g, weights.node_words) + direct.expand_dims(w_f, 1)  # (batch, node read, m d)
        f = direct.reshape(direct.exp(direct.sigmoid(f)), (-1, m, m, d))
        f = f * direct.reshape(1 - ops.eye(m, dtype=f.dtype), (1, m, m, 1))
        total = total + direct.reshape(_sum_words(f, wide), (-1, m * d))
        weighted = weighted + direct.reshape(_sum_words(f * direct.expand_dims(c_g, 2), wide), (-1, m * d))

    c_g = direct.cast(weighted / total, dtype)
    g = direct.sigmoid(w_o + u_o) * direct.tanh(c_g)
    return direct.reshape(g, (-1, m, d)), direct.reshape(c_g, (-1, m, d))


def _sum_words(x: Tensor, dtype: str) -> Tensor:
    return direct.add_up(direct.cast(x, dtype), axis=1)
