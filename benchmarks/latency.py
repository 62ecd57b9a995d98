"""Times one sentence in the runtimes that a model can be exported to, and in Keras.

    KERAS_BACKEND=tensorflow python -m benchmarks.latency --output runs/latency-tensorflow

The benchmark builds a classifier with each encoder and a tagger with a CRF, exports them, and starts a process for each
runtime, which loads all models, calls them in turn with one sentence, and reports medians over the rounds. All
runtimes compute probabilities from word ids, and for the tagger also labels, with the same number of threads.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

REFERENCE = "Keras' BiLSTM"
# The encoder of each model, by its name in the table.
MODELS = {
    REFERENCE: "bilstm",
    "S-LSTM": "slstm",
    "CAS-LSTM": "bi_caslstm",
    "SuBiLSTM": "subilstm",
    "depth-adaptive GRN": "depth_adaptive_grn",
    "S-LSTM and CRF": "slstm",
}
TAGGERS = ("S-LSTM and CRF",)
WORDS = 2000  # in the vocabulary
FORMATS = {"onnx": ".onnx", "litert": ".tflite", "openvino": ".xml"}
PACKAGES = ("tensorflow", "onnxruntime", "openvino", "ai-edge-litert", "tf2onnx")
Call = Callable[[], Any]


def build(name: str, units: int) -> Any:
    """Build a model with a vocabulary and random weights."""
    import keras_slstm

    options: dict[str, Any] = {"encoder": MODELS[name], "units": units, "embedding_dim": units}
    words = [f"w{i}" for i in range(WORDS)]
    if name in TAGGERS:
        options |= {"characters": None, "scheme": "BIO", "head": "crf"}
        tagger = keras_slstm.SequenceTagger(["O", "B-A", "I-A", "B-B", "I-B"], **options)
        tagger.adapt([words])
        return tagger
    classifier = keras_slstm.SentenceClassifier(["a", "b", "c"], **options)
    classifier.adapt([" ".join(words)])
    return classifier


def write(folder: Path, names: list[str], units: int) -> None:
    """Save and export the models; skip the formats that a model cannot be written to."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    for name in names:
        place = folder / name
        place.mkdir()
        model = build(name, units)
        model.save(place / "model.keras")
        for format, suffix in FORMATS.items():
            try:
                model.export(place / f"model{suffix}", format=format)
            except Exception as error:
                print(f"{name} is not written as {format}: {str(error).splitlines()[0][:100]}", flush=True)
        if (place / "model.onnx").exists():
            quantize_dynamic(place / "model.onnx", place / "integers.onnx", weight_type=QuantType.QInt8)


def _served(file: Path, threads: int) -> Any:
    """Return a Keras model with the outputs of an exported file."""
    import keras
    import tensorflow as tf

    import keras_slstm  # registers the models
    from keras_slstm.models.exported import ServedModel

    assert keras_slstm.__version__
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    model = keras.saving.load_model(file)
    served = ServedModel(model, model.serve)
    served.compile(jit_compile=False)
    return served


def _predict(file: Path, words: np.ndarray, threads: int) -> Call:
    model = _served(file, threads)
    return lambda: model.predict({"words": words}, verbose=0)


def _predict_on_batch(file: Path, words: np.ndarray, threads: int) -> Call:
    model = _served(file, threads)
    return lambda: model.predict_on_batch({"words": words})


def _function(file: Path, words: np.ndarray, threads: int, xla: bool = False) -> Call:
    model = _served(file, threads)
    import tensorflow as tf

    given = tf.constant(words)
    function = tf.function(lambda words: model({"words": words}, training=False), jit_compile=xla)
    concrete = function.get_concrete_function(given)
    return lambda: {name: value.numpy() for name, value in concrete(given).items()}


def _xla(file: Path, words: np.ndarray, threads: int) -> Call:
    return _function(file, words, threads, xla=True)


def _onnx(file: Path, words: np.ndarray, threads: int) -> Call:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"words": words})


def _litert(file: Path, words: np.ndarray, threads: int) -> Call:
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(file), num_threads=threads)
    place = interpreter.get_input_details()[0]["index"]
    interpreter.resize_tensor_input(place, words.shape)
    interpreter.allocate_tensors()
    outputs = [each["index"] for each in interpreter.get_output_details()]

    def call() -> Any:
        interpreter.set_tensor(place, words)
        interpreter.invoke()
        return [interpreter.get_tensor(each) for each in outputs]

    return call


def _openvino(file: Path, words: np.ndarray, threads: int) -> Call:
    import openvino

    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
    request = openvino.Core().compile_model(file, "CPU", settings).create_infer_request()
    return lambda: request.infer([words])


# By name in the table: the file, and the function that loads it and returns a call.
RUNTIMES: dict[str, tuple[str, Callable[[Path, np.ndarray, int], Call]]] = {
    "`predict`": ("model.keras", _predict),
    "`predict_on_batch`": ("model.keras", _predict_on_batch),
    "`tf.function`": ("model.keras", _function),
    "`tf.function`, XLA": ("model.keras", _xla),
    "onnxruntime": ("model.onnx", _onnx),
    "onnxruntime, int8": ("integers.onnx", _onnx),
    "LiteRT": ("model.tflite", _litert),
    "OpenVINO": ("model.xml", _openvino),
}


def measure(runtime: str, folder: Path, args: argparse.Namespace) -> list[dict[str, Any]]:
    """Time all models in this process, in turn; return a row for each model and length."""
    file, load = RUNTIMES[runtime]
    calls: dict[tuple[str, int], Call] = {}
    random = np.random.default_rng(0)
    for name in args.models:
        path = folder / name / file
        for length in args.lengths if path.exists() else ():
            words = random.integers(2, WORDS, (1, length)).astype("int32")
            try:
                call = load(path, words, args.threads)
                call()
            except Exception as error:  # each runtime raises its own type
                print(f"{name} does not run in {runtime}: {str(error).splitlines()[0][:100]}", flush=True)
            else:
                calls[name, length] = call
    seconds: dict[tuple[str, int], list[float]] = {key: [] for key in calls}
    for _ in range(args.rounds):
        for key, call in calls.items():
            call()  # warm up: the other models have filled the caches
            start = time.perf_counter()
            call()
            seconds[key].append(time.perf_counter() - start)
    rows: list[dict[str, Any]] = []
    for (name, length), taken in seconds.items():
        path = folder / name / file
        size = path.stat().st_size + (path.with_suffix(".bin").stat().st_size if path.suffix == ".xml" else 0)
        row = {"runtime": runtime, "model": name, "length": length, "seconds": statistics.median(taken)}
        rows.append({**row, "fastest": min(taken), "slowest": max(taken), "megabytes": size / 1e6})
    return rows


def table(rows: list[dict[str, Any]], length: int) -> str:
    """Return a Markdown table of milliseconds and, in brackets, the ratio to the BiLSTM in the same runtime."""
    found = {(row["runtime"], row["model"]): row for row in rows if row["length"] == length}
    names = list(dict.fromkeys(row["model"] for row in rows))
    lines = ["| | " + " | ".join(names) + " |", "| --- |" + " ---: |" * len(names)]
    for runtime in dict.fromkeys(row["runtime"] for row in rows):
        reference = found.get((runtime, REFERENCE))
        cells = []
        for name in names:
            row = found.get((runtime, name))
            ratio = f" ({row['seconds'] / reference['seconds']:.2f})" if row and reference and name != REFERENCE else ""
            cells.append(f"{row['seconds'] * 1e3:.2f}{ratio}" if row else "does not run")
        lines.append(f"| {runtime} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def sizes(rows: list[dict[str, Any]]) -> str:
    """Return a Markdown table of the file sizes in megabytes."""
    names = list(dict.fromkeys(row["model"] for row in rows))
    lines = ["| | " + " | ".join(names) + " |", "| --- |" + " ---: |" * len(names)]
    for runtime in [name for name, (file, _) in RUNTIMES.items() if file != "model.keras"]:
        found = {row["model"]: f"{row['megabytes']:.1f}" for row in rows if row["runtime"] == runtime}
        lines.append(f"| {runtime} | " + " | ".join(found.get(name, "does not run") for name in names) + " |")
    return "\n".join(lines)


def in_process(folder: Path, args: argparse.Namespace, *task: str) -> None:
    """Write the models or measure one runtime in a new process."""
    options = [f"--{name}={getattr(args, name)}" for name in ("units", "rounds", "threads")]
    options += ["--lengths", *map(str, args.lengths), "--models", *args.models]
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow", "OMP_NUM_THREADS": str(args.threads)}
    command = [sys.executable, "-m", "benchmarks.latency", *options, "--folder", str(folder), *task]
    subprocess.run(command, check=True, env=environment)


def main() -> None:
    """Write the models, measure each runtime, print, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, nargs="+", default=[1, 20])
    parser.add_argument("--units", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--models", nargs="+", choices=[*MODELS], default=[*MODELS])
    parser.add_argument("--output", type=Path, default=Path("runs", "latency-tensorflow"))
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--runtime", choices=[*RUNTIMES], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.runtime:
        (args.folder / "rows.json").write_text(json.dumps(measure(args.runtime, args.folder, args)))
        return
    if args.folder:
        write(args.folder, args.models, args.units)
        return
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        in_process(folder, args)
        for runtime in RUNTIMES:
            in_process(folder, args, "--runtime", runtime)
            rows += json.loads((folder / "rows.json").read_text())
            for row in rows:
                if row["runtime"] == runtime:
                    print(f"{runtime:20} {row['model']:20} {row['length']:3} words {row['seconds'] * 1e3:8.2f} ms")
    from keras_slstm.files import write_json
    from keras_slstm.training.results import conditions

    found = conditions()
    found["versions"] |= {package: importlib.metadata.version(package) for package in PACKAGES}
    settings = {name: getattr(args, name) for name in ("units", "lengths", "rounds", "threads")}
    args.output.mkdir(parents=True, exist_ok=True)
    write_json(args.output / "latency.json", {"conditions": found, "settings": settings, "rows": rows})
    for length in args.lengths:
        print(f"\n{length} words, milliseconds\n\n{table(rows, length)}")
    print(f"\nmegabytes\n\n{sizes(rows)}")


if __name__ == "__main__":
    main()
