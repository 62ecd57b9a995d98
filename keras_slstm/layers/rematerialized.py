"""Layers that draw the same random numbers when `keras.RematScope` recomputes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

from keras_slstm.ops.backend.recomputed import is_recomputed
from keras_slstm.ops.dropout import dropout
from keras_slstm.ops.seeds import ReplayedSeeds, is_replayed, replay_seeds
from keras_slstm.types import Tensor


class Rematerialized:
    """Mixin for layers that use dropout, or contain such layers, and may be created inside `keras.RematScope`.

    It reads the seed states before the call, starts every computation of the call from them, and advances them
    afterwards. The random numbers are therefore those of the layer outside the scope. The layer must draw them with
    `keras_slstm.ops.dropout` or `current_seed`.
    """

    def rematerialized_call(self, layer_call: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
        layer: Any = self
        layers = [each for each in layer._flatten_layers() if hasattr(each, "seed_generator")]
        seeds = [each.seed_generator for each in layers if each.seed_generator is not None]
        if is_recomputed() or any(is_replayed(seed) for seed in seeds):
            return layer_call  # an enclosing layer or model recomputes this one

        def call(*args: Any, **kwargs: Any) -> Any:
            # JAX would treat the flags as tensors.
            flags = {name: value for name, value in kwargs.items() if value is None or isinstance(value, bool)}
            tensors = {name: value for name, value in kwargs.items() if name not in flags}
            starts = [seed.state.value * 1 for seed in seeds]
            counts = [0] * len(seeds)

            def replayed(*args: Any, **kwargs: Any) -> Any:
                found = {id(seed): ReplayedSeeds(start) for seed, start in zip(seeds, starts, strict=True)}
                with replay_seeds(found):
                    result = layer_call(*args, **kwargs, **flags)
                counts[:] = [found[id(seed)].count for seed in seeds]
                return result

            computed = super(Rematerialized, self).rematerialized_call(replayed, *args, **kwargs)  # type: ignore[misc]
            result = computed(*args, **tensors)
            for seed, start, count in zip(seeds, starts, counts, strict=True):
                if count:
                    seed.state.assign(ReplayedSeeds.after(start, count))
            return result

        return call


class Dropout(Rematerialized, keras.layers.Dropout):
    """Keras' layer without `noise_shape`, whose gradient uses the same mask inside `keras.RematScope`."""

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        if not self.rate or not training:
            return inputs
        return dropout(inputs, self.rate, self.seed_generator)
