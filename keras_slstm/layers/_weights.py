"""Keras' usual arguments of weights (`kernel_initializer`, ...), read and written in one place."""

from __future__ import annotations

from typing import Any

import keras

_KINDS = {
    "initializer": keras.initializers,
    "regularizer": keras.regularizers,
    "constraint": keras.constraints,
}


class WeightArguments:
    """Mixin of a layer whose constructor takes arguments named `<weight>_<kind>`.

    The layer hands them to `set_weight_arguments`, creates its weights with `add_weight_like`, and merges
    `weight_config` into its `get_config`. Each argument is an attribute of the same name.
    """

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
        options["initializer"] = _own_numbers(initializer or options["initializer"])
        return self.add_weight(name=name, shape=shape, trainable=trainable, **options)  # type: ignore[attr-defined]

    def weight_config(self) -> dict[str, Any]:
        """The arguments given to `set_weight_arguments`, serialised."""
        return {name: _kind(name).serialize(getattr(self, name)) for name in self._weight_argument_names}


def _kind(name: str) -> Any:
    return _KINDS[name.rpartition("_")[2]]


def _own_numbers(initializer: Any) -> Any:
    """An initialiser for one weight: Keras' own, without a seed, give all weights of a shape the same numbers."""
    if not isinstance(initializer, keras.initializers.Initializer):
        return initializer
    config = initializer.get_config()
    return type(initializer).from_config(config) if config.get("seed", "none") is None else initializer
