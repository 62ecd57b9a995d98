"""Initial weights drawn by NumPy on JAX, which compiles Keras' initializers for every shape.

The weights of an S-LSTM take JAX about ten seconds, and loading a model draws them only to overwrite them.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
from keras import initializers

from keras_slstm.types import Shape, Tensor


def draws_without_compiling(initializer: Any) -> Any:
    """Return `initializer`; on JAX, if it is one of Keras' own, a copy that draws from the same distribution.

    The copy is still an initializer, because `MultiHeadAttention` copies its own by their configuration.
    """
    kind: Any = type(initializer)
    if keras.backend.backend() != "jax" or kind not in _DRAWS:
        return initializer
    drawing = copy.copy(initializer)
    drawing.__class__ = _drawing_class(kind)
    return drawing


@functools.cache
def _drawing_class(kind: Any) -> Any:
    return type(kind.__name__, (kind,), {"__call__": lambda self, shape, dtype=None: draw(self, shape, dtype)})


@contextlib.contextmanager
def drawing_without_compiling(*layers: keras.layers.Layer) -> Iterator[None]:
    """Let Keras' layers, at any depth, draw the weights that they create inside this context in the same way.

    Their initialisers, except those with a seed, are replaced inside the context.
    """
    replaced = [
        (layer, name, initializer)
        for outer in layers
        for layer in outer._flatten_layers()
        if not hasattr(layer, "add_weight_like")  # which draws so already, with a seed for each weight
        for name, initializer in vars(layer).items()
        if name.endswith("_initializer") and draws_without_compiling(initializer) is not initializer
        if initializer.get_config().get("seed") is None
    ]
    try:
        for layer, name, initializer in replaced:
            setattr(layer, name, draws_without_compiling(initializer))
        yield
    finally:
        for layer, name, initializer in replaced:
            setattr(layer, name, initializer)


def draw(initializer: Any, shape: Shape, dtype: Any = None) -> Tensor:
    """Draw from the distribution of a built-in Keras initializer: reproducibly, but with other numbers than Keras."""
    import jax

    numpy_draw = next(_DRAWS[kind] for kind in type(initializer).__mro__ if kind in _DRAWS)
    values = np.asarray(numpy_draw(initializer, tuple(shape)))
    dtype = jax.numpy.dtype(keras.backend.standardize_dtype(dtype))
    return jax.device_put(values.astype(dtype))  # NumPy casts: nothing is compiled


def _generator(initializer: Any) -> np.random.Generator:
    seed = initializer.seed
    if isinstance(seed, keras.random.SeedGenerator):  # which draws anew in every call
        return np.random.default_rng([int(n) for n in np.asarray(seed.next())])
    return np.random.default_rng(seed)


def _truncated(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draw normal numbers, and redraw those beyond two standard deviations."""
    drawn = rng.normal(size=shape)
    while np.any(np.abs(drawn) > 2):
        drawn = np.where(np.abs(drawn) > 2, rng.normal(size=shape), drawn)
    return drawn


def _variance_scaling(self: Any, shape: tuple[int, ...]) -> np.ndarray:
    *window, fan_in, fan_out = (1, 1, *shape) if len(shape) < 2 else shape
    if len(shape) == 1:
        fan_in = fan_out = shape[0]
    fan_in, fan_out = fan_in * math.prod(window), fan_out * math.prod(window)
    fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
    scale, rng = self.scale / max(1.0, fan), _generator(self)
    if self.distribution == "uniform":
        return rng.uniform(-1, 1, shape) * math.sqrt(3 * scale)
    if self.distribution == "truncated_normal":
        return _truncated(rng, shape) * math.sqrt(scale) / 0.87962566103423978
    return rng.normal(size=shape) * math.sqrt(scale)


def _orthogonal(self: Any, shape: tuple[int, ...]) -> np.ndarray:
    rows, columns = math.prod(shape[:-1]), shape[-1]
    q, r = np.linalg.qr(_generator(self).normal(size=(max(rows, columns), min(rows, columns))))
    q = q * np.sign(np.diag(r))
    return self.gain * np.reshape(q.T if rows < columns else q, shape)


_VARIANCE_SCALINGS = (
    initializers.VarianceScaling,
    initializers.GlorotUniform,
    initializers.GlorotNormal,
    initializers.HeUniform,
    initializers.HeNormal,
    initializers.LecunUniform,
    initializers.LecunNormal,
)
_DRAWS: dict[type, Callable[[Any, tuple[int, ...]], np.ndarray]] = {
    initializers.Zeros: lambda self, shape: np.zeros(shape),
    initializers.Ones: lambda self, shape: np.ones(shape),
    initializers.RandomUniform: lambda self, shape: _generator(self).uniform(self.minval, self.maxval, shape),
    initializers.RandomNormal: lambda self, shape: _generator(self).normal(self.mean, self.stddev, shape),
    initializers.TruncatedNormal: lambda self, shape: self.mean + self.stddev * _truncated(_generator(self), shape),
    initializers.Orthogonal: _orthogonal,
    **dict.fromkeys(_VARIANCE_SCALINGS, _variance_scaling),
}
BUILT_IN = tuple(_DRAWS)
