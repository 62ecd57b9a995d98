"""The forward-backward recursion of the pairwise CRF in plain PyTorch; both loops read one copy of the transitions."""

from __future__ import annotations

import torch

from keras_slstm.ops.crf import Potentials
from keras_slstm.ops.kernels.crf_log_space import Score
from keras_slstm.ops.masks import is_first
from keras_slstm.types import Tensor


def log_partition(potentials: Potentials) -> tuple[Score, Tensor]:
    """Log Z and whether it is reliable, like `crf_scaled.log_partition`."""
    unary, transitions, mask = potentials
    batch, time, labels = unary.shape
    words = mask.t()[..., None]
    counts = mask & ~is_first(mask)  # words with a transition
    max_unary = unary.amax(2)
    e = torch.exp(unary - max_unary[..., None]).transpose(0, 1).contiguous()
    e = e.masked_fill_(~words, 1)
    max_transition = transitions.flatten(2).amax(2)
    E = torch.sub(transitions, max_transition[..., None, None]).exp_()
    E[~counts] = torch.eye(labels, dtype=E.dtype, device=E.device)  # hands on the state where no transition counts
    at_time = E.unbind(1)

    # The sums that reach each word from both sides; the former times the word's own score, over its largest value.
    message, p, q = (e.new_ones((time, batch, labels)) for _ in range(3))
    peak = e.new_empty((time, batch, 1))
    before = e.new_ones((batch, 1, labels))
    as_rows = (x[:, :, None].unbind() for x in (message, e, p, peak))
    for E_t, message_t, e_t, p_t, peak_t in zip(at_time, *as_rows):
        torch.bmm(before, E_t, out=message_t)
        torch.mul(message_t, e_t, out=p_t)
        torch.amax(p_t, 2, keepdim=True, out=peak_t)
        before = p_t.div_(peak_t)
    q_at, e_at = q[..., None].unbind(), e[..., None].unbind()
    for t in range(time - 1, 0, -1):
        after = torch.bmm(at_time[t], q_at[t] * e_at[t])
        torch.div(after, after.amax(1, keepdim=True), out=q_at[t - 1])

    total = (p * q).sum(2, keepdim=True)
    info = torch.finfo(e.dtype)
    reliable = (peak * total > info.tiny / info.eps**2).logical_or(~words).all()
    zero = e.new_zeros(())
    logs = torch.where(words, peak.log(), zero).sum((0, 2)) + torch.where(mask, max_unary, zero).sum(1)
    value = logs + torch.where(mask.any(1), p[-1].sum(1).log(), zero) + torch.where(counts, max_transition, zero).sum(1)

    def gradient(upstream: Tensor) -> tuple[Tensor, Tensor]:
        share = torch.where(words, q / total * upstream[:, None], zero)
        before = torch.cat((torch.zeros_like(p[:1]), p[:-1])).transpose(0, 1).masked_fill(~counts[..., None], 0)
        reached = (e * (share / peak)).transpose(0, 1)
        d_transitions = (E * before[..., None]).mul_(reached[:, :, None])
        return (p * share).transpose(0, 1), d_transitions

    return Score(value, gradient), reliable
