"""Gradients, compilation and dtypes on the current Keras backend."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras import ops

from tests.__main__ import BACKENDS

BACKEND: str = keras.backend.backend()
# The modes to run a function in: "graph" is a tf.function for any batch size and length, "xla" compiles for one shape.
MODES = {"tensorflow": ("eager", "graph", "xla"), "jax": ("eager", "xla"), "torch": ("eager",)}[BACKEND]
# The mode that starts fastest: in eager mode, JAX compiles each operation separately, for each shape.
SOONEST = "xla" if BACKEND == "jax" else "eager"
# Tolerances of float64 layers against the oracle, and of their gradients against its finite differences.
EXACT = {"rtol": 0.0, "atol": 1e-12}
EXACT_GRADIENT = {"rtol": 0.0, "atol": 1e-8}


def other_backends() -> list[str]:
    """Return the installed backends other than the one under test."""
    return [name for name in BACKENDS if name != BACKEND and importlib.util.find_spec(name)]


def to_numpy(tensor: Any) -> np.ndarray:
    """Convert a tensor to a NumPy array; bfloat16, which NumPy lacks, becomes float32."""
    if keras.backend.standardize_dtype(tensor.dtype) == "bfloat16":
        tensor = ops.cast(tensor, "float32")
    return ops.convert_to_numpy(tensor)


@contextlib.contextmanager
def dtype_policy(name: str) -> Iterator[None]:
    """Create layers with this dtype policy inside, and enable float64 where a backend needs it."""
    with contextlib.ExitStack() as stack:
        if name == "float64" and BACKEND == "jax":
            import jax

            stack.enter_context(jax.enable_x64(True))
        before = keras.config.dtype_policy()
        stack.callback(keras.config.set_dtype_policy, before)
        keras.config.set_dtype_policy(name)
        yield


@dataclass(frozen=True)
class Evaluation:
    """The outputs of a layer for one batch, and the gradients of `sum(output * cotangent)`."""

    outputs: list[np.ndarray]
    dtypes: list[str]
    input_gradient: np.ndarray
    weight_gradients: dict[str, np.ndarray]


def evaluate(
    layer: keras.Layer,
    x: np.ndarray,
    mask: np.ndarray | None = None,
    mode: str = SOONEST,
    cotangents: list[np.ndarray] | None = None,
    **call_kwargs: Any,
) -> Evaluation:
    """Run a layer and differentiate it with respect to its input and all its trainable weights.

    Args:
        layer: Built for `x` if necessary.
        x: `(batch, time, features)`.
        mask: `(batch, time)` bool or None.
        mode: One of `MODES`.
        cotangents: One array per output, of the same shape. Default: fixed numbers between -1 and 1.
        **call_kwargs: Further arguments of the call.
    """
    if not layer.built:
        layer.build(x.shape)
    variables = layer.trainable_variables

    def call(x: Any, *weights: Any) -> Any:
        if BACKEND != "jax":
            return layer(x, mask=mask, **call_kwargs)
        # Not `stateless_call`, which bypasses the layer's `__call__` and so its casts and rematerialisation.
        with keras.StatelessScope(state_mapping=list(zip(variables, weights))):
            return layer(x, mask=mask, **call_kwargs)

    outputs, dtypes, (dx, *dw) = _differentiate(call, [x], variables, mode, cotangents)
    return Evaluation(outputs, dtypes, dx, {v.path: d for v, d in zip(variables, dw)})


def gradients(
    function: Callable[..., Any], *arrays: np.ndarray, mode: str = SOONEST
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the outputs of a function of tensors, and the gradients as in `evaluate`."""
    outputs, _, found = _differentiate(function, list(arrays), [], mode, None)
    return outputs, found


def outputs(function: Callable[..., Any], *arrays: np.ndarray, mode: str = SOONEST) -> list[np.ndarray]:
    """Return the outputs of a function of tensors, without gradients."""
    if mode not in MODES:
        raise ValueError(f"The {BACKEND} backend runs in modes {MODES}, not {mode!r}.")
    if mode == "graph":
        import tensorflow as tf

        function = tf.function(function, input_signature=[_any_length(a) for a in map(tf.convert_to_tensor, arrays)])
    elif BACKEND == "tensorflow" and mode == "xla":
        import tensorflow as tf

        function = tf.function(function, jit_compile=True)
    elif mode == "xla":
        import jax

        function = jax.jit(function)
    return [to_numpy(y) for y in keras.tree.flatten(function(*map(ops.convert_to_tensor, arrays)))]


def default_cotangent(shape: tuple[int, ...]) -> np.ndarray:
    return np.sin(1.0 + np.arange(np.prod(shape, dtype=int))).reshape(shape)


def _loss(outputs: list[Any], cotangents: list[np.ndarray] | None) -> Any:
    total = 0.0
    for index, y in enumerate(outputs):
        dtype = keras.backend.standardize_dtype(y.dtype)
        if "float" not in dtype:
            continue
        wide = "float64" if dtype == "float64" else "float32"
        if cotangents is not None:
            weight = ops.convert_to_tensor(cotangents[index], dtype=wide)
        elif None not in y.shape:
            weight = ops.convert_to_tensor(default_cotangent(tuple(y.shape)), dtype=wide)
        else:  # tf.function, for any batch size and length
            weight = ops.reshape(ops.sin(1.0 + ops.cast(ops.arange(ops.prod(ops.shape(y))), wide)), ops.shape(y))
        total = total + ops.sum(ops.cast(y, wide) * weight)
    return total


def _differentiate(function, arrays, variables, mode, cotangents):
    """Return the outputs of a function, their dtypes, and the gradients by arrays and variables."""
    if mode not in MODES:
        raise ValueError(f"The {BACKEND} backend runs in modes {MODES}, not {mode!r}.")
    outputs, found = {"tensorflow": _tensorflow, "jax": _jax, "torch": _torch}[BACKEND](
        function, arrays, variables, mode, cotangents
    )
    dtypes = [keras.backend.standardize_dtype(y.dtype) for y in outputs]
    shapes = [a.shape for a in [*arrays, *variables]]
    found = [np.zeros(shape) if d is None else to_numpy(d) for d, shape in zip(found, shapes)]
    return [to_numpy(y) for y in outputs], dtypes, found


def _tensorflow(function, arrays, variables, mode, cotangents):
    import tensorflow as tf

    tensors = [tf.convert_to_tensor(a) for a in arrays]
    weights = [v.value for v in variables]

    def run(*tensors):
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            outputs = keras.tree.flatten(function(*tensors))
            loss = _loss(outputs, cotangents)
        return outputs, tape.gradient(loss, [*tensors, *weights])

    if mode == "graph":
        run = tf.function(run, input_signature=[_any_length(t) for t in tensors])
    elif mode == "xla":
        run = tf.function(run, jit_compile=True)
    return run(*tensors)


def _any_length(tensor):
    import tensorflow as tf

    # Matrices and vectors are weights.
    return tf.TensorSpec(tensor.shape if len(tensor.shape) < 3 else [None, None, *tensor.shape[2:]], tensor.dtype)


def _jax(function, arrays, variables, mode, cotangents):
    import jax
    import jax.numpy as jnp

    tensors = [jnp.asarray(a) for a in arrays] + [v.value for v in variables]

    def loss(*tensors):
        outputs = keras.tree.flatten(function(*tensors))
        return _loss(outputs, cotangents), outputs

    run = jax.grad(loss, argnums=tuple(range(len(tensors))), has_aux=True)
    found, outputs = (jax.jit(run) if mode == "xla" else run)(*tensors)
    return outputs, found


def _torch(function, arrays, variables, mode, cotangents):
    import torch

    # On Keras' device: layers do not move tensors.
    tensors = [ops.convert_to_tensor(np.array(a)).requires_grad_() for a in arrays]
    outputs = keras.tree.flatten(function(*tensors))
    loss = _loss(outputs, cotangents)
    arguments = [*tensors, *[v.value for v in variables]]
    if not torch.is_tensor(loss) or not loss.requires_grad:  # a constant
        return outputs, [None] * len(arguments)
    return outputs, torch.autograd.grad(loss, arguments, allow_unused=True)
