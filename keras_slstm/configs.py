"""Mixin for the configs of layers and models."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import keras


class ConfigFromArguments:
    """Mixin for layers and models that store each constructor argument as an attribute of the same name.

    The config contains every argument stored this way. It serializes layers, functions that Keras knows by name, and
    lists and dicts of these.
    """

    # Maps argument names in older saved files to the present names.
    former_names: ClassVar[Mapping[str, str]] = {}

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, read from the attributes of the same names."""
        config: dict[str, Any] = super().get_config()  # type: ignore[misc]
        for layer_class in type(self).__mro__:
            if "__init__" not in vars(layer_class) or not issubclass(layer_class, ConfigFromArguments):
                continue
            for name in list(inspect.signature(layer_class.__init__).parameters)[1:]:
                if hasattr(self, name):
                    config[name] = serialize_argument(getattr(self, name))
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        config = {
            cls.former_names.get(name, name): keras.saving.deserialize_keras_object(value)
            for name, value in config.items()
        }
        return super().from_config(config)  # type: ignore[misc, no-any-return]


def serialize_argument(value: Any) -> Any:
    """Serialize an argument for a config."""
    return keras.saving.serialize_keras_object(list(value) if isinstance(value, tuple) else value)
