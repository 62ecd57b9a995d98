"""The weights of a `tensorflow_addons.layers.CRF`, from the layer itself or from a saved Keras 2 model."""

from __future__ import annotations

import io
import os
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

Weights = dict[str, np.ndarray]


def read_weights(source: Any, layer_name: str | None = None) -> Weights:
    """The weights of a CRF by the names they have in `keras_slstm.CRF`.

    Args:
        source: A live layer, or the path of what Keras 2 has saved: weights (`.h5`), a model (`.h5`, `.keras`), or a
            TensorFlow checkpoint (its prefix, or the path of its `.index` file).
        layer_name: Part of the path of the layer in the file, where there are several.

    Returns:
        `chain_kernel`, and as far as the layer has them `left_boundary`, `right_boundary`, `kernel` and `bias`.

    Raises:
        ValueError: If the layer has no weights yet, or the file not exactly one CRF (of that name).
        FileNotFoundError: If there is no such file.
    """
    if not isinstance(source, (str, os.PathLike)):
        return _of_layer(source)
    path = Path(source)
    arrays = _arrays(path)
    found = {prefix: weights for prefix, weights in _crfs(arrays) if layer_name is None or layer_name in prefix}
    if len(found) != 1:
        named = "" if layer_name is None else f" whose name contains {layer_name!r}"
        there = f"these: {', '.join(found)}" if found else f"none, among {', '.join(sorted(arrays))}"
        raise ValueError(f"Expected one CRF of tensorflow-addons{named} in {path}, but found {there}.")
    return found.popitem()[1]


def _of_layer(layer: Any) -> Weights:
    if not hasattr(layer, "chain_kernel"):
        raise ValueError(f"Expected a `tensorflow_addons.layers.CRF` or a path, but got {layer!r}.")
    found = {"chain_kernel": layer.chain_kernel}
    if layer.use_boundary:
        found.update(left_boundary=layer.left_boundary, right_boundary=layer.right_boundary)
    if layer.use_kernel:
        if not layer._dense_layer.built:
            raise ValueError(f"The layer {layer.name!r} has no kernel yet: call it, or its model, once before.")
        found.update(kernel=layer._dense_layer.kernel, bias=layer._dense_layer.bias)
    return {name: np.asarray(weight) for name, weight in found.items()}


def _arrays(path: Path) -> Weights:
    """All arrays of a file, by their path in it."""
    if path.suffix == ".keras":
        with zipfile.ZipFile(path) as file:
            return _arrays_of_h5(io.BytesIO(file.read("model.weights.h5")))
    if path.suffix in (".h5", ".hdf5"):
        if not path.exists():
            raise FileNotFoundError(f"There is no file {path}.")
        return _arrays_of_h5(path)
    prefix = path.with_suffix("") if path.suffix == ".index" else path
    if not Path(f"{prefix}.index").exists():
        raise FileNotFoundError(
            f"There is no checkpoint {prefix}.index. Known are also weights or models in files .h5 and .keras; a "
            "SavedModel has to be loaded by TensorFlow 2.15 and written again with `model.save_weights(...)`."
        )
    import tensorflow as tf

    checkpoint, value = tf.train.load_checkpoint(str(prefix)), "/.ATTRIBUTES/VARIABLE_VALUE"
    names = [name for name in checkpoint.get_variable_to_shape_map() if name.endswith(value)]
    return {name.removesuffix(value): checkpoint.get_tensor(name) for name in names if ".OPTIMIZER_SLOT" not in name}


def _arrays_of_h5(file: Any) -> Weights:
    import h5py

    found: Weights = {}

    def keep(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and not name.startswith(("optimizer", "_optimizer")):
            found[name.removesuffix(":0").removeprefix("model_weights/")] = item[()]

    with h5py.File(file, "r") as h5:
        h5.visititems(keep)
    return found


def _crfs(arrays: Weights) -> list[tuple[str, Weights]]:
    """The CRFs among the arrays, each with where it stands."""
    named = [name.removesuffix("chain_kernel") for name in arrays if name.split("/")[-1] == "chain_kernel"]
    numbered = [match[0] for name in arrays if (match := re.match(r"(?:.*/)?crf(?:_\d+)?/(?=vars/0$)", name))]
    return [(prefix, _named(arrays, prefix)) for prefix in named] + [
        (prefix, _numbered(arrays, prefix)) for prefix in numbered
    ]


def _named(arrays: Weights, prefix: str) -> Weights:
    """As in files of the older kind and in checkpoints: the dense layer's weights stand deeper down."""
    found = {"chain_kernel": arrays[f"{prefix}chain_kernel"]}
    for name in ("left_boundary", "right_boundary"):
        if prefix + name in arrays:
            found[name] = arrays[prefix + name]
    units = len(found["chain_kernel"])
    kernels = [
        name.removesuffix("kernel")
        for name, array in arrays.items()
        if name.startswith(prefix) and name.split("/")[-1] == "kernel" and array.shape[1:] == (units,)
    ]
    if len(kernels) > 1:
        raise ValueError(f"Which of these is the kernel of the CRF {prefix!r}: {', '.join(kernels)}?")
    if kernels:
        found.update(kernel=arrays[f"{kernels[0]}kernel"], bias=arrays[f"{kernels[0]}bias"])
    return found


def _numbered(arrays: Weights, prefix: str) -> Weights:
    """As in files `.weights.h5` and `.keras`: weights have numbers in the order of their creation."""
    names = ["chain_kernel", "left_boundary", "right_boundary"]
    own = [f"{prefix}vars/{number}" for number in range(3)]
    found = {name: arrays[path] for name, path in zip(names, own) if path in arrays}
    dense = f"{prefix}_dense_layer/vars/"
    if f"{dense}0" in arrays:
        found.update(kernel=arrays[f"{dense}0"], bias=arrays[f"{dense}1"])
    return found
