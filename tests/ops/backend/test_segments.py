from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from keras import ops

from keras_slstm.ops.backend.segments import repeat, scan_segments
from tests.backend import MODES, gradients

RANDOM = np.random.default_rng(0)
X, FIRST, KERNEL = RANDOM.normal(size=(4, 3)), RANDOM.normal(size=3), RANDOM.normal(size=(3, 3))


def _segment(constants, state, now):
    (kernel, nothing, factor), (h,), (x,) = constants, state, now
    assert nothing is None
    h = ops.tanh((h + x)[None] @ kernel)[0]
    return factor * h, h


@pytest.mark.parametrize("mode", MODES)
def test_is_an_unrolled_loop(mode):
    def looped(x, first, kernel):
        return scan_segments(_segment, (kernel, None, 3), (first,), (x,), (first,))

    def unrolled(x, first, kernel):
        outputs, h = [], first
        for t in range(len(X)):
            output, h = _segment((kernel, None, 3), (h,), (x[t],))
            outputs.append(output)
        return ops.stack(outputs), h

    arrays = [array.astype("float32") for array in (X, FIRST, KERNEL)]
    for found, expected in zip(gradients(looped, *arrays, mode=mode), gradients(unrolled, *arrays), strict=True):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("mode", MODES)
def test_repeats_a_step(mode):
    def step(kernel, state):
        h, nothing = state
        return ops.tanh(h[None] @ kernel)[0], nothing

    def repeated(first, kernel):
        return repeat(step, kernel, (first, None), 3)[0]

    def unrolled(first, kernel):
        return step(kernel, step(kernel, step(kernel, (first, None))))[0]

    arrays = [array.astype("float32") for array in (FIRST, KERNEL)]
    for found, expected in zip(gradients(repeated, *arrays, mode=mode), gradients(unrolled, *arrays), strict=True):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.backends("torch")
def test_stores_nothing_inside_a_step():
    """Not even what a gradient written by hand refers to."""
    inside = []

    @ops.custom_gradient
    def square(x):
        return x * x, lambda *args, upstream=None: 2 * x * (args[0] if upstream is None else upstream)

    def step(kernel, state):
        hidden = state @ kernel
        inside.append(weakref.ref(hidden))
        return square(hidden)

    first, kernel = (ops.convert_to_tensor(x).requires_grad_() for x in (X, KERNEL))
    last = repeat(step, kernel, first, 3)
    gc.collect()
    assert len(inside) == 3
    assert all(tensor() is None for tensor in inside)
    assert last.requires_grad
