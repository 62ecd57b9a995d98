"""Lists the arrays in files of Keras 2, TensorFlow and PyTorch before reading them.

It follows no links, opens no external or virtual storage, and runs no pickled code.
"""

from __future__ import annotations

import contextlib
import functools
import io
import math
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

# Trained weights never compress this well: a larger declared size is an attempt to exhaust memory.
_LARGEST_EXPANSION = 100
_SMALL = 2**20  # declared bytes that are always accepted
# RuntimeError (and its subclass NotImplementedError) if damage looks like encryption or an unknown compression.
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, struct.error, RuntimeError, EOFError, OSError, UnicodeDecodeError)
_TORCH_SUFFIXES = (".pt", ".pth", ".th", ".bin", ".ckpt")


class StoredArray(NamedTuple):
    """An array in a file, not read yet.

    Attributes:
        member: The name of the array in the file.
        shape: Its shape, as the file declares it.
        bytes_stored: The number of bytes in the file.
        read: Reads the array.
        reason: Why the array must not be read, or an empty string.
    """

    member: str
    shape: tuple[int, ...]
    bytes_stored: int
    read: Callable[[], Any]
    reason: str = ""

    def changed(self, change: Callable[[np.ndarray], np.ndarray], shape: tuple[int, ...]) -> StoredArray:
        """Return the array with a change to apply after reading, which gives it the new shape."""
        read = self.read
        return self._replace(shape=shape, read=lambda: change(np.asarray(read())))

    def checked(self, path: Path | str, name: str, expected: tuple[int, ...]) -> np.ndarray:
        """Read the array; raise ValueError unless it is complete, finite, and of the expected shape."""
        where = f"{path}: {self.member}"
        if self.reason:
            raise ValueError(f"{where} {self.reason}, so it is not read.")
        if self.shape != expected or 0 in expected:
            raise ValueError(f"{where} must have the shape {expected} of a CRF's {name}, but has {self.shape}.")
        declared = 8 * math.prod(self.shape)
        if declared > max(_SMALL, _LARGEST_EXPANSION * self.bytes_stored):
            raise ValueError(
                f"{where} declares the shape {self.shape}, but the file contains only {self.bytes_stored} bytes of it, "
                "so it is not read."
            )
        try:
            value = np.asarray(self.read())
        except Exception as error:
            raise ValueError(f"{where} cannot be read: {_first_line(error)}") from error
        if value.dtype.kind != "f" or not np.all(np.isfinite(value)):
            raise ValueError(f"{where} must hold finite floating-point numbers, but does not.")
        return value


def arrays_in_memory(arrays: Mapping[str, Any]) -> dict[str, StoredArray]:
    """Wrap named arrays or tensors, such as a PyTorch state dict."""
    return {
        name: StoredArray(name, tuple(array.shape), _bytes_held(array), functools.partial(_as_numpy, array))
        for name, array in arrays.items()
        if isinstance(name, str) and hasattr(array, "shape")
    }


def _bytes_held(array: Any) -> int:
    """Return the bytes of storage: fewer than the shape implies if a PyTorch tensor repeats a number."""
    try:
        return int(array.untyped_storage().nbytes())
    except (AttributeError, NotImplementedError, RuntimeError):  # not a PyTorch tensor, or sparse
        return 8 * math.prod(array.shape)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _as_numpy(array: Any) -> np.ndarray:
    if hasattr(array, "detach"):
        array = array.detach().cpu()
        if array.is_floating_point() and array.element_size() < 4:
            array = array.float()  # NumPy has no bfloat16
    return np.asarray(array)


@contextlib.contextmanager
def opened_arrays(path: Path) -> Iterator[dict[str, StoredArray]]:
    """Yield all arrays of a file, by their path in it. They can be read inside the context."""
    if path.suffix == ".keras":
        with _opened_h5(io.BytesIO(_member_of_zip(path, "model.weights.h5")), path) as arrays:
            yield arrays
    elif path.suffix in (".h5", ".hdf5"):
        with _opened_h5(path, path) as arrays:
            yield arrays
    elif path.suffix in _TORCH_SUFFIXES and path.exists():
        yield _state_dict(path)
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
                    f"{path}: {member} declares {info.file_size} bytes, but the file contains only "
                    f"{info.compress_size} bytes of it, so it is not read."
                )
            return file.read(info)
    except KeyError as error:
        raise ValueError(f"{path} has no member {member}: it is not a model saved by Keras.") from error
    except _ZIP_ERRORS as error:
        raise ValueError(f"{path} is not a zip archive, or is damaged: {_first_line(error)}") from error


@contextlib.contextmanager
def _opened_h5(file: Any, path: Path) -> Iterator[dict[str, StoredArray]]:
    import h5py

    if not path.exists():
        raise FileNotFoundError(f"The file {path} does not exist.")
    found: dict[str, StoredArray] = {}

    def no_hard_link(name: str, link: Any) -> tuple[str, str] | None:
        if isinstance(link, h5py.HardLink):
            return None
        return name, "an external link" if isinstance(link, h5py.ExternalLink) else "a soft link"

    def keep(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and not name.startswith(("optimizer", "_optimizer")):
            reason = "is stored in another file" if item.external else ""
            reason = "is a virtual data set" if item.is_virtual else reason
            # The shape of an empty data set is None.
            array = StoredArray(name, item.shape or (), item.id.get_storage_size(), lambda: item[()], reason)
            found[name.removesuffix(":0").removeprefix("model_weights/")] = array

    try:
        h5 = h5py.File(file, "r")
    except OSError as error:
        raise ValueError(f"{path} is not an HDF5 file, or is damaged: {error}") from error
    with h5:
        try:
            link = h5.visititems_links(no_hard_link)
            if link is None:
                h5.visititems(keep)
        except Exception as error:  # damage raises eight types; SystemError hides the reason
            reason = _first_line(error.__cause__ or error)
            raise ValueError(f"{path} is a damaged HDF5 file: {reason}") from error
        if link is not None:
            raise ValueError(f"{path}: {link[0]} is {link[1]}, which Keras does not write.")
        yield found


def _checkpoint(prefix: Path) -> dict[str, StoredArray]:
    if not Path(f"{prefix}.index").exists():
        raise FileNotFoundError(
            f"The checkpoint {prefix}.index does not exist. Pass its prefix, or a weights or model file (.h5 or "
            ".keras). Load a SavedModel with TensorFlow 2.15 and save it again with `model.save_weights(...)`."
        )
    import tensorflow as tf

    try:
        checkpoint, value = tf.train.load_checkpoint(str(prefix)), "/.ATTRIBUTES/VARIABLE_VALUE"
    except Exception as error:
        raise ValueError(f"{prefix}.index is not a checkpoint, or is damaged: {_first_line(error)}") from error
    stored = sum(file.stat().st_size for file in prefix.parent.glob(f"{prefix.name}.data-*"))
    return {
        name.removesuffix(value): StoredArray(
            name, tuple(shape), stored, functools.partial(checkpoint.get_tensor, name)
        )
        for name, shape in checkpoint.get_variable_to_shape_map().items()
        if name.endswith(value) and ".OPTIMIZER_SLOT" not in name
    }


def _state_dict(path: Path) -> dict[str, StoredArray]:
    from keras_slstm.extras import require

    torch = require("torch", "torch")
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise ValueError(
            f"{path} is not a PyTorch state dict of tensors only, or is damaged: {_first_line(error)}"
        ) from error
    for inner in ("state_dict", "model_state_dict", "model"):
        if isinstance(found, Mapping) and isinstance(found.get(inner), Mapping):
            found = found[inner]
    if not isinstance(found, Mapping):
        raise ValueError(f"{path} must contain a PyTorch state dict, but contains a {type(found).__name__}.")
    return arrays_in_memory(found)
