"""Export files for runtimes other than Keras, written completely or not at all, with readable names."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras

from keras_slstm.extras import require
from keras_slstm.models.onnx_graph import gather_weights, rename
from keras_slstm.ops.export_mode import export_mode
from keras_slstm.types import Tensor

# File suffixes; a SavedModel is a folder.
SUFFIXES = {"onnx": ".onnx", "litert": ".tflite", "openvino": ".xml", "torch": ".pt2"}


class ServedModel(keras.Model):
    """A model from a dict of tensors to a dict of tensors.

    Args:
        model: The model whose weights `serve` uses.
        serve: The function.
    """

    def __init__(self, model: keras.Model, serve: Callable[[dict[str, Tensor]], dict[str, Tensor]]):
        super().__init__(dtype=model.dtype_policy)
        self.model = model
        self.serve = serve
        self.built = True

    def call(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        # Converters sort by name.
        return dict(sorted(self.serve(inputs).items()))


def write_file(
    model: ServedModel,
    filepath: Any,
    format: str,
    signature: dict[str, keras.InputSpec],
    about: dict[str, Any],
    **kwargs: Any,
) -> None:
    """Write a model in one of the formats of `SUFFIXES`, and next to it a JSON file that describes its use.

    Args:
        model: The model.
        filepath: The file to write. The second file has the same name with the suffix `.json`.
        format: The format.
        signature: The inputs by name; None stands for any size.
        about: The contents of the second file: label names and vocabulary. An ONNX file also has them as metadata.
        **kwargs: Further arguments of `keras.Model.export`.

    Raises:
        ValueError: If the format is unknown, the file has another suffix, or the model cannot be written in the format.
        ImportError: If a package that the format needs is not installed.
    """
    filepath = Path(filepath)
    _check_format(filepath, format)
    signature = {
        name: keras.InputSpec(shape=spec.shape, dtype=spec.dtype, name=name) for name, spec in sorted(signature.items())
    }
    if format == "torch":
        kwargs.setdefault("dynamic_shapes", [{name: _any_sizes(spec) for name, spec in signature.items()}])
    with tempfile.TemporaryDirectory() as folder, export_mode():
        written = Path(folder, filepath.name)
        if format == "onnx" and keras.backend.backend() == "jax":
            _write_onnx_from_jax(model, written, signature, **kwargs)
        else:
            kwargs.setdefault("input_signature", [signature])
            model.export(str(written), format=format, **{"verbose": False, **kwargs})
        if format == "onnx":
            _finish_onnx(written, signature, about)
        written.with_suffix(".json").write_text(json.dumps(about, ensure_ascii=False, indent=1), encoding="utf-8")
        for file in Path(folder).iterdir():  # the weights may be in a separate file
            shutil.move(str(file), filepath.parent / file.name)


def _check_format(filepath: Path, format: str) -> None:
    if format not in SUFFIXES:
        raise ValueError(f"`format` must be one of {('tf_saved_model', *SUFFIXES)}, but got {format!r}.")
    if filepath.suffix != SUFFIXES[format]:
        raise ValueError(f"The name of a file of format {format!r} must end in {SUFFIXES[format]}, but got {filepath}.")
    backend = keras.backend.backend()
    backends = {"onnx": ("tensorflow", "torch", "jax"), "torch": ("torch",)}.get(format, ("tensorflow",))
    if backend not in backends:
        raise ValueError(
            f"Keras on {backend} cannot write the format {format!r} for any number of words: load the model with "
            f"KERAS_BACKEND={backends[0]} and export it there."
        )
    if format == "onnx" and backend == "jax":
        require("jax2onnx", "export-jax")
    needed = {"onnx": ["onnx"] + ["tf2onnx"] * (backend == "tensorflow"), "openvino": ["openvino"]}
    for module in needed.get(format, ()):
        require(module, "export")


def _write_onnx_from_jax(
    model: ServedModel, file: Path, signature: dict[str, Any], opset_version: int | None = None, verbose: bool = False
) -> None:
    """Like `keras.Model.export`, but all inputs share one symbolic length."""
    import jax

    jax2onnx = require("jax2onnx", "export-jax")
    if "characters" in signature:
        raise ValueError(
            "jax2onnx cannot convert characters for any number of words: load the model with "
            "KERAS_BACKEND=tensorflow and export it there."
        )
    sizes = {  # one symbol for each axis of unknown size
        name: [f"size_{axis}" if size is None else size for axis, size in enumerate(spec.shape)]
        for name, spec in signature.items()
    }
    specs = [jax.ShapeDtypeStruct(tuple(sizes[name]), spec.dtype) for name, spec in signature.items()]
    jax2onnx.to_onnx(
        lambda *inputs: model(dict(zip(signature, inputs, strict=True)), training=False),
        inputs=specs,
        input_names=[*signature],
        return_mode="file",
        output_path=str(file),
        **({} if opset_version is None else {"opset": opset_version}),
    )


def _any_sizes(spec: keras.InputSpec) -> dict[int, Any]:
    import torch

    return {axis: torch.export.Dim.DYNAMIC for axis, size in enumerate(spec.shape) if size is None}


def _finish_onnx(file: Path, signature: dict[str, Any], about: dict[str, Any]) -> None:
    """Restore the names of inputs and outputs, add metadata, and connect matrix products directly to their weights."""
    onnx = require("onnx", "export")
    proto = onnx.load(str(file))
    gather_weights(proto.graph)
    for values, names in ((proto.graph.input, sorted(signature)), (proto.graph.output, sorted(about["outputs"]))):
        if {each.name for each in values} != {*names}:  # if they are equal, only the order may differ
            rename(proto.graph, values, {each.name: name for each, name in zip(values, names, strict=True)})
    for key, value in about.items():
        entry = proto.metadata_props.add()
        entry.key, entry.value = key, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    onnx.save(proto, str(file))
