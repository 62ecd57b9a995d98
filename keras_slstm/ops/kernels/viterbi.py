"""Viterbi decoding without a table of backpointers."""

from __future__ import annotations

import keras
from keras import ops

from keras_slstm.ops import crf as equation
from keras_slstm.ops.backend.argmax import argmax
from keras_slstm.ops.backend.eager import runs_torch_eagerly
from keras_slstm.ops.backend.scan import scan
from keras_slstm.ops.backend.traceable import amax
from keras_slstm.ops.crf import Potentials, time_first
from keras_slstm.ops.export_mode import in_export_mode
from keras_slstm.ops.kernels import viterbi_numpy, viterbi_tensorflow
from keras_slstm.ops.kernels.tensorflow_context import inside_xla
from keras_slstm.ops.masks import is_first
from keras_slstm.ops.reference import kernel_of
from keras_slstm.types import Tensor, Tensors


@kernel_of(equation.best_labels)
def best_labels(potentials: Potentials) -> Tensor:
    """Always used: stores only the scores, and computes the backpointers of one sequence on the way back."""
    if runs_torch_eagerly(*potentials) and potentials.unary.device.type == "cpu":
        import torch

        return torch.from_numpy(viterbi_numpy.best_labels(*(part.detach().numpy() for part in potentials)))
    if keras.backend.backend() == "tensorflow" and not inside_xla() and not in_export_mode():
        return viterbi_tensorflow.best_labels(potentials)
    unary, transitions, mask = potentials
    pairwise = potentials.pairwise
    masks = time_first(mask)[..., None]
    first = time_first(is_first(mask))[..., None]
    unary = time_first(unary)
    # [to, from], because the maximum over the last axis is the fastest.
    into = ops.swapaxes(time_first(transitions) if pairwise else transitions, -1, -2)

    def step(state: Tensors, at_time: Tensors) -> Tensors:
        (best,) = state
        u, first_t, mask_t, *own = at_time
        # Without the shift, long sentences would lose precision. (Shifting `message` instead costs XLA three times as
        # much, because it computes all of `message` twice.)
        shifted = best - amax(best, axis=1, keepdims=True)
        message = amax(shifted[:, None, :] + (own[0] if own else into), axis=2)
        return (ops.where(mask_t, ops.where(first_t, ops.zeros_like(message), message) + u, best),)

    zeros = ops.sum(ops.zeros_like(unary), axis=0)
    own = [into] if pairwise else []
    (best,) = scan(step, (zeros,), (unary, first, masks, *own))
    best = ops.concatenate([zeros[None], best], axis=0)

    def back(state: Tensors, at_time: Tensors) -> Tensors:
        (label,) = state
        before, mask_t, *own = at_time
        if own:
            rows = ops.take_along_axis(own[0], label[:, None, None], axis=1)[:, 0]
        else:
            rows = ops.take(into, label, axis=0)
        return (ops.where(mask_t, argmax(before + rows, axis=1), label),)

    label = argmax(best[-1], axis=1)
    (labels,) = scan(back, (label,), (best[:-1], masks[..., 0], *own), reverse=True)
    labels = ops.transpose(ops.concatenate([labels, label[None]], axis=0)[1:])
    return ops.where(mask, labels, ops.zeros_like(labels))
