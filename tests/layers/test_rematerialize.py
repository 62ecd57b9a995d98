"""A layer with `rematerialize` has the values and gradients of the layer without it, dropout included."""

import numpy as np
import pytest

from keras_slstm import layers
from tests.backend import dtype_policy, evaluate, to_numpy
from tests.layer_case import randomize

TIME, FEATURES = 7, 3
X = np.random.default_rng(0).normal(size=(4, TIME, FEATURES))
WORDS = np.arange(TIME)
LENGTHS = np.array([[7], [3], [5], [0]])
MASKS = {"no mask": None, "right": LENGTHS > WORDS, "left": TIME - LENGTHS <= WORDS}
DROPOUT = {"dropout": 0.4, "recurrent_dropout": 0.3, "seed": 3}


def slstm(**options):
    return layers.SLSTM(5, steps=4, **options)


def depth_adaptive_grn(**options):
    return layers.DepthAdaptiveGRN(6, max_depth=4, depth_units=3, **options)


CASES = [
    (slstm, "right", {"return_sequences": True, "return_state": True, **DROPOUT}),
    (slstm, "left", {"window": 2, "sentence_nodes": 2, **DROPOUT}),
    (slstm, "no mask", {"seed": 3}),
    (depth_adaptive_grn, "right", {"selection": "gumbel", "return_sequences": True, "return_state": True, **DROPOUT}),
    (depth_adaptive_grn, "left", {"selection": "full", **DROPOUT}),
    (depth_adaptive_grn, "no mask", {"seed": 3}),
]


@pytest.mark.short_run("torch")
@pytest.mark.parametrize(("make", "mask", "options"), CASES, ids=lambda x: getattr(x, "__name__", str(x)))
def test_is_the_layer_that_keeps_all_states(make, mask, options):
    both = []
    with dtype_policy("float64"):
        for again in (True, False):
            layer = make(rematerialize=again, **options)
            layer.build(X.shape)
            randomize(layer)
            both.append((layer, evaluate(layer, X, MASKS[mask], training=True)))
    (again, found), (kept, expected) = both
    assert any(np.any(gradient) for gradient in expected.weight_gradients.values())
    pairs = [
        *zip(found.outputs, expected.outputs, strict=True),
        (found.input_gradient, expected.input_gradient),
        *zip(found.weight_gradients.values(), expected.weight_gradients.values(), strict=True),
        (to_numpy(again.seed_generator.state), to_numpy(kept.seed_generator.state)),
    ]
    for one, other in pairs:
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)
