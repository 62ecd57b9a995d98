"""Keras' initializers in NumPy, because JAX would compile each of them for every shape."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import keras
import numpy as np
from keras import initializers


def use() -> None:
    """Make NumPy draw initial weights from now on, reproducibly and from the same distributions."""
    for initializer, draw in _DRAWS.items():
        initializer.__call__ = _on_numpy(draw)


def _on_numpy(draw: Any) -> Any:
    def call(self: Any, shape: Any, dtype: Any = None, **kwargs: Any) -> Any:
        dtype = jnp.dtype(keras.backend.standardize_dtype(dtype))
        return jnp.asarray(np.asarray(draw(self, tuple(shape))).astype(dtype))  # NumPy casts: nothing is compiled

    return call


def _generator(initializer: Any) -> np.random.Generator:
    seed = initializer.seed
    if isinstance(seed, keras.random.SeedGenerator):  # which draws anew in every call
        return np.random.default_rng([int(n) for n in np.asarray(seed.next())])
    return np.random.default_rng(seed)


def _truncated(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draw normal numbers, and redraw those beyond two standard deviations."""
    drawn = rng.normal(size=shape)
    while np.any(far := np.abs(drawn) > 2):
        drawn = np.where(far, rng.normal(size=shape), drawn)
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


_DRAWS: dict[Any, Any] = {
    initializers.Zeros: lambda self, shape: np.zeros(shape),
    initializers.Ones: lambda self, shape: np.ones(shape),
    initializers.RandomUniform: lambda self, shape: _generator(self).uniform(self.minval, self.maxval, shape),
    initializers.RandomNormal: lambda self, shape: _generator(self).normal(self.mean, self.stddev, shape),
    initializers.TruncatedNormal: lambda self, shape: self.mean + self.stddev * _truncated(_generator(self), shape),
    initializers.VarianceScaling: _variance_scaling,
    initializers.Orthogonal: _orthogonal,
}
