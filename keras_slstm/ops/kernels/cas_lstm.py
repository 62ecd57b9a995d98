"""The CAS-LSTM's loop over time with a hand-written gradient.

The gates are in the order i, f, c~, o and, above layer 1, g; sequences are time-major, `(time, batch, ...)`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_slstm.ops import cas_lstm as equation
from keras_slstm.ops.backend import direct
from keras_slstm.ops.backend.eager import saved_or_again
from keras_slstm.ops.backend.precision import accumulation_dtype
from keras_slstm.ops.backend.scan import scan
from keras_slstm.ops.cas_lstm import LayerWeights
from keras_slstm.ops.export_mode import in_export_mode
from keras_slstm.ops.projection import project
from keras_slstm.ops.reference import kernel_of
from keras_slstm.types import Tensor


@kernel_of(equation.sequence, exports=True)
def sequence(
    weights: LayerWeights,
    x: Tensor,
    h: Tensor,
    c: Tensor,
    lower_cells: Tensor | None = None,
    mask: Tensor | None = None,
    dropout_mask: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Always used: multiplies by W once, and stores only h and c, where autodiff would store every gate."""
    projected = project(x, weights.kernel, weights.bias)
    if weights.peephole is None:
        p1 = None
    else:
        p1, p2 = weights.peephole[0], weights.peephole[1]
        four = 4 * c.shape[-1]
        projected = ops.concatenate([projected[..., :four], projected[..., four:] + p2 * lower_cells], axis=-1)
    mask_f = None if mask is None else ops.cast(mask, projected.dtype)
    return _run(_Loop(projected, weights.recurrent_kernel, h, c, weights.lam, lower_cells, p1, mask_f, dropout_mask))


class _Loop(NamedTuple):
    """The arguments of the loop over time; all but the first four may be None.

    Attributes:
        projected: The pre-activations without the part that depends on the previous word, `(time, batch, G d)`.
        recurrent_kernel: U.
        h, c: The first state, `(batch, d)` each.
        lam: A number or `(d,)`.
        lower_cells: `(time, batch, d)`.
        p1: `(d,)`.
        mask_f: `(time, batch, 1)`, 1 at words and 0 at padding.
        dropout_mask: `(batch, d)`.
    """

    projected: Tensor
    recurrent_kernel: Tensor
    h: Tensor
    c: Tensor
    lam: Tensor | float | None
    lower_cells: Tensor | None
    p1: Tensor | None
    mask_f: Tensor | None
    dropout_mask: Tensor | None

    def weighted(self) -> tuple[Tensor | float | None, Tensor | None]:
        """The weight 1 - lam of the left cells (None for 1), and the lower cells times lam."""
        if self.lam is None or self.lower_cells is None:
            return None, self.lower_cells
        return 1 - self.lam, self.lam * self.lower_cells

    def read(self, h: Tensor) -> Tensor:
        """Apply the dropout mask to `h`."""
        return h if self.dropout_mask is None else h * self.dropout_mask


def _run(loop: _Loop) -> tuple[Tensor, Tensor]:
    """All states h and c.

    The gradient recomputes the gates of all words together, and that of U is one product instead of one per word.
    """
    if in_export_mode():  # no gradient is taken
        return _forward(loop)
    tensors = {name: x for name, x in loop._asdict().items() if x is not None and not isinstance(x, float)}

    @ops.custom_gradient
    def states(*args: Tensor) -> Any:
        inner = loop._replace(**dict(zip(tensors, args, strict=True)))
        hs, cs = _forward(inner)

        def gradient(*upstream: Tensor, **named: Tensor) -> tuple[Tensor, ...]:
            d_hs, d_cs = named["upstream"] if named else keras.tree.flatten(upstream)
            found = _backward(inner, *saved_or_again((hs, cs), lambda: _forward(inner)), d_hs, d_cs)
            return tuple(found[name] for name in tensors)

        # PyTorch accepts only one result, and never frees a gradient that refers to it.
        return ops.stack([hs, cs]) if keras.backend.backend() == "torch" else (hs, cs), gradient

    hs, cs = states(*tensors.values())
    return hs, cs


def _forward(loop: _Loop) -> tuple[Tensor, Tensor]:
    """The states h and c after every word."""
    one_minus_lam, lower = loop.weighted()
    inputs = {"projected": loop.projected}
    if lower is not None:
        inputs["lower"] = lower
    if loop.mask_f is not None:
        inputs["mask"] = ops.cast(loop.mask_f, "bool")

    d, kernel, activate = loop.h.shape[-1], loop.recurrent_kernel, _activate
    if keras.backend.backend() == "torch" and loop.p1 is None:
        # One sigmoid of adjacent gates saves copies, and the eager mode pays for every operation.
        kernel, inputs["projected"] = _c_tilde_last(kernel, d), _c_tilde_last(loop.projected, d)
        activate = _activate_adjacent

    def one_word(state: tuple[Tensor, ...], inputs_now: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        now = dict(zip(inputs, inputs_now))
        h, c = state
        i, f, c_tilde, o, *g = activate(now["projected"] + _from_left(kernel, loop.p1, loop.read(h), c), d)
        c = i * c_tilde + _times(one_minus_lam, f * c)
        if g:
            c = c + g[0] * now["lower"]
        new = (o * direct.tanh(c), c)
        return new if loop.mask_f is None else tuple(direct.where(now["mask"], x, y) for x, y in zip(new, state))

    hs, cs = scan(one_word, (loop.h, loop.c), tuple(inputs.values()))
    return hs, cs


def _backward(loop: _Loop, hs: Tensor, cs: Tensor, d_hs: Tensor, d_cs: Tensor) -> dict[str, Tensor]:
    """The gradients of the tensors in `loop`, by name, from the gradients of all h and c.

    The loop carries only the gradients of h and c; everything else is computed for all words together.
    """
    d = loop.h.shape[-1]
    one_minus_lam, lower = loop.weighted()
    h_read, c_before = loop.read(_states_before(loop.h, hs)), _states_before(loop.c, cs)
    i, f, c_tilde, o, *g = _activate(loop.projected + _from_left(loop.recurrent_kernel, loop.p1, h_read, c_before), d)
    tanh_c = direct.tanh(cs)

    # Derivatives of c_t (for the gate o: of h_t) with respect to the pre-activations; then those of h_t with respect to
    # c_t, and of c_t with respect to c_{t-1}.
    by_a = [
        c_tilde * i * (1 - i),
        _times(one_minus_lam, c_before * f * (1 - f)),
        i * (1 - c_tilde * c_tilde),
        tanh_c * o * (1 - o),
        *(lower * gate * (1 - gate) for gate in g),
    ]
    inputs = {
        "d_h": d_hs,
        "d_c": d_cs,
        "by_a": ops.concatenate(by_a, axis=-1),
        "h_by_c": o * (1 - tanh_c * tanh_c),
        "c_by_c": _times(one_minus_lam, f),
    }
    if loop.mask_f is not None:  # padding passes on the gradients of h and c
        inputs["by_a"] = inputs["by_a"] * loop.mask_f
        inputs["h_by_c"] = inputs["h_by_c"] * loop.mask_f
        inputs["padding"] = 1 - loop.mask_f
        inputs["c_by_c"] = inputs["c_by_c"] * loop.mask_f + inputs["padding"]
    transposed_kernel = ops.transpose(loop.recurrent_kernel)
    read = loop.recurrent_kernel.shape[-1]  # the gates that read U h

    def one_word(state: tuple[Tensor, ...], inputs_now: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        now = dict(zip(inputs, inputs_now))
        _, _, d_h, d_c = state
        d_h = d_h + now["d_h"]
        d_c = d_c + now["d_c"] + d_h * now["h_by_c"]
        d_a = ops.concatenate([d_c, d_c, d_c, d_h, *[d_c] * len(g)], axis=-1) * now["by_a"]
        d_h_before = loop.read((d_a if loop.p1 is None else d_a[:, :read]) @ transposed_kernel)
        d_c_before = d_c * now["c_by_c"]
        if loop.p1 is not None:
            d_c_before = d_c_before + d_a[:, read:] * loop.p1
        if loop.mask_f is not None:
            d_h_before = d_h_before + d_h * now["padding"]
        return d_a, d_c, d_h_before, d_c_before

    zero = ops.zeros_like(loop.h)
    zeros = ops.concatenate([zero] * (4 + len(g)), axis=-1), zero, zero, zero
    d_a, d_cs, d_h, d_c = scan(one_word, zeros, tuple(inputs.values()), reverse=True, num_stacked=2)

    if loop.mask_f is not None:
        d_cs = d_cs * loop.mask_f
    flat = [ops.reshape(x, (-1, x.shape[-1])) for x in (h_read, d_a[..., :read])]
    found = {"projected": d_a, "recurrent_kernel": ops.transpose(flat[0]) @ flat[1], "h": d_h, "c": d_c}
    if g:
        found["lower_cells"] = _times(loop.lam, d_cs * g[0])
    if loop.lam is not None and not isinstance(loop.lam, float):
        found["lam"] = _total(d_cs * (g[0] * loop.lower_cells - f * c_before))
    if loop.p1 is not None:
        found["p1"] = _total(d_a[..., read:] * c_before)
    for name in ("mask_f", "dropout_mask"):  # constants
        if getattr(loop, name) is not None:
            found[name] = ops.zeros_like(getattr(loop, name))
    return found


def _activate(a: Tensor, d: int) -> list[Tensor]:
    """Compute the gates from their pre-activations `(..., G d)`, two or three sigmoids in one operation.

    XLA fuses the sigmoid of a single gate with its consumers, and then vectorises none of them. TensorFlow without XLA
    spreads the sigmoid of more gates over threads, which costs more than it saves at this size.
    """
    i, f, c_tilde, o, *g = _split(a, d)
    if g:
        (i, g), (f, o) = _sigmoids(i, *g), _sigmoids(f, o)
        return [i, f, direct.tanh(c_tilde), o, g]
    i, f, o = _sigmoids(i, f, o)
    return [i, f, direct.tanh(c_tilde), o]


def _activate_adjacent(a: Tensor, d: int) -> list[Tensor]:
    """`_activate` for pre-activations in the order of `_c_tilde_last`."""
    sigmoids = a.shape[-1] - d
    i, f, o, *g = _split(direct.sigmoid(a[..., :sigmoids]), d)
    return [i, f, direct.tanh(a[..., sigmoids:]), o, *g]


def _c_tilde_last(a: Tensor, d: int) -> Tensor:
    """Put the gates of `(..., G d)` into the order i, f, o, g, c~."""
    i, f, c_tilde, o, *g = _split(a, d)
    return direct.concatenate([i, f, o, *g, c_tilde], axis=-1)


def _split(a: Tensor, d: int) -> list[Tensor]:
    """Split `(..., G d)` into gates."""
    return direct.split(a, a.shape[-1] // d)


def _sigmoids(*gates: Tensor) -> list[Tensor]:
    return direct.split(direct.sigmoid(direct.concatenate(gates, axis=-1)), len(gates))


def _from_left(recurrent_kernel: Tensor, p1: Tensor | None, h_read: Tensor, c: Tensor) -> Tensor:
    """The part of the pre-activations that depends on the previous word, for one word (rank 2) or all (rank 3)."""
    a = h_read @ recurrent_kernel if len(c.shape) == 2 else project(h_read, recurrent_kernel)
    return a if p1 is None else ops.concatenate([a, p1 * c], axis=-1)


def _states_before(first: Tensor, states: Tensor) -> Tensor:
    """The state before every word."""
    return ops.concatenate([ops.expand_dims(first, 0), states], axis=0)[:-1]


def _times(weight: Tensor | float | None, x: Tensor) -> Tensor:
    """`weight * x`, where None stands for 1."""
    return x if weight is None else weight * x


def _total(x: Tensor) -> Tensor:
    """Sum over time and batch, in at least float32."""
    dtype = keras.backend.standardize_dtype(x.dtype)
    return ops.cast(ops.sum(ops.cast(x, accumulation_dtype(dtype)), axis=(0, 1)), dtype)
