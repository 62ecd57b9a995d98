"""CAS-LSTM (Choi, Kim and Lee, ACML 2019), one layer at a time: eq. 1-13, 17 and 18.

Layer 1 is an LSTM (eq. 1-6). A layer l > 1 also reads the cells of the layer below. Sequences are time-major,
`(time, batch, ...)`.
"""

from __future__ import annotations

from typing import NamedTuple

from keras import ops

from keras_slstm.ops.backend.precision import tanh
from keras_slstm.ops.backend.scan import scan
from keras_slstm.types import Tensor


class LayerWeights(NamedTuple):
    """The weights of one layer, with e input features and d units.

    The G gates are in the order i, f, c~, o (G = 4) and, for l > 1, g (G = 5).

    Attributes:
        kernel: W, `(e, G d)`.
        recurrent_kernel: U, `(d, G d)`; with peepholes `(d, 4 d)`, because g does not read h.
        bias: b, `(G d,)`.
        lam: A number or `(d,)`. None gives both cells the weight 1 (eq. 18).
        peephole: p1 and p2, `(2, d)`, or None.
    """

    kernel: Tensor
    recurrent_kernel: Tensor
    bias: Tensor
    lam: Tensor | float | None = None
    peephole: Tensor | None = None


class Gates(NamedTuple):
    """The gates of one word or of several, `(..., d)` each; g is None in layer 1."""

    i: Tensor
    f: Tensor
    c_tilde: Tensor
    o: Tensor
    g: Tensor | None = None


def gates(weights: LayerWeights, x: Tensor, h_left: Tensor, c_left: Tensor, c_lower: Tensor | None = None) -> Gates:
    """Eq. 7-11 (in layer 1: eq. 1-4), and with peepholes eq. 17 for g.

    Args:
        weights: The weights of layer l.
        x: h_t^{l-1}, or the word in layer 1, `(..., e)`.
        h_left, c_left: h_{t-1}^l and c_{t-1}^l, `(..., d)`.
        c_lower: c_t^{l-1}, `(..., d)`; None in layer 1.
    """
    left = h_left @ weights.recurrent_kernel
    if weights.peephole is not None:
        p1, p2 = weights.peephole[0], weights.peephole[1]
        left = ops.concatenate([left, p1 * c_left + p2 * c_lower], axis=-1)
    a = x @ weights.kernel + left + weights.bias
    i, f, c_tilde, o, *g = ops.split(a, a.shape[-1] // c_left.shape[-1], axis=-1)
    return Gates(ops.sigmoid(i), ops.sigmoid(f), tanh(c_tilde), ops.sigmoid(o), *map(ops.sigmoid, g))


def step(
    weights: LayerWeights, x: Tensor, h_left: Tensor, c_left: Tensor, c_lower: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Compute h_t^l and c_t^l of one word. The arguments are those of `gates`."""
    i, f, c_tilde, o, g = gates(weights, x, h_left, c_left, c_lower)
    lam = weights.lam
    if g is None:
        c = i * c_tilde + f * c_left  # eq. 5
    elif lam is None:
        c = i * c_tilde + f * c_left + g * c_lower  # eq. 18
    else:
        c = i * c_tilde + (1 - lam) * f * c_left + lam * g * c_lower  # eq. 12
    return o * tanh(c), c  # eq. 13


def sequence(
    weights: LayerWeights,
    x: Tensor,
    h: Tensor,
    c: Tensor,
    lower_cells: Tensor | None = None,
    mask: Tensor | None = None,
    dropout_mask: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Run one layer over all words, from the first to the last.

    Args:
        weights: The weights of the layer.
        x: Its inputs, `(time, batch, e)`.
        h, c: Its state before the first word, `(batch, d)` each.
        lower_cells: The cells of the layer below, `(time, batch, d)`; None in layer 1.
        mask: `(time, batch, 1)` bool, True at real words; padding leaves h and c as they are. None if all are real.
        dropout_mask: `(batch, d)`, multiplies h before U does, or None.

    Returns:
        h and c after every word, `(time, batch, d)` each.
    """
    inputs = {"x": x, "c_lower": lower_cells, "mask": mask}
    inputs = {name: value for name, value in inputs.items() if value is not None}

    def one_word(state: tuple[Tensor, ...], inputs_now: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        now = dict(zip(inputs, inputs_now, strict=True))
        h, c = state
        h_read = h if dropout_mask is None else h * dropout_mask
        new = step(weights, now["x"], h_read, c, now.get("c_lower"))
        return new if mask is None else tuple(ops.where(now["mask"], a, b) for a, b in zip(new, state, strict=True))

    hs, cs = scan(one_word, (h, c), tuple(inputs.values()))
    return hs, cs
