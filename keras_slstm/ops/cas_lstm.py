"""CAS-LSTM, layer by layer: eq. 1-13, 17 and 18 of Choi, Kim and Lee (ACML 2019), as pure functions.

Layer 1 is an LSTM; a layer above it also reads the cells of the layer below. Sequences are time-major here,
`(time, batch, ...)`, and gates stand in the order i, f, c~, o and, above layer 1, g.
"""

from __future__ import annotations

from typing import NamedTuple

from keras import ops

from keras_slstm.ops.cas_lstm_recurrence import (
    Recurrence,
    activate,
    from_left,
    gates_of,
    run,
    states_before,
    update,
    weighted,
)
from keras_slstm.types import Tensor


class LayerWeights(NamedTuple):
    """The weights of one layer, with e input features, d units and G gates (4 in layer 1, 5 above it).

    Attributes:
        kernel: W, `(e, G d)`.
        recurrent_kernel: U, `(d, G d)`; with peepholes `(d, 4 d)`, as g does not read h.
        bias: b, `(G d,)`.
        left: The weight of the left cell, 1 - lam: a number or `(d,)`; None for 1.
        lower: The weight of the lower cell, lam: likewise.
        peephole: p1 and p2, `(2, d)`, or None.
    """

    kernel: Tensor
    recurrent_kernel: Tensor
    bias: Tensor
    left: Tensor | float | None = None
    lower: Tensor | float | None = None
    peephole: Tensor | None = None


def step(
    weights: LayerWeights, x: Tensor, h: Tensor, c: Tensor, lower_cell: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """One word through one layer.

    Args:
        weights: Those of the layer.
        x: Its input, `(batch, e)`.
        h, c: Its state after the word before, `(batch, d)` each.
        lower_cell: The new cell of the layer below, `(batch, d)`; None in layer 1.

    Returns:
        The new h and c.
    """
    projected, lower = _from_below(weights, x @ weights.kernel + weights.bias, lower_cell)
    a = projected + from_left(weights.recurrent_kernel, weights.peephole, h, c)
    return update(gates_of(a, c.shape[-1]), c, weights.left, lower)


def sequence(
    weights: LayerWeights,
    x: Tensor,
    h: Tensor,
    c: Tensor,
    lower_cells: Tensor | None = None,
    mask: Tensor | None = None,
    noise: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """All words through one layer, from the first to the last.

    Args:
        weights: Those of the layer.
        x: Its inputs, `(time, batch, e)`.
        h, c: Its state before the first word, `(batch, d)` each.
        lower_cells: The cells of the layer below, `(time, batch, d)`; None in layer 1.
        mask: `(time, batch, 1)`, 1 at words and 0 at padding, which leaves h and c as they are; None if there is none.
        noise: Factors of recurrent dropout for h where it enters products, `(batch, d)`, or None.

    Returns:
        h and c after every word, `(time, batch, d)` each.
    """
    projected, lower = _from_below(weights, _project(x, weights), lower_cells)
    return run(
        Recurrence(projected, weights.recurrent_kernel, h, c, weights.left, lower, weights.peephole, mask, noise)
    )


def gates(
    weights: LayerWeights,
    x: Tensor,
    h: Tensor,
    c: Tensor,
    hs: Tensor,
    cs: Tensor,
    lower_cells: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:
    """The output gate o and the vertical gate g (None in layer 1) of all words, `(time, batch, d)` each.

    Args:
        weights, x, h, c, lower_cells: As of `sequence`.
        hs, cs: What `sequence` returned.
    """
    projected, _ = _from_below(weights, _project(x, weights), lower_cells)
    h, c = states_before(h, hs), states_before(c, cs)
    a = projected + from_left(weights.recurrent_kernel, weights.peephole, h, c)
    _, _, _, o, *g = activate(gates_of(a, c.shape[-1]))
    return o, g[0] if g else None


def _project(x: Tensor, weights: LayerWeights) -> Tensor:
    """`x W + b` of all words, as a product of two matrices, which takes b along where the backend can."""
    product = ops.reshape(x, (-1, x.shape[-1])) @ weights.kernel + weights.bias
    return ops.reshape(product, (-1, ops.shape(x)[1], product.shape[-1]))


def _from_below(weights: LayerWeights, a: Tensor, lower_cell: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """What a layer takes from the layer below: the part of a that depends on it, and lam * c_t^{l-1}.

    Args:
        weights: Those of the layer.
        a: Its input times W, and b.
        lower_cell: c_t^{l-1}, or None in layer 1.
    """
    if lower_cell is None:
        return a, None
    if weights.peephole is not None:  # p2 of eq. 17
        four = 4 * lower_cell.shape[-1]
        a = ops.concatenate([a[..., :four], a[..., four:] + weights.peephole[1] * lower_cell], axis=-1)
    return a, weighted(lower_cell, weights.lower)
