"""The forward-backward recursion of a linear-chain CRF in plain PyTorch; a Keras operation costs as much as five."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from keras_slstm.ops.crf import PENALTY, Potentials, is_forbidden
from keras_slstm.ops.kernels.crf_log_space import Score, once_differentiable
from keras_slstm.types import Tensor


class Order(NamedTuple):
    """The words of each sentence moved to the front, so that all recursions start at the first step.

    Attributes:
        words: `(time, batch)` bool: whether a step has a word.
        rows: `(time, 2, batch)`: the index of each step's word in `(batch * time, ...)`, in forward and in reverse
            order. Steps without a word have masked positions.
        reversed_index: `(time, batch)`: maps each forward step to the reverse step of the same word, and vice versa,
            as an index into `(time * batch, ...)`.
    """

    words: Tensor
    rows: Tensor
    reversed_index: Tensor


def order_of(mask: Tensor) -> Order:
    """Compute the order of the words in a mask, `(batch, time)` bool."""
    batch, time = mask.shape
    words, position = torch.sort(mask, dim=1, descending=True, stable=True)
    steps = torch.arange(time, device=mask.device)
    row = torch.arange(batch, device=mask.device)
    place = torch.where(words, words.sum(1, keepdim=True) - 1 - steps, steps)
    rows = torch.stack((position, position.gather(1, place))) + (row * time)[:, None]
    return Order(words.t(), rows.permute(2, 0, 1), place.t() * batch + row)


def with_gradient(function: Callable[[Potentials], Score], potentials: Potentials) -> Tensor:
    """Return the value of a `Score` with its gradient attached."""
    found: Tensor = _WithGradient.apply(function, *potentials)  # type: ignore[no-untyped-call]
    return found


class _WithGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, function: Any, unary: Tensor, transitions: Tensor, mask: Tensor) -> Tensor:
        ctx.save_for_backward(unary, transitions)
        found = function(Potentials(unary.detach(), transitions.detach(), mask))
        ctx.gradient = found.gradient
        value: Tensor = found.value
        return value

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        return None, *once_differentiable(ctx.gradient(upstream), ctx.saved_tensors), None


def log_partition(potentials: Potentials, order: Order | None = None) -> tuple[Score, Tensor]:
    """Log Z and whether it is reliable, like `crf_scaled.log_partition`."""
    if potentials.pairwise:
        from keras_slstm.ops.kernels import crf_torch_pairwise

        return crf_torch_pairwise.log_partition(potentials)
    unary, transitions, mask = potentials
    batch, time, labels = unary.shape
    words, rows, reversed_index = order or order_of(mask)
    onward = rows[:, 0].reshape(-1)
    max_unary = unary.amax(2)
    e = _rows(torch.exp(unary - max_unary[..., None])).index_select(0, rows.reshape(-1)).view(time, 2, batch, labels)
    max_transition = transitions.amax()
    E = torch.exp(transitions - max_transition)
    both = torch.stack((E, E.t()))
    steps = max_transition * (words.sum(0) - 1)

    # At each word: the sum that reaches it, times its own score, divided by the largest value.
    message, p, peak = torch.ones_like(e), torch.empty_like(e), e.new_empty((time, 2, batch, 1))
    before = None
    for message_t, e_t, p_t, peak_t in zip(message.unbind(), e.unbind(), p.unbind(), peak.unbind()):
        if before is not None:
            torch.bmm(before, both, out=message_t)
        torch.mul(message_t, e_t, out=p_t)
        torch.amax(p_t, 2, keepdim=True, out=peak_t)
        before = p_t.div_(peak_t)

    p, e, peak = p[:, 0], e[:, 0], peak[:, 0]
    q = message[:, 1].reshape(-1, labels).index_select(0, reversed_index.reshape(-1)).view(p.shape)
    total = (p * q).sum(2, keepdim=True)
    info = torch.finfo(e.dtype)
    reliable = ((peak * total)[..., 0] > info.tiny / info.eps**2).logical_or(~words).all()
    # The last word is the first one in reverse order.
    last = p.reshape(-1, labels).index_select(0, reversed_index[0]).sum(1)
    zero = e.new_zeros(())
    logs = torch.where(words, peak[..., 0].log(), zero).sum(0) + torch.where(mask, max_unary, zero).sum(1)
    value = torch.where(words[0], logs + last.log() + steps, zero)

    def gradient(upstream: Tensor) -> tuple[Tensor, Tensor]:
        share = torch.where(words[..., None], q / total * upstream[:, None], zero)
        d_unary = torch.empty_like(_rows(unary)).index_copy_(0, onward, _rows(p * share)).view(unary.shape)
        before = torch.where(words[1:, :, None], p[:-1], zero)
        share = e[1:] * (share / peak)[1:]
        return d_unary, E * (_rows(before).t() @ _rows(share))

    return Score(value, gradient), reliable


def score(potentials: Potentials, labels: Tensor, order: Order | None = None) -> Score:
    """The score of known labels; a forbidden label or pair scores `PENALTY`."""
    unary, transitions, mask = potentials
    k = unary.shape[2]
    words, rows, _ = order or order_of(mask)
    rows = rows[:, 0]
    y = labels.reshape(-1)[rows].long()
    exists = words & (y >= 0) & (y < k)
    y = y.clamp(0, k - 1)
    here = rows * k + y
    pair = y[:-1] * k + y[1:]
    if potentials.pairwise:
        pair = pair + rows[1:] * k**2

    def chosen(scores: Tensor, index: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        """Sum the scores at an index for each sentence; also return which of them are not penalties."""
        found = scores.reshape(-1)[index]
        own = counts & ~is_forbidden(found)
        return torch.where(own, found, counts * found.new_full((), PENALTY)).sum(0), own

    value, own = chosen(unary, here, exists)
    steps, own_steps = chosen(transitions, pair, exists[1:] & exists[:-1])

    def gradient(upstream: Tensor) -> tuple[Tensor, Tensor]:
        def scattered(x: Tensor, index: Tensor, own: Tensor) -> Tensor:
            return x.new_zeros(x.numel()).index_add_(0, index.reshape(-1), (own * upstream).reshape(-1)).view(x.shape)

        return scattered(unary, here, own), scattered(transitions, pair, own_steps)

    return Score(value + steps, gradient)


def likelihood(potentials: Potentials, labels: Tensor) -> tuple[Score, Score, Tensor, Tensor]:
    """The score of the labels, log Z, whether log Z is reliable, and whether all labels are known."""
    order = order_of(potentials.mask)
    log_z, reliable = log_partition(potentials, order)
    known = ((labels >= 0) & (labels < potentials.unary.shape[2])).logical_or(~potentials.mask).all()
    return score(potentials, labels, order), log_z, reliable, known


def _rows(x: Any) -> Any:
    """Merge all axes but the last."""
    return x.reshape(-1, x.shape[-1])
