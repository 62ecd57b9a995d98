"""Reads the CRF weights of other libraries, under the names of `keras_slstm.CRF`."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from keras_slstm.ops.label_schemes import without_ends
from keras_slstm.stored_arrays import StoredArray, arrays_in_memory, opened_arrays

ADDONS = "tensorflow-addons"
CONTRIB = "keras-contrib"
CHAIN = "ChainCRF (keras-contrib, DeLFT)"
TF2CRF = "tf2crf"
PYTORCH = "pytorch-crf"
ALLENNLP = "AllenNLP"
_OWN = ("chain_kernel", "left_boundary", "right_boundary")
ORIGINS = (ADDONS, TF2CRF, CONTRIB, CHAIN, PYTORCH, ALLENNLP)

Arrays = dict[str, StoredArray]


class CRFWeights(NamedTuple):
    """The result of `read_crf_weights`.

    Attributes:
        origin: The library of the CRF.
        place: The path of the CRF in the file or state dict.
        weights: `chain_kernel` and, if the CRF has them, `left_boundary`, `right_boundary`, `kernel` and `bias`. All
            are scores: keras-contrib's energies are negated.
        allowed: `(K + 2, K + 2)` bool, the transitions that AllenNLP allows when it decodes; the start and the end of
            a sentence follow the K labels. None if all are allowed.
    """

    origin: str
    place: str
    weights: dict[str, np.ndarray]
    allowed: np.ndarray | None = None

    def __str__(self) -> str:
        shapes = ", ".join(f"{name} {value.shape}" for name, value in self.weights.items())
        limits = "" if self.allowed is None else ", with constraints"
        return f"CRF of {self.origin} at {self.place!r}: {shapes}{limits}"


def read_crf_weights(
    source: Any, layer_name: str | None = None, projection: str | None = None, origins: Sequence[str] | None = None
) -> CRFWeights:
    """Read the CRF weights of another library, and detect the library.

    It reads the CRFs of tensorflow-addons (also inside the wrappers of keras-crf), tf2crf, keras-contrib, pytorch-crf
    and AllenNLP, and the `ChainCRF` of keras-contrib and DeLFT. It reads only the weights of the CRF, and only if their
    shapes match and the file contains them in full. It loads PyTorch files with `weights_only=True`.

    Args:
        source: A layer or module, a state dict, or the path of a file saved by Keras 2 (`.h5`, `.keras`, or a
            TensorFlow checkpoint: its prefix, or the path of its `.index` file) or of a PyTorch state dict (`.pt`,
            `.pth`, `.th`, `.bin`, `.ckpt`).
        layer_name: Part of the path of the CRF, if there are several.
        projection: The name of the PyTorch linear layer that computes the label scores, such as `"hidden2tag"`: its
            weights become `kernel` and `bias`.
        origins: The libraries to look for; None for all.

    Returns:
        The weights and their origin.

    Raises:
        ValueError: If the layer has no weights yet, the file is damaged, it does not contain exactly one matching CRF,
            or the weights do not form a CRF. The message names the file and the array.
        FileNotFoundError: If the file does not exist.

    Example:

    ```python
    found = keras_slstm.read_crf_weights({"crf.transitions": np.zeros((5, 5), "float32")})
    print(found)  # CRF of AllenNLP at 'crf.': chain_kernel (5, 5)
    ```
    """
    with _opened(source) as (arrays, where):
        known = ORIGINS if origins is None else tuple(origins)
        everything = list(_crfs(arrays, where))
        found = [
            (origin, place, crf)
            for origin, place, crf in everything
            if (layer_name is None or layer_name in place) and origin in known
        ]
        if len(found) != 1:
            named = "" if layer_name is None else f" whose name contains {layer_name!r}"
            there = f"these: {', '.join(place for _, place, _ in found)}" if found else "none"
            others = [f"a CRF of {origin} at {place!r}" for origin, place, _ in everything if origin not in known]
            if not found:
                there += f", only {', '.join(others)}" if others else f" among {', '.join(sorted(arrays))}"
            raise ValueError(f"Expected one CRF of {', '.join(known)}{named} in {where}, but found {there}.")
        origin, place, crf = found[0]
        if projection is not None:
            crf.update(_projection(arrays, projection, where))
        return _checked(origin, place, crf, where)


@contextlib.contextmanager
def _opened(source: Any) -> Iterator[tuple[Arrays, Any]]:
    """Yield all arrays of a source, and its name for messages."""
    if isinstance(source, (str, os.PathLike)):
        with opened_arrays(Path(source)) as arrays:
            yield arrays, source
    else:
        yield arrays_in_memory(_of_layer(source)), f"the {type(source).__name__}"


def _of_layer(layer: Any) -> Mapping[str, Any]:
    """Return the weights of a layer or module, named as in a file."""
    if isinstance(layer, Mapping):
        return layer
    if hasattr(layer, "state_dict"):
        state: Mapping[str, Any] = layer.state_dict()
        return state
    for names in (("U", "b_start", "b_end"), ("chain_kernel", "kernel", "bias", "left_boundary", "right_boundary")):
        if hasattr(layer, names[0]) and (names[0] == "U" or hasattr(layer, "learn_mode")):
            return {
                f"crf/{name}": getattr(layer, name) for name in names if hasattr(getattr(layer, name, None), "shape")
            }
    chain = "transitions" if hasattr(layer, "transitions") else "chain_kernel"
    if not hasattr(layer, chain):
        raise ValueError(f"Expected a CRF of another library, a state dict or a path, but got {layer!r}.")
    found = {chain: getattr(layer, chain)}
    if getattr(layer, "use_boundary", False):
        found.update(left_boundary=layer.left_boundary, right_boundary=layer.right_boundary)
    dense = getattr(layer, "dense", None) if chain == "transitions" else getattr(layer, "_dense_layer", None)
    if dense is not None and (chain == "transitions" or layer.use_kernel):
        if not dense.built:
            raise ValueError(f"The layer {layer.name!r} has no kernel yet. Call it, or its model, once first.")
        found.update({"dense/kernel": dense.kernel, "dense/bias": dense.bias})
    return {f"crf/{name}": weight for name, weight in found.items()}


def _checked(origin: str, place: str, crf: Arrays, where: Any) -> CRFWeights:
    """Read the weights of one CRF; raise ValueError if they do not form a CRF."""
    limits = crf.pop("allowed", None)
    units, features = crf["chain_kernel"].shape[-1:] or (0,), crf["kernel"].shape[:1] if "kernel" in crf else ()
    shapes = {"chain_kernel": units + units, "kernel": features + units}
    weights = {name: array.checked(where, name, shapes.get(name, units)) for name, array in crf.items()}
    if origin == CONTRIB:
        weights = {name: -value for name, value in weights.items()}  # a higher energy is less probable
    if "kernel" in weights and "bias" not in weights:
        weights["bias"] = np.zeros(units, weights["kernel"].dtype)
    if limits is None:
        return CRFWeights(origin, place, weights)
    size = units[0] + 2
    allowed = limits.checked(where, "constraints", (size, size)) > 0
    return CRFWeights(origin, place, weights, None if all(part.all() for part in without_ends(allowed)) else allowed)


def _crfs(arrays: Arrays, where: Any) -> Iterator[tuple[str, str, Arrays]]:
    """Yield origin, place and weights of each CRF among the arrays."""
    for name in arrays:
        prefix, last = re.fullmatch(r"(.*?)([^/.]*)", name, flags=re.DOTALL).groups()  # type: ignore[union-attr]
        if last == "chain_kernel" and f"{prefix}kernel" in arrays:
            yield CONTRIB, prefix, _present(arrays, prefix, {name: name for name in (*_OWN, "kernel", "bias")})
        elif last == "chain_kernel":
            found = _present(arrays, prefix, {name: name for name in _OWN})
            yield ADDONS, prefix, _with_dense(arrays, prefix, found, where)
        elif last == "U" and f"{prefix}b_start" in arrays:
            names = {"chain_kernel": "U", "left_boundary": "b_start", "right_boundary": "b_end"}
            yield CHAIN, prefix, _present(arrays, prefix, names)
        elif last == "transitions" and "/" in name:
            found = _present(arrays, prefix, {**dict(zip(_OWN, _OWN)), "chain_kernel": "transitions"})
            yield TF2CRF, prefix, _with_dense(arrays, prefix, found, where)
        elif last == "transitions":
            yield _of_pytorch(arrays, prefix)
        elif match := re.fullmatch(r"((?:.*/)?(chain_)?crf(?:_\d+)?/)vars/0", name):
            yield _numbered(arrays, match[1], match[2] is not None)


def _present(arrays: Arrays, prefix: str, names: dict[str, str]) -> Arrays:
    return {name: arrays[prefix + stored] for name, stored in names.items() if prefix + stored in arrays}


def _of_pytorch(arrays: Arrays, prefix: str) -> tuple[str, str, Arrays]:
    names = {
        "chain_kernel": "transitions",
        "left_boundary": "start_transitions",
        "right_boundary": "end_transitions",
        "allowed": "_constraint_mask",
    }
    found = _present(arrays, prefix, names)
    # pytorch-crf always has start and end scores, and never constraints.
    return PYTORCH if "left_boundary" in found and "allowed" not in found else ALLENNLP, prefix, found


def _with_dense(arrays: Arrays, prefix: str, found: Arrays, where: Any) -> Arrays:
    """Add the weights of the dense layer, which older files and checkpoints nest at various depths."""
    kernels = [
        name.removesuffix("kernel")
        for name, array in arrays.items()
        if name.startswith(prefix)
        and name.split("/")[-1] == "kernel"
        and array.shape[1:] == found["chain_kernel"].shape[1:]
        and f"{name.removesuffix('kernel')}bias" in arrays
    ]
    if len(kernels) > 1:
        raise ValueError(f"{where}: expected one kernel of the CRF {prefix!r}, but found {', '.join(kernels)}.")
    if kernels:
        found.update(kernel=arrays[f"{kernels[0]}kernel"], bias=arrays[f"{kernels[0]}bias"])
    return found


def _numbered(arrays: Arrays, prefix: str, chain: bool) -> tuple[str, str, Arrays]:
    """Read the layout of `.weights.h5` and `.keras` files, which number weights in order of creation."""
    found = _present(arrays, prefix, {name: f"vars/{number}" for number, name in enumerate(_OWN)})
    origin = CHAIN if chain else ADDONS
    for member, library in (("_dense_layer", ADDONS), ("dense", TF2CRF)):
        dense = f"{prefix}{member}/vars/"
        if not chain and f"{dense}0" in arrays and f"{dense}1" in arrays:
            found.update(kernel=arrays[f"{dense}0"], bias=arrays[f"{dense}1"])
            origin = library
    return origin, prefix, found


def _projection(arrays: Arrays, name: str, where: Any) -> Arrays:
    """Return the weights of a PyTorch linear layer, whose kernel is `(labels, features)`, as `kernel` and `bias`."""
    if f"{name}.weight" not in arrays:
        raise ValueError(f"{where} has no `{name}.weight` among {', '.join(sorted(arrays))}.")
    weight = arrays[f"{name}.weight"]
    found = {"kernel": weight.changed(np.transpose, weight.shape[::-1])}
    if f"{name}.bias" in arrays:
        found["bias"] = arrays[f"{name}.bias"]
    return found
