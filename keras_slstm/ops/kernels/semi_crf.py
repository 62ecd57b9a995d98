"""The semi-Markov CRF's sum over all segmentations, with a hand-written gradient."""

from __future__ import annotations

from typing import Any

from keras import ops

from keras_slstm.ops import semi_crf as equation
from keras_slstm.ops.kernels.crf_log_space import once_differentiable
from keras_slstm.ops.masks import is_first, zero_padding
from keras_slstm.ops.positions import index_before, take_words
from keras_slstm.ops.reference import kernel_of
from keras_slstm.ops.semi_crf import SegmentPotentials, Sums
from keras_slstm.types import Tensor, Tensors


@kernel_of(equation.log_partition)
def log_partition(potentials: SegmentPotentials) -> Tensor:
    """Always used: stores time * labels^2 for the gradient, where autodiff would also store all open segments."""

    @ops.custom_gradient
    def compute(*scores: Tensor) -> tuple[Any, ...]:
        parts = SegmentPotentials(*(*map(ops.stop_gradient, scores[:5]), scores[5] > 0.5))
        sums = equation.forward(parts)

        def gradient(*inputs: Tensor, upstream: Tensor | None = None) -> Tensors:
            # PyTorch passes the inputs by position and the gradient by name.
            d_total = inputs[0] if upstream is None else upstream
            inputs = scores if upstream is None else inputs
            return (*once_differentiable(_counts(parts, sums, d_total), inputs[:5]), ops.zeros_like(scores[5]))

        return sums.total, gradient

    found: Tensor = compute(*potentials[:5], ops.cast(potentials.mask, potentials.unary.dtype))
    return found


def _counts(potentials: SegmentPotentials, sums: Sums, upstream: Tensor) -> tuple[Tensor, ...]:
    """The gradient of log Z: the expected count of each scored event, times `upstream`."""
    found = equation.probabilities(potentials, sums, equation.backward(potentials))
    mask = potentials.mask
    before = take_words(sums.until, index_before(mask))[..., None]
    pairs = ops.exp(before + potentials.transitions - sums.into[:, :, None]) * found.begin[:, :, None]
    pairs = zero_padding(pairs, (mask & ~is_first(mask))[..., None])
    scale = upstream[:, None, None]
    return (
        found.within * scale,
        found.begin * scale,
        found.end * scale,
        ops.sum(found.lengths * scale, axis=0),
        ops.sum(ops.sum(pairs, axis=1) * scale, axis=0),
    )
