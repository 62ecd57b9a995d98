"""On PyTorch, the eager CRF takes few operations per word, and no Keras operations in its loops."""

from __future__ import annotations

import numpy as np
import pytest
from keras import ops

import keras_slstm
from keras_slstm.ops.crf_potentials import pack, unpack
from tests.backend import to_numpy

pytestmark = pytest.mark.backends("torch")


def _potentials(time, pairwise=False, dtype="float32"):
    rng = np.random.default_rng(0)
    unary = ops.convert_to_tensor(rng.normal(size=(2, time, 3)), dtype)
    transitions = ops.convert_to_tensor(rng.normal(size=(2, time, 3, 3) if pairwise else (3, 3)), dtype)
    mask = np.arange(time) < [[time], [time - 3]]
    return unary.requires_grad_(), transitions.requires_grad_(), ops.convert_to_tensor(mask)


def _operations(function, argument):
    """How many operations of PyTorch a function runs; views count, too."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counted(TorchDispatchMode):
        number = 0

        def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
            self.number += 1
            return operation(*args, **(kwargs or {}))

    with Counted() as counted:
        function(argument)
    return counted.number


def _train(parts):
    labels = np.zeros(tuple(parts[2].shape), "int32")
    keras_slstm.crf_log_likelihood(pack(*parts), labels).sum().backward()


def _decode(parts):
    keras_slstm.crf_decode(pack(*parts))


@pytest.mark.parametrize(
    ("run", "pairwise", "a_word", "at_all"),
    [(_train, False, 4, 320), (_train, True, 8, 320), (_decode, False, 0, 50), (_decode, True, 0, 50)],
)
def test_operations_per_word(run, pairwise, a_word, at_all):
    few, many = (_operations(run, _potentials(time, pairwise)) for time in (8, 40))
    assert many - few == a_word * (40 - 8)
    assert few < at_all


@pytest.mark.parametrize("pairwise", [False, True])
def test_packing_copies_the_gradient(pairwise):
    unary, transitions, mask = _potentials(8, pairwise)
    parts = unpack(pack(unary, transitions, mask))
    weights = [
        ops.convert_to_tensor(np.random.default_rng(1).normal(size=tuple(x.shape)), "float32") for x in parts[:2]
    ]
    sum((part * weight).sum() for part, weight in zip(parts, weights)).backward()
    np.testing.assert_array_equal(unary.grad, np.where(to_numpy(mask)[..., None], weights[0], 0))
    np.testing.assert_array_equal(transitions.grad, weights[1])


@pytest.mark.parametrize("pairwise", [False, True])
def test_a_gradient_with_a_graph(pairwise):
    """It is the gradient without one, and its own gradient raises."""
    import torch

    parts = _potentials(8, pairwise)
    labels = np.zeros((2, 8), "int32")
    total = keras_slstm.crf_log_likelihood(pack(*parts), labels).sum()
    found = torch.autograd.grad(total, parts[:2], create_graph=True)
    total = keras_slstm.crf_log_likelihood(pack(*parts), labels).sum()
    for one, other in zip(found, torch.autograd.grad(total, parts[:2]), strict=True):
        np.testing.assert_array_equal(one.detach(), other)
    with pytest.raises(NotImplementedError, match="reference_mode"):
        found[0].square().sum().backward()


def test_a_long_sentence_loses_no_precision():
    wide = [part.detach() for part in _potentials(4096, dtype="float64")]
    narrow = [part.float() if part.is_floating_point() else part for part in wide]
    # An offset that cancels, but would swallow the differences if it added up.
    narrow[0] = narrow[0] + 50
    assert ops.all(keras_slstm.crf_decode(pack(*narrow)) == keras_slstm.crf_decode(pack(*wide)))
