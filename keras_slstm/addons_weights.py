"""The weights of a `tensorflow_addons.layers.CRF`, from the layer itself or from a saved Keras 2 model."""

from __future__ import annotations

import contextlib
import functools
import io
import math
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Weights = dict[str, np.ndarray]
# Compression does not shrink trained weights this much: a larger claim is an attempt to fill the memory.
_LARGEST_EXPANSION = 100
_SMALL = 2**20  # bytes that may be claimed in any case


class _Stored(NamedTuple):
    """An array in a file, not read yet.

    Attributes:
        member: The name of the array in the file.
        shape: Its shape, as the file declares it.
        bytes_stored: The bytes that the file holds of it.
        read: Reads the array.
        reason: The reason why the array must not be read, or an empty string.
    """

    member: str
    shape: tuple[int, ...]
    bytes_stored: int
    read: Callable[[], Any]
    reason: str = ""


def read_weights(source: Any, layer_name: str | None = None) -> Weights:
    """The weights of a CRF by the names they have in `keras_slstm.CRF`.

    Nothing is read but the weights of the CRF itself, and these only if their shapes fit each other and the file holds
    them in full: no links, no external or virtual storage.

    Args:
        source: A live layer, or the path of a file that Keras 2 saved: weights (`.h5`), a model (`.h5`, `.keras`), or a
            TensorFlow checkpoint (its prefix, or the path of its `.index` file).
        layer_name: Part of the path of the layer in the file, where there are several.

    Returns:
        `chain_kernel`, and as far as the layer has them `left_boundary`, `right_boundary`, `kernel` and `bias`.

    Raises:
        ValueError: If the layer has no weights yet, the file is damaged, holds not exactly one CRF (of that name), or
            weights that a CRF cannot have; the message names file and member.
        FileNotFoundError: If the file does not exist.
    """
    if not isinstance(source, (str, os.PathLike)):
        return _of_layer(source)
    path = Path(source)
    with _opened(path) as arrays:
        found = {prefix: crf for prefix, crf in _crfs(arrays, path) if layer_name is None or layer_name in prefix}
        if len(found) != 1:
            named = "" if layer_name is None else f" whose name contains {layer_name!r}"
            there = f"these: {', '.join(found)}" if found else f"none, among {', '.join(sorted(arrays))}"
            raise ValueError(f"Expected one CRF of tensorflow-addons{named} in {path}, but found {there}.")
        return _read(found.popitem()[1], path)


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


def _read(crf: dict[str, _Stored], path: Path) -> Weights:
    """Read the weights of one CRF; raise ValueError for those that a CRF cannot have."""
    units, features = crf["chain_kernel"].shape[-1:] or (0,), crf["kernel"].shape[:1] if "kernel" in crf else ()
    shapes = {"chain_kernel": units + units, "kernel": features + units}
    weights = {}
    for name, array in crf.items():
        where = f"{path}: {array.member}"
        if array.reason:
            raise ValueError(f"{where} {array.reason}, so it is not read.")
        expected = shapes.get(name, units)
        if array.shape != expected or 0 in expected:
            raise ValueError(f"{where} must have the shape {expected} of a CRF's {name}, but has {array.shape}.")
        declared = 8 * math.prod(array.shape)
        if declared > max(_SMALL, _LARGEST_EXPANSION * array.bytes_stored):
            raise ValueError(
                f"{where} declares the shape {array.shape}, but the file holds {array.bytes_stored} bytes of it, so it "
                "is not read."
            )
        try:
            value = np.asarray(array.read())
        except Exception as error:
            raise ValueError(f"{where} cannot be read: {str(error).splitlines()[0]}") from error
        if value.dtype.kind != "f" or not np.all(np.isfinite(value)):
            raise ValueError(f"{where} must hold finite floating-point numbers, but does not.")
        weights[name] = value
    return weights


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[dict[str, _Stored]]:
    """All arrays of a file, by their path in it, as long as the context lasts."""
    if path.suffix == ".keras":
        with _opened_h5(io.BytesIO(_member_of_zip(path, "model.weights.h5")), path) as arrays:
            yield arrays
    elif path.suffix in (".h5", ".hdf5"):
        with _opened_h5(path, path) as arrays:
            yield arrays
    else:
        yield _checkpoint(path.with_suffix("") if path.suffix == ".index" else path)


def _member_of_zip(path: Path, member: str) -> bytes:
    if not path.exists():
        raise FileNotFoundError(f"The file {path} does not exist.")
    try:
        with zipfile.ZipFile(path) as file:
            info = file.getinfo(member)
            if info.file_size > max(_SMALL, _LARGEST_EXPANSION * info.compress_size):
                raise ValueError(
                    f"{path}: {member} declares {info.file_size} bytes, but the file holds {info.compress_size} bytes "
                    "of it, so it is not read."
                )
            return file.read(info)
    except KeyError as error:
        raise ValueError(f"{path} has no member {member}: it is no model that Keras saved.") from error
    except (zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path} is no zip archive, or a damaged one: {error}") from error


@contextlib.contextmanager
def _opened_h5(file: Any, path: Path) -> Iterator[dict[str, _Stored]]:
    import h5py

    if not path.exists():
        raise FileNotFoundError(f"The file {path} does not exist.")
    found: dict[str, _Stored] = {}

    def no_hard_link(name: str, link: Any) -> tuple[str, str] | None:
        if isinstance(link, h5py.HardLink):
            return None
        return name, "an external link" if isinstance(link, h5py.ExternalLink) else "a soft link"

    def keep(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and not name.startswith(("optimizer", "_optimizer")):
            reason = "is stored in another file" if item.external else ""
            reason = "is a virtual data set" if item.is_virtual else reason
            # The shape of an empty data set is None.
            array = _Stored(name, item.shape or (), item.id.get_storage_size(), lambda: item[()], reason)
            found[name.removesuffix(":0").removeprefix("model_weights/")] = array

    try:
        h5 = h5py.File(file, "r")
    except OSError as error:
        raise ValueError(f"{path} is no HDF5 file, or a damaged one: {error}") from error
    with h5:
        link = h5.visititems_links(no_hard_link)
        if link is not None:
            raise ValueError(f"{path}: {link[0]} is {link[1]}, which Keras does not write.")
        h5.visititems(keep)
        yield found


def _checkpoint(prefix: Path) -> dict[str, _Stored]:
    if not Path(f"{prefix}.index").exists():
        raise FileNotFoundError(
            f"The checkpoint {prefix}.index does not exist. Give its prefix, or a file of weights or a model (.h5 or "
            ".keras). Load a SavedModel by TensorFlow 2.15 and write it again with `model.save_weights(...)`."
        )
    import tensorflow as tf

    try:
        checkpoint, value = tf.train.load_checkpoint(str(prefix)), "/.ATTRIBUTES/VARIABLE_VALUE"
    except Exception as error:
        raise ValueError(f"{prefix}.index is no checkpoint, or a damaged one: {str(error).splitlines()[0]}") from error
    stored = sum(file.stat().st_size for file in prefix.parent.glob(f"{prefix.name}.data-*"))
    return {
        name.removesuffix(value): _Stored(name, tuple(shape), stored, functools.partial(checkpoint.get_tensor, name))
        for name, shape in checkpoint.get_variable_to_shape_map().items()
        if name.endswith(value) and ".OPTIMIZER_SLOT" not in name
    }


def _crfs(arrays: dict[str, _Stored], path: Path) -> list[tuple[str, dict[str, _Stored]]]:
    """The CRFs among the arrays, each with its place."""
    named = [name.removesuffix("chain_kernel") for name in arrays if name.split("/")[-1] == "chain_kernel"]
    numbered = [match[0] for name in arrays if (match := re.match(r"(?:.*/)?crf(?:_\d+)?/(?=vars/0$)", name))]
    return [(prefix, _named(arrays, prefix, path)) for prefix in named] + [
        (prefix, _numbered(arrays, prefix)) for prefix in numbered
    ]


def _named(arrays: dict[str, _Stored], prefix: str, path: Path) -> dict[str, _Stored]:
    """The form of older files and of checkpoints: the weights of the dense layer stand deeper."""
    found = {"chain_kernel": arrays[f"{prefix}chain_kernel"]}
    for name in ("left_boundary", "right_boundary"):
        if prefix + name in arrays:
            found[name] = arrays[prefix + name]
    kernels = [
        name.removesuffix("kernel")
        for name, array in arrays.items()
        if name.startswith(prefix)
        and name.split("/")[-1] == "kernel"
        and array.shape[1:] == found["chain_kernel"].shape[1:]
        and f"{name.removesuffix('kernel')}bias" in arrays
    ]
    if len(kernels) > 1:
        raise ValueError(f"{path}: expected one kernel of the CRF {prefix!r}, but found {', '.join(kernels)}.")
    if kernels:
        found.update(kernel=arrays[f"{kernels[0]}kernel"], bias=arrays[f"{kernels[0]}bias"])
    return found


def _numbered(arrays: dict[str, _Stored], prefix: str) -> dict[str, _Stored]:
    """The form of `.weights.h5` and `.keras`: weights are numbered in the order of their creation."""
    names = ["chain_kernel", "left_boundary", "right_boundary"]
    own = [f"{prefix}vars/{number}" for number in range(3)]
    found = {name: arrays[path] for name, path in zip(names, own) if path in arrays}
    dense = f"{prefix}_dense_layer/vars/"
    if f"{dense}0" in arrays and f"{dense}1" in arrays:
        found.update(kernel=arrays[f"{dense}0"], bias=arrays[f"{dense}1"])
    return found
