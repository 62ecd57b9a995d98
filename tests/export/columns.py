"""The columns of the export matrix: how a model is written, and which runtime runs the file."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import keras

import keras_slstm


class Column(NamedTuple):
    """A format.

    Attributes:
        runtime: One of `tests.export.runtimes.RUNTIMES`.
        needs: The packages that write and run the format.
        write: Writes a model for any batch size and length to a path, and returns the path of the file.
    """

    runtime: str
    needs: tuple[str, ...]
    write: Callable[[keras.Model, Path], Path]

    @property
    def missing(self) -> list[str]:
        return [name for name in self.needs if importlib.util.find_spec(name) is None]


def _saved_model(model: keras.Model, path: Path) -> Path:
    model.export(path, verbose=False, input_signature=_signature(model))
    return path


def _saved_model_of_jax(model: keras.Model, path: Path) -> Path:
    # Keras gives each input its own symbolic length.
    shapes = {
        each.name: f"(batch, time{''.join(f', {size}' for size in each.shape[2:])})"
        for each in keras.tree.flatten(model.inputs)
    }
    options = {"polymorphic_shapes": [shapes]}
    model.export(path, verbose=False, input_signature=_signature(model), jax2tf_kwargs=options)
    return path


def _onnx(model: keras.Model, path: Path) -> Path:
    return _in_export_mode(model, path.with_suffix(".onnx"), "onnx")


def _litert(model: keras.Model, path: Path) -> Path:
    import tensorflow as tf

    # Without TensorFlow's own operations, which few devices support.
    plain = {"supported_ops": [tf.lite.OpsSet.TFLITE_BUILTINS]}
    return _in_export_mode(model, path.with_suffix(".tflite"), "litert", target_spec=plain)


def _openvino(model: keras.Model, path: Path) -> Path:
    return _in_export_mode(model, path.with_suffix(".xml"), "openvino")


def _pt2(model: keras.Model, path: Path) -> Path:
    import torch

    any_size = torch.export.Dim.DYNAMIC
    shapes = {
        each.name: {i: any_size for i, size in enumerate(each.shape) if size is None}
        for each in keras.tree.flatten(model.inputs)
    }
    return _in_export_mode(model, path.with_suffix(".pt2"), "torch", dynamic_shapes=[shapes])


def _jax(model: keras.Model, path: Path) -> Path:
    import jax

    batch, time = jax.export.symbolic_shape("batch, time")
    inputs = {
        each.name: jax.ShapeDtypeStruct((batch, time, *each.shape[2:]), each.dtype)
        for each in keras.tree.flatten(model.inputs)
    }
    exported = jax.export.export(jax.jit(lambda inputs: model(inputs, training=False)))(inputs)
    path.write_bytes(exported.serialize())
    return path


def _onnx_of_jax(model: keras.Model, path: Path) -> Path:
    import jax
    import jax2onnx

    # Keras gives each input its own symbolic length.
    inputs = sorted(keras.tree.flatten(model.inputs), key=lambda each: each.name)
    names = [each.name for each in inputs]
    shapes = [jax.ShapeDtypeStruct(("batch", "time", *each.shape[2:]), each.dtype) for each in inputs]
    path = path.with_suffix(".onnx")
    with keras_slstm.export_mode():
        jax2onnx.to_onnx(
            lambda *values: model(dict(zip(names, values)), training=False),
            inputs=shapes,
            input_names=names,
            output_names=sorted(model.output) if isinstance(model.output, dict) else None,
            return_mode="file",
            output_path=str(path),
        )
    return path


def _in_export_mode(model: keras.Model, path: Path, format: str, **options: Any) -> Path:
    with keras_slstm.export_mode():
        model.export(str(path), format=format, verbose=False, input_signature=_signature(model), **options)
    return path


def _signature(model: keras.Model) -> list[dict[str, keras.InputSpec]]:
    inputs = sorted(keras.tree.flatten(model.inputs), key=lambda each: each.name)
    return [{each.name: keras.InputSpec(shape=each.shape, dtype=each.dtype, name=each.name) for each in inputs}]


# The columns of each backend.
COLUMNS: dict[str, dict[str, Column]] = {
    "tensorflow": {
        "SavedModel": Column("saved_model", (), _saved_model),
        "ONNX": Column("onnx", ("tf2onnx", "onnx", "onnxruntime"), _onnx),
        "LiteRT": Column("litert", (), _litert),
        "OpenVINO": Column("openvino", ("openvino",), _openvino),
    },
    "torch": {
        "ONNX": Column("onnx", ("onnx", "onnxruntime"), _onnx),
        ".pt2": Column("pt2", (), _pt2),
    },
    "jax": {
        "SavedModel": Column("saved_model", ("tensorflow",), _saved_model_of_jax),
        "ONNX": Column("onnx", ("jax2onnx", "onnxruntime"), _onnx_of_jax),
        "jax.export": Column("jax", ("flatbuffers",), _jax),
    },
}
