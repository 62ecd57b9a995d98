"""Checks of the inputs that a layer accepts: empty inputs, numeric masks, other dtypes."""

from __future__ import annotations

import functools

import keras
import numpy as np
import pytest
from keras import ops

from tests.backend import BACKEND, MODES, dtype_policy, to_numpy
from tests.layer_case import BATCH, FEATURES, TIME, LayerCase, assert_close, sentences


def check_empty(case: LayerCase) -> None:
    """Empty batches and sentences give outputs of the right shape; the vector of an empty sentence is zero."""
    layer = case.built()
    for batch, time in ((0, TIME), (BATCH, 0)):
        x = np.zeros((batch, time, FEATURES), "float32")
        for mask in (None, np.ones((batch, time), bool)):
            for mode in ("eager", "graph") if BACKEND == "tensorflow" else MODES[-1:]:
                found = case.run(layer, x, mask, mode=mode)
                for kind, y in zip(case.outputs, found.outputs, strict=True):
                    assert y.shape[:2] == (batch, time) if kind == "sequence" else y.shape[0] == batch
                    assert np.all(np.isfinite(y))
                    if case.empty_row == "zero":
                        assert not np.any(y), f"{time} words give {y}"
                assert found.input_gradient.shape == x.shape
                assert all(np.all(np.isfinite(d)) for d in found.weight_gradients.values())


def check_mask_values(case: LayerCase) -> None:
    """A mask of 0 and 1 equals one of False and True; other numbers and shapes raise an error."""
    layer, x = case.built(), ops.convert_to_tensor(sentences())
    mask = np.ones((BATCH, TIME), bool)
    mask[0, 4:] = False
    run = functools.partial(layer, x, **case.call_kwargs)
    expected = [to_numpy(y) for y in keras.tree.flatten(run(mask=ops.convert_to_tensor(mask)))]
    found = [to_numpy(y) for y in keras.tree.flatten(run(mask=ops.convert_to_tensor(mask.astype("int32"))))]
    assert_close(found, expected)
    for wrong, message in ((np.where(mask, 0.5, 0.0).astype("float32"), "0.5"), (2 * mask.astype("int32"), "2")):
        with pytest.raises(ValueError, match=f"mask of True and False .* but got {message}"):
            run(mask=ops.convert_to_tensor(wrong))
    for shape in ((BATCH, TIME - 1), (BATCH, TIME, 1)):
        with pytest.raises(ValueError, match="expects a mask of shape"):
            run(mask=ops.ones(shape, dtype="bool"))


def check_input_dtypes(case: LayerCase) -> None:
    """Integers and bools are cast to the compute dtype, as `keras.layers.LSTM` casts them."""
    layer = case.built()
    numbers = np.random.default_rng(0).integers(-2, 3, size=(BATCH, TIME, FEATURES))
    for x in (numbers.astype("int32"), numbers > 0):
        found, expected = (
            [to_numpy(y) for y in keras.tree.flatten(layer(ops.convert_to_tensor(given), **case.call_kwargs))]
            for given in (x, x.astype("float32"))
        )
        assert [y.dtype for y in found] == [y.dtype for y in expected]
        assert_close(found, expected)


def check_bfloat16(case: LayerCase) -> None:
    """A layer with bfloat16 weights can be built and run."""
    layer = case.built("bfloat16")
    with dtype_policy("bfloat16"):
        outputs = keras.tree.flatten(layer(ops.convert_to_tensor(sentences()), **case.call_kwargs))
    assert all(np.all(np.isfinite(to_numpy(y))) for y in outputs)
