"""Packs CRF potentials in plain PyTorch, with one copy for the result and one for the gradient."""

from __future__ import annotations

from typing import Any

import torch

from keras_slstm.ops.backend.precision import accumulation_dtype
from keras_slstm.ops.crf import FORBIDDEN, Potentials
from keras_slstm.types import Tensor


def pack(unary: Tensor, transitions: Tensor, mask: Tensor) -> Tensor:
    """Like `crf_potentials.pack`."""
    found: Tensor = _Pack.apply(unary, transitions, mask)  # type: ignore[no-untyped-call]
    return found


def unpack(potentials: Tensor) -> Potentials | None:
    """Like `crf_potentials.unpack`, but return None if the mask column contains anything but a mask."""
    dtype = accumulation_dtype(str(potentials.dtype).removeprefix("torch."))
    potentials = potentials.to(getattr(torch, dtype))
    labels = potentials.shape[-1] - 1
    values = (potentials[:, :-labels] if potentials.ndim == 3 else potentials[:, :, labels])[..., labels].detach()
    mask = values > 0.5
    if not (potentials.is_meta or torch.equal(values, mask.to(values.dtype))):
        return None
    if potentials.requires_grad and torch.is_grad_enabled():
        unary, transitions = _Unpack.apply(potentials, mask)  # type: ignore[no-untyped-call]
        return Potentials(unary, transitions, mask)
    return Potentials(*_bounded_scores(potentials, mask), mask)


def _bounded_scores(packed: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """New unary scores, 0 where masked, and transitions, both with `FORBIDDEN` in place of -inf."""
    pairwise = packed.ndim == 4
    unary, transitions, _, _ = _parts(packed, pairwise)
    # All sentences share the transitions, unless they are pairwise. A sum, because an empty batch has no first one.
    transitions = transitions if pairwise else transitions[:1].sum(0)
    return unary.masked_fill(~mask[..., None], 0).clamp_(min=FORBIDDEN), transitions.clamp(min=FORBIDDEN)


def _parts(packed: Tensor, pairwise: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Views of the unary scores, the transitions, the mask, and the column beside the transitions."""
    labels = packed.shape[-1] - 1
    words = packed[:, :, labels] if pairwise else packed[:, :-labels]
    below = packed[:, :, :labels] if pairwise else packed[:, -labels:]
    return words[..., :labels], below[..., :labels], words[..., labels], below[..., labels]


class _Pack(torch.autograd.Function):
    """Packs the potentials; its gradients are views of the packed tensor's gradient."""

    @staticmethod
    def forward(ctx: Any, unary: Tensor, transitions: Tensor, mask: Tensor) -> Tensor:
        batch, time, labels = unary.shape
        pairwise = ctx.pairwise = transitions.ndim == 4
        packed = unary.new_empty(
            (batch, time, labels + 1, labels + 1) if pairwise else (batch, time + labels, labels + 1)
        )
        for part, values in zip(_parts(packed, pairwise), (unary, transitions, mask)):
            part.copy_(values)
        _parts(packed, pairwise)[3].zero_()
        return packed

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, Tensor, None]:  # type: ignore[override]
        d_unary, d_transitions, _, _ = _parts(upstream, ctx.pairwise)
        return d_unary, d_transitions if ctx.pairwise else d_transitions.sum(0), None


class _Unpack(torch.autograd.Function):
    """Takes the scores apart; its gradient is a single tensor."""

    @staticmethod
    def forward(ctx: Any, packed: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        ctx.pairwise = packed.ndim == 4
        ctx.save_for_backward(mask)
        return _bounded_scores(packed, mask)

    @staticmethod
    def backward(ctx: Any, d_unary: Tensor, d_transitions: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        (mask,) = ctx.saved_tensors
        *beginning, labels = d_unary.shape
        size = (
            (*beginning, labels + 1, labels + 1) if ctx.pairwise else (beginning[0], beginning[1] + labels, labels + 1)
        )
        packed = d_unary.new_zeros(size)
        _parts(packed, ctx.pairwise)[0].copy_(d_unary.masked_fill(~mask[..., None], 0))
        # A new view: if this gradient is differentiated, PyTorch refuses to write into one from before another copy.
        into_transitions = _parts(packed, ctx.pairwise)[1]
        (into_transitions if ctx.pairwise else into_transitions[:1]).copy_(d_transitions)
        return packed, None
