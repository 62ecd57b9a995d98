"""Mixin for Keras' usual arguments of weights (`kernel_initializer`, ...) and for the config of a layer."""

from __future__ import annotations

import inspect
from typing import Any, Self

import keras

_KINDS = {
    "initializer": keras.initializers,
    "regularizer": keras.regularizers,
    "constraint": keras.constraints,
}


class WeightArguments:
    """Mixin of a layer that keeps each argument of its constructor as an attribute of the same name.

    The layer passes the arguments named `<weight>_initializer`, `<weight>_regularizer` and `<weight>_constraint` to
    `set_weight_arguments` and creates its weights with `add_weight_like`. `get_config` returns all arguments.
    """

    # A layer that reads both ways refuses `keras.layers.Bidirectional`.
    reads_both_ways = False

    def set_weight_arguments(self, **arguments: Any) -> None:
        """Resolve the arguments (names, configs, objects) and keep them as attributes."""
        for name, value in arguments.items():
            setattr(self, name, _kind(name).get(value))
        self._weight_argument_names = tuple(arguments)

    def add_weight_like(
        self, like: str, name: str, shape: tuple[int, ...], initializer: Any = None, trainable: bool = True
    ) -> Any:
        """Create the weight `name` with the initialiser, regulariser and constraint named `<like>_...`.

        `initializer`, where given, is taken instead of `<like>_initializer`.
        """
        options = {kind: getattr(self, f"{like}_{kind}", None) for kind in _KINDS}
        options["initializer"] = _with_own_seed(initializer or options["initializer"])
        if self.variable_dtype in ("float16", "bfloat16"):  # type: ignore[attr-defined]
            options["initializer"] = _drawn_in_float32(options["initializer"])
        return self.add_weight(name=name, shape=shape, trainable=trainable, **options)  # type: ignore[attr-defined]

    def weight_config(self) -> dict[str, Any]:
        """The arguments given to `set_weight_arguments`, serialised."""
        return {name: _kind(name).serialize(getattr(self, name)) for name in self._weight_argument_names}

    def get_config(self) -> dict[str, Any]:
        """The arguments of the constructor, from the attributes of the same names."""
        config: dict[str, Any] = super().get_config()  # type: ignore[misc]
        for layer_class in type(self).__mro__:
            if "__init__" not in vars(layer_class) or not issubclass(layer_class, WeightArguments):
                continue
            for name in list(inspect.signature(layer_class.__init__).parameters)[1:]:
                if hasattr(self, name):
                    kind = _kind(name)
                    config[name] = getattr(self, name) if kind is None else kind.serialize(getattr(self, name))
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        if cls.reads_both_ways and "go_backwards" in config:
            raise ValueError(
                f"{cls.__name__} reads a sentence both ways already: use it without `keras.layers.Bidirectional`."
            )
        return super().from_config(config)  # type: ignore[misc, no-any-return]


def _kind(name: str) -> Any:
    """Keras' module for an argument of that name, or None."""
    return _KINDS.get(name.rpartition("_")[2])


def _with_own_seed(initializer: Any) -> Any:
    """Copy an initialiser without a seed: Keras' own would give all weights of one shape the same numbers."""
    if not isinstance(initializer, keras.initializers.Initializer):
        return initializer
    config = initializer.get_config()
    return type(initializer).from_config(config) if config.get("seed", "none") is None else initializer


def _drawn_in_float32(initializer: Any) -> Any:
    """Draw in float32 and cast, because not every backend has QR decompositions in half precision."""
    if not callable(initializer := keras.initializers.get(initializer)):
        return initializer
    return lambda shape, dtype=None: keras.ops.cast(initializer(shape, dtype="float32"), dtype)
