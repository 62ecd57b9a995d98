"""Runs exported files in their runtimes, in a process without this package.

`python runtimes.py jobs.json` reads a list of jobs `{"runtime": ..., "file": ..., "inputs": ..., "outputs": ...}`. For
each job, it reads the arrays `<batch>/<input name>` from the file `inputs`, and writes the arrays `<batch>/<output
name>`, or a text `error`, to the file `outputs`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]
Run = Callable[[Arrays], Arrays]


def saved_model(file: str) -> Run:
    import tensorflow as tf

    loaded = tf.saved_model.load(file)
    serve = loaded.signatures["serving_default"]

    def run(inputs: Arrays) -> Arrays:
        names = list(serve.structured_input_signature[1])
        given = {name: tf.constant(inputs[_match(name, inputs)]) for name in names}
        return {name: value.numpy() for name, value in serve(**given).items()}

    return run


def onnx(file: str) -> Run:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])

    def run(inputs: Arrays) -> Arrays:
        given = {each.name: inputs[_match(each.name, inputs)] for each in session.get_inputs()}
        names = [each.name for each in session.get_outputs()]
        return dict(zip(names, session.run(names, given), strict=True))

    return run


def litert(file: str) -> Run:
    try:
        from ai_edge_litert.interpreter import Interpreter
    except ImportError:
        from tensorflow.lite import Interpreter

    def run(inputs: Arrays) -> Arrays:
        # A new interpreter for every shape, because some shapes of an earlier run persist.
        interpreter = Interpreter(file)
        runner = interpreter.get_signature_runner()
        names = runner.get_input_details()
        return dict(runner(**{name: inputs[_match(name, inputs)] for name in names}))

    return run


def openvino(file: str) -> Run:
    import openvino

    compiled = openvino.Core().compile_model(file, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

    def run(inputs: Arrays) -> Arrays:
        given = {each.any_name: inputs[_match(each.any_name, inputs)] for each in compiled.inputs}
        found = compiled(given)
        return {_name(output, i): np.array(found[output]) for i, output in enumerate(compiled.outputs)}

    def _name(output: Any, place: int) -> str:
        return str(next(iter(sorted(output.names, key=len)), place))

    return run


def pt2(file: str) -> Run:
    import torch

    module = torch.export.load(file).module()

    def run(inputs: Arrays) -> Arrays:
        tensors = {name: torch.from_numpy(value) for name, value in inputs.items()}
        found = module(tensors)
        found = found if isinstance(found, dict) else {"0": found}
        return {name: value.detach().numpy() for name, value in found.items()}

    return run


def jax_export(file: str) -> Run:
    from pathlib import Path

    from jax import export

    loaded = export.deserialize(bytearray(Path(file).read_bytes()))

    def run(inputs: Arrays) -> Arrays:
        found = loaded.call(inputs)
        found = found if isinstance(found, dict) else {"0": found}
        return {name: np.asarray(value) for name, value in found.items()}

    return run


RUNTIMES = {
    "saved_model": saved_model,
    "onnx": onnx,
    "litert": litert,
    "openvino": openvino,
    "pt2": pt2,
    "jax": jax_export,
}


def _match(name: str, inputs: Arrays) -> str:
    """Return the input of that name, to which some converters add a prefix or suffix."""
    if len(inputs) == 1:
        return next(iter(inputs))
    (found,) = [each for each in inputs if each == name] or [each for each in inputs if each in name]
    return found


def main(path: str) -> None:
    with open(path, encoding="utf-8") as file:
        jobs = json.load(file)
    for job in jobs:
        results: Arrays = {}
        try:
            run = RUNTIMES[job["runtime"]](job["file"])
            with np.load(job["inputs"]) as given:
                batches = sorted({key.split("/")[0] for key in given})
                for batch in batches:
                    inputs = {key.split("/", 1)[1]: given[key] for key in given if key.split("/")[0] == batch}
                    results |= {f"{batch}/{name}": value for name, value in run(inputs).items()}
        except Exception as error:  # each runtime raises its own type
            results = {"error": np.array(f"{type(error).__name__}: {error}")}
        np.savez(job["outputs"], **results)
    assert not [name for name in sys.modules if name.startswith("keras_slstm")]


if __name__ == "__main__":
    main(sys.argv[1])
