import json

import pytest

from tests.backend import BACKEND
from tests.processes import run_python

# Compares an S-LSTM on two devices with one device, and counts the arrays and numbers that the two send each other.
PROGRAM = """
import json, re, sys
import jax, keras, numpy as np
import keras_slstm

two = keras.distribution.DataParallel(devices=keras.distribution.list_devices("cpu"))
mesh = two.device_mesh.backend_mesh
assert mesh.size == 2

def place(array, *axes):
    return jax.device_put(array, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*axes)))

def exchange(rows, options):
    rng = np.random.default_rng(0)
    x, mask = rng.normal(size=(rows, 5, 3)).astype("float32"), np.arange(5) < rng.integers(1, 6, size=(rows, 1))
    keras.distribution.set_distribution(None)
    layer = keras_slstm.SLSTM(4, steps=6, seed=1, **options)
    layer.build(x.shape)
    weights, others = ([np.asarray(v) for v in vs] for vs in (layer.trainable_variables, layer.non_trainable_variables))

    def loss(weights, x, mask):
        outputs, _ = layer.stateless_call(weights, others, x, mask, training=True)
        return (outputs**2).sum()

    alone = jax.jit(jax.value_and_grad(loss))(weights, x, mask)
    keras.distribution.set_distribution(two)
    axes = ["batch"] if rows % 2 == 0 else []
    arguments = ([place(w) for w in weights], place(x, *axes), place(mask, *axes))
    step = jax.jit(jax.value_and_grad(loss), out_shardings=place(np.zeros(1)).sharding)
    for one, other in zip(jax.tree.leaves(alone), jax.tree.leaves(step(*arguments)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
    text = step.lower(*arguments).compile().as_text()
    shapes = re.findall(r"f32\\[([0-9,]*)\\]", " ".join(re.findall(r"= (.*?) all-reduce(?:-start)?\\(", text)))
    sent = sum(int(np.prod([int(n) for n in shape.split(",") if n])) for shape in shapes)
    return len(shapes), sent, sum(w.size for w in weights)

cases = [(8, {}), (8, {"recurrent_dropout": 0.5, "return_sequences": True}), (7, {})]
print(json.dumps([exchange(*case) for case in cases]))
"""


@pytest.mark.skipif(BACKEND != "jax", reason="JAX divides one program among devices")
@pytest.mark.short_run
def test_each_device_sums_its_own_gradients_first():
    done = run_python("-c", PROGRAM, XLA_FLAGS="--xla_force_host_platform_device_count=2")
    assert done.returncode == 0, done.stderr
    even, with_dropout, odd = json.loads(done.stdout.splitlines()[-1])
    for arrays, sent, parameters in (even, with_dropout):
        assert arrays <= 4  # the weights together, those outside the loop, and the loss; there are ten weights
        assert parameters <= sent <= 1.1 * parameters + 10
    assert odd[:2] == [0, 0]  # seven rows do not divide by two: both devices compute all of them
