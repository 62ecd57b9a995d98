import pytest

from tests.backend import BACKEND
from tests.processes import run_python

pytestmark = pytest.mark.skipif(BACKEND != "torch", reason="only PyTorch has torch.compile")

# A fresh process, because any earlier call would set the attributes that the compiler checks.
FIRST_CALLS = """
import torch
from keras_slstm import layers
from keras_slstm.ops.reference import reference_mode

layer = layers.SLSTM(3, steps=1)
layer.build((None, None, 2))

def both(x):
    found = layer(x)
    with reference_mode():
        return found, layer(x)

compiled = torch.compile(both, backend="eager")
for seed in range(3):
    torch.testing.assert_close(*compiled(torch.full((2, 3, 2), 0.1 * seed)))
"""


@pytest.mark.ci_run("torch")
def test_the_modes_of_a_thread_can_be_compiled_first():
    done = run_python("-W", "ignore", "-c", FIRST_CALLS)
    assert done.returncode == 0, done.stderr[-2000:]


def test_dropout_in_a_compiled_layer_that_is_recomputed_raises():
    import torch

    from keras_slstm import layers

    layer = layers.SLSTM(3, steps=2, dropout=0.5, seed=1)
    layer.build((None, None, 2))
    torch.compiler.reset()
    compiled = torch.compile(lambda x: layer(x, training=True), backend="eager")
    x = torch.ones((1, 3, 2), requires_grad=True)
    with pytest.raises(ValueError, match="different random numbers"):
        torch.utils.checkpoint.checkpoint(compiled, x, use_reentrant=False)
