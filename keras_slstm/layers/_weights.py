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

    def add_weight_like(self, like: str, name: str, shape: tuple[int, ...]) -> Any:
        """Create the weight `name` with the initialiser, regulariser and constraint named `<like>_...`."""
        options = {kind: getattr(self, f"{like}_{kind}", None) for kind in _KINDS}
        return self.add_weight(name=name, shape=shape, **options)  # type: ignore[attr-defined]

    def weight_config(self) -> dict[str, Any]:
        """The arguments given to `set_weight_arguments`, serialised."""
        return {name: _kind(name).serialize(getattr(self, name)) for name in self._weight_argument_names}


def _kind(name: str) -> Any:
    return _KINDS[name.rpartition("_")[2]]
