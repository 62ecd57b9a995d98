"""The recurrence of a CAS-LSTM layer over a sentence, with a gradient that is written by hand.

Sequences are time-major, `(time, batch, ...)`, and gates stand in the order i, f, c~, o and, above layer 1, g.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_slstm.ops.precision import accumulation_dtype, tanh
from keras_slstm.ops.projection import project
from keras_slstm.ops.scan import scan
from keras_slstm.types import Tensor


def update(a: list[Tensor], c: Tensor, left: Tensor | float | None, lower: Tensor | None) -> tuple[Tensor, Tensor]:
    """Eq. 7-13 (and in layer 1 eq. 1-6) from the pre-activations on.

    Args:
        a: W h_t^{l-1} + U h_{t-1}^l + b, `(..., d)` of each of the G gates.
        c: c_{t-1}^l, `(..., d)`.
        left: 1 - lam, or None for 1.
        lower: lam * c_t^{l-1}, `(..., d)`; None in layer 1.

    Returns:
        h_t^l and c_t^l.
    """
    i, f, candidate, o, *g = activate(a)
    c = i * candidate + weighted(f * c, left)
    if lower is not None:
        c = c + g[0] * lower
    return o * tanh(c), c


def gates_of(a: Tensor, d: int) -> list[Tensor]:
    """`(..., G d)` gate by gate."""
    return ops.split(a, a.shape[-1] // d, axis=-1)


def activate(a: list[Tensor]) -> list[Tensor]:
    """The gates i, f, c~, o and, above layer 1, g, `(..., d)` each, from their pre-activations.

    Sigmoids are taken of two or three gates at once, as a measure of speed. That of a single gate, XLA fuses with what
    is done with it, and then vectorises nothing of that; more at once, TensorFlow without XLA spreads over threads,
    which at this size costs more than it saves.
    """
    i, f, candidate, o, *g = a
    if g:
        (i, g), (f, o) = _sigmoids(i, *g), _sigmoids(f, o)
        return [i, f, tanh(candidate), o, g]
    i, f, o = _sigmoids(i, f, o)
    return [i, f, tanh(candidate), o]


def _sigmoids(*gates: Tensor) -> list[Tensor]:
    return ops.split(ops.sigmoid(ops.concatenate(gates, axis=-1)), len(gates), axis=-1)


def from_left(recurrent_kernel: Tensor, peephole: Tensor | None, h: Tensor, c: Tensor) -> Tensor:
    """The part of a that depends on the word before, of one word (rank 2) or of all (rank 3)."""
    a = h @ recurrent_kernel if len(h.shape) == 2 else project(h, recurrent_kernel)
    return a if peephole is None else ops.concatenate([a, peephole[0] * c], axis=-1)


def states_before(first: Tensor, states: Tensor) -> Tensor:
    """The states that the words started from: `first`, and all of `states` but the last."""
    return ops.concatenate([first[None], states[:-1]], axis=0)


def weighted(x: Tensor, weight: Tensor | float | None) -> Tensor:
    """`weight * x`, where None stands for 1."""
    return x if weight is None else weight * x


class Recurrence(NamedTuple):
    """What the recurrence of a layer works on; all but the first four may be None.

    Attributes:
        projected: The part of a that does not depend on the word before, `(time, batch, G d)`.
        recurrent_kernel: As in `LayerWeights`.
        h, c: The first state, `(batch, d)` each.
        left: 1 - lam, as in `LayerWeights`.
        lower: lam * c_t^{l-1}, `(time, batch, d)`.
        peephole: As in `LayerWeights`; here, only p1 is used.
        mask, noise: As of `sequence`.
    """

    projected: Tensor
    recurrent_kernel: Tensor
    h: Tensor
    c: Tensor
    left: Tensor | float | None
    lower: Tensor | None
    peephole: Tensor | None
    mask: Tensor | None
    noise: Tensor | None


def run(r: Recurrence) -> tuple[Tensor, Tensor]:
    """All states h and c of a recurrence, with a gradient that is written by hand.

    It keeps the states only and computes the gates again, of all words at once, where differentiation would keep
    every intermediate result of every step; and the gradient of U is one product instead of one a step.
    """
    tensors = {name: x for name, x in r._asdict().items() if x is not None and not isinstance(x, float)}

    @ops.custom_gradient
    def states(*args: Tensor) -> Any:
        inner = r._replace(**dict(zip(tensors, args, strict=True)))
        hs, cs = _forward(inner)

        def gradient(*upstream: Tensor, **named: Tensor) -> tuple[Tensor, ...]:
            d_hs, d_cs = named["upstream"] if named else keras.tree.flatten(upstream)
            found = _backward(inner, hs, cs, d_hs, d_cs, tuple(tensors))
            return tuple(found[name] for name in tensors)

        # On PyTorch there is one result only, and a gradient that holds on to it would never be freed.
        return ops.stack([hs, cs]) if keras.backend.backend() == "torch" else (hs, cs), gradient

    hs, cs = states(*tensors.values())
    return hs, cs


def _forward(r: Recurrence) -> tuple[Tensor, Tensor]:
    """The states h and c after every word."""
    inputs = {"projected": r.projected}
    if r.lower is not None:
        inputs["lower"] = r.lower
    if r.mask is not None:
        inputs["real"] = ops.cast(r.mask, "bool")

    d = r.h.shape[-1]
    # On a CPU, TensorFlow without XLA takes two thirds of the time for a product for each gate, side by side, that it
    # takes for one of all gates. On JAX and PyTorch, one is faster; on a GPU, it spares launches.
    apart = gates_of(r.recurrent_kernel, d) if keras.backend.backend() == "tensorflow" and not _has_gpu() else []

    def one_word(state: tuple[Tensor, ...], inputs_now: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        at = dict(zip(inputs, inputs_now))
        h, c = state
        h_read = h if r.noise is None else h * r.noise
        if apart:
            left = [h_read @ kernel for kernel in apart]
            left += [] if r.peephole is None else [r.peephole[0] * c]
            a = [x + y for x, y in zip(gates_of(at["projected"], d), left, strict=True)]
        else:
            a = gates_of(at["projected"] + from_left(r.recurrent_kernel, r.peephole, h_read, c), d)
        new = update(a, c, r.left, at.get("lower"))
        if r.mask is not None:
            new = tuple(ops.where(at["real"], x, old) for x, old in zip(new, state))
        return new

    hs, cs = scan(one_word, (r.h, r.c), tuple(inputs.values()))
    return hs, cs


def _backward(
    r: Recurrence, hs: Tensor, cs: Tensor, d_hs: Tensor, d_cs: Tensor, needed: tuple[str, ...]
) -> dict[str, Tensor]:
    """The gradients of what is `needed` of `r`, by name, from those of all h and c.

    What can be computed for all words at once is: the loop only carries the gradients of h and c backwards.
    """
    d = r.h.shape[-1]
    h_read, c_before = states_before(r.h, hs), states_before(r.c, cs)
    if r.noise is not None:
        h_read = h_read * r.noise
    a = r.projected + from_left(r.recurrent_kernel, r.peephole, h_read, c_before)
    i, f, candidate, o, *g = activate(gates_of(a, d))
    tanh_c = tanh(cs)

    # Derivatives of c_t (of h_t for the gate o) by the pre-activations, of h_t by c_t, and of c_t by c_{t-1}.
    by_a = [
        candidate * i * (1 - i),
        weighted(c_before * f * (1 - f), r.left),
        i * (1 - candidate * candidate),
        tanh_c * o * (1 - o),
    ]
    if g:
        by_a.append(r.lower * g[0] * (1 - g[0]))
    inputs = {
        "d_h": d_hs,
        "d_c": d_cs,
        "by_a": ops.concatenate(by_a, axis=-1),
        "h_by_c": o * (1 - tanh_c * tanh_c),
        "c_by_c": weighted(f, r.left),
    }
    if r.mask is not None:  # padding hands the gradients of h and c on
        inputs["by_a"] = inputs["by_a"] * r.mask
        inputs["h_by_c"] = inputs["h_by_c"] * r.mask
        inputs["padding"] = 1 - r.mask
        inputs["c_by_c"] = inputs["c_by_c"] * r.mask + inputs["padding"]
    transposed_kernel = ops.transpose(r.recurrent_kernel)
    read = r.recurrent_kernel.shape[-1]  # the gates of which U is a part

    def one_word(state: tuple[Tensor, ...], inputs_now: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        at = dict(zip(inputs, inputs_now))
        _, _, d_h, d_c = state
        d_h = d_h + at["d_h"]
        d_c = d_c + at["d_c"] + d_h * at["h_by_c"]
        d_a = ops.concatenate([d_c, d_c, d_c, d_h, *[d_c] * len(g)], axis=-1) * at["by_a"]
        d_h_before = (d_a if r.peephole is None else d_a[:, :read]) @ transposed_kernel
        d_c_before = d_c * at["c_by_c"]
        if r.noise is not None:
            d_h_before = d_h_before * r.noise
        if r.peephole is not None:
            d_c_before = d_c_before + d_a[:, read:] * r.peephole[0]
        if r.mask is not None:
            d_h_before = d_h_before + d_h * at["padding"]
        return d_a, d_c, d_h_before, d_c_before

    zero = ops.zeros_like(r.h)
    zeros = ops.concatenate([zero] * (4 + len(g)), axis=-1), zero, zero, zero
    d_a, d_cs, d_h, d_c = scan(one_word, zeros, tuple(inputs.values()), reverse=True, num_stacked=2)

    if r.mask is not None:
        d_cs = d_cs * r.mask
    flat = [ops.reshape(x, (-1, x.shape[-1])) for x in (h_read, d_a[..., :read])]
    found = {"projected": d_a, "recurrent_kernel": ops.transpose(flat[0]) @ flat[1], "h": d_h, "c": d_c}
    if g:
        found["lower"] = d_cs * g[0]
    if "left" in needed:
        found["left"] = _total(d_cs * f * c_before)
    if r.peephole is not None:
        p1 = _total(d_a[..., read:] * c_before)
        found["peephole"] = ops.stack([p1, ops.zeros_like(p1)])
    for name in {"mask", "noise"} & set(needed):
        found[name] = ops.zeros_like(getattr(r, name))
    return found


def _has_gpu() -> bool:
    import tensorflow as tf

    return bool(tf.config.list_physical_devices("GPU"))


def _total(x: Tensor) -> Tensor:
    """Sum over time and batch, in at least float32."""
    dtype = keras.backend.standardize_dtype(x.dtype)
    return ops.cast(ops.sum(ops.cast(x, accumulation_dtype(dtype)), axis=(0, 1)), dtype)
