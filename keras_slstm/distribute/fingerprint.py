"""Describes a training run in plain values, which the processes compare before the first step."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import sys
import warnings
import zlib
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_slstm.distribute.keras_internals import all_layers

_MISSING = "not set"
# Longer lists, such as vocabularies, are compared by a hash.
_LONGEST_LIST = 100
_LARGEST_CONSTANT = 1_000_000
# Keras numbers the names that it chooses, and the numbers depend on what the process made before.
_NUMBER = re.compile(r"(?<=[a-z])_\d+(?=/|$)")


def describe_versions() -> dict[str, Any]:
    """Return the versions of Python, Keras, the backend and this package, and a hash of this package's code."""
    backend = keras.backend.backend()
    found: dict[str, Any] = {"python": platform.python_version(), "keras": keras.__version__, "backend": backend}
    for package in (backend, "keras_slstm"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    root = Path(__file__).parents[1]
    found["code of keras_slstm"] = _hash_files(sorted(root.rglob("*.py")))
    return {"version": found}


def describe_training(model: keras.Model, data: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything that decides what a model learns or predicts, except weights and data.

    Args:
        model: The model.
        data: The first argument of `fit`, `evaluate` or `predict`.
        arguments: The arguments that must be the same in all processes.
    """
    optimizer, loss = getattr(model, "optimizer", None), getattr(model, "loss", None)
    with warnings.catch_warnings(action="ignore"):  # Keras warns that lambdas cannot be saved; they can be trained
        compiled = model.get_compile_config() if model.compiled else {}
    compiled = {name: value for name, value in (compiled or {}).items() if name != "optimizer"}
    return {
        "argument": dict(arguments),
        "data": _describe_data(data),
        "optimizer": optimizer and {"class": type(optimizer).__name__, **_normalize(optimizer.get_config())},
        "compile": _normalize(compiled),
        "floatx": keras.config.floatx(),
        "model": {"class": type(model).__name__, **_normalize(_config(model))},
        "variable": [describe_variable(v.path, tuple(v.shape), v.dtype) for v in model.weights],
        "code": _describe_code([model, *all_layers(model), optimizer, *keras.tree.flatten(loss)]),
    }


def describe_variable(path: str, shape: tuple[int | None, ...] | None, dtype: Any) -> str:
    """Return a variable's path (without the numbers that Keras adds to names), shape and dtype."""
    return f"{_NUMBER.sub('', path)} {shape} {dtype and keras.backend.standardize_dtype(dtype)}"


def describe_difference(found: Sequence[Mapping[str, Any]], addresses: Sequence[str]) -> str:
    """Return a sentence that names the first setting that differs and its value in each process.

    >>> describe_difference([{"epochs": 3}, {"epochs": 4}], ["a:1", "b:1"])
    'All processes must be started alike, but epochs is 3 on process 0 (a:1) and 4 on process 1 (b:1).'
    """
    names = list(dict.fromkeys(name for settings in found for name in settings))
    differing = [name for name in names if len({_show(settings, name) for settings in found}) > 1]
    name = differing[0]
    processes: dict[str, list[str]] = {}
    for index, settings in enumerate(found):
        processes.setdefault(_show(settings, name), []).append(f"process {index} ({addresses[index]})")
    values = " and ".join(f"{value} on {', '.join(places)}" for value, places in processes.items())
    others = f" They differ in {len(differing) - 1} more: {', '.join(differing[1:4])} ..." if differing[1:] else ""
    return f"All processes must be started alike, but {name} is {values}.{others}"


def flatten(settings: Any, prefix: str = "") -> dict[str, Any]:
    """Return nested settings as JSON values by dotted name.

    >>> flatten({"optimizer": {"rates": [0.1, 0.2]}})
    {'optimizer.rates.0': 0.1, 'optimizer.rates.1': 0.2}
    """
    if isinstance(settings, Mapping):
        items: Iterable[tuple[Any, Any]] = settings.items()
    elif isinstance(settings, (list, tuple)) and len(settings) <= _LONGEST_LIST:
        items = enumerate(settings)
    else:
        return {prefix: _plain(settings)}
    flat: dict[str, Any] = {}
    for name, value in items:
        flat |= flatten(value, f"{prefix}.{name}" if prefix else str(name))
    return flat


def _show(settings: Mapping[str, Any], name: str) -> str:
    return repr(settings[name]) if name in settings else _MISSING


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.ndarray, np.generic)) or keras.ops.is_tensor(value):
        array = np.asarray(keras.ops.convert_to_numpy(value))
        return array.item() if array.ndim == 0 else f"{array.dtype}{array.shape} {zlib.crc32(array.tobytes()):08x}"
    if isinstance(value, (list, tuple)):
        return f"{len(value)} values {_hash(json.dumps(flatten(dict(enumerate(value)))).encode())}"
    return getattr(value, "__qualname__", type(value).__qualname__)  # `repr` may contain an address


def _config(model: keras.Model) -> dict[str, Any]:
    attributes = (value for layer in all_layers(model) for value in vars(layer).values())
    constants = (value.value for value in attributes if isinstance(value, keras.initializers.Constant))
    if any(np.size(value) > _LARGEST_CONSTANT for value in constants):  # `get_config` would turn it into a list
        return {}
    try:
        return model.get_config()
    except Exception:  # models without a config raise errors of many kinds; their code is compared
        return {}


def _normalize(config: Any) -> Any:
    """Drop the parts of a config that differ between processes that run the same code."""
    if isinstance(config, Mapping):
        if config.get("class_name") == "__lambda__":  # byte code contains the path of its file
            return "lambda"
        return {name: _normalize(value) for name, value in config.items()}
    if isinstance(config, (list, tuple)):
        return [_normalize(value) for value in config]
    return _NUMBER.sub("", config) if isinstance(config, str) else config


def _describe_data(data: Any) -> dict[str, Any]:
    """Return the public settings of a dataset, or the class of other data."""
    found: dict[str, Any] = {"class": type(data).__name__}
    if isinstance(data, keras.utils.PyDataset):
        found["batches"] = data.num_batches
        settings = {name: value for name, value in vars(data).items() if not name.startswith("_")}
        found |= {name: value for name, value in settings.items() if isinstance(value, (bool, int, float, str))}
    return found


def _describe_code(objects: Iterable[Any]) -> dict[str, str]:
    """Return a hash of the script and of each file that defines one of the objects or its class.

    Keras and this package are left out: their versions are compared.
    """
    files = {}
    for name in sorted({"__main__", *(getattr(item, "__module__", None) or "__main__" for item in objects)}):
        path = getattr(sys.modules.get(name), "__file__", None)
        if path and name.partition(".")[0] not in ("builtins", "keras", "keras_slstm"):
            files[name] = _hash_files([Path(path)])
    return files


def _hash_files(paths: Iterable[Path]) -> str:
    return _hash(b"".join(path.read_bytes() for path in paths))


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]
