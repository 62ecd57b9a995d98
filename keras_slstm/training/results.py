"""The results file: one JSON line per run, append-only."""

from __future__ import annotations

import contextlib
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import keras

from keras_slstm.errors import DataError
from keras_slstm.files import full_disk_named, json_type
from keras_slstm.version import __version__


def append_result(path: str | os.PathLike[str], result: dict[str, Any]) -> None:
    """Append a result to a JSON lines file, with the time, the machine, the versions and the commit.

    If a crash has left half a line, the result starts on a new one. A result whose `"run"` is already in the file is
    not written again: its process was killed after writing it.

    Args:
        path: The file. It and its folder are created if needed.
        result: The result, as JSON values; its `"run"`, if any, is the `id` of a `TrainingRun`. A `"commit"` in it
            replaces the present one.

    Raises:
        OSError: If the line cannot be written. The file stays as it was.
    """
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    now_here = {"conditions": conditions(), "commit": commit(), "time": now}
    text = json.dumps({**result, **now_here, **result}, ensure_ascii=False)
    line = text.encode("utf-8", "backslashreplace") + b"\n"  # escapes a lone surrogate as JSON does
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with full_disk_named(path), open(path, "ab+", buffering=0) as file:
        file.seek(0)
        before = file.read()
        if "run" in result and result["run"] in _runs(before):
            return
        if before and not before.endswith(b"\n"):
            line = b"\n" + line
        written = 0
        try:
            while written < len(line):
                written += file.write(line[written:])
            os.fsync(file.fileno())
        except OSError:
            if os.path.getsize(path) == len(before) + written:  # otherwise, another process has added a line
                os.truncate(path, len(before))
            raise


def _runs(lines: bytes) -> set[Any]:
    """The ids of the runs in complete lines."""
    runs = set()
    for line in lines.split(b"\n"):
        with contextlib.suppress(ValueError, AttributeError, TypeError):
            runs.add(json.loads(line).get("run"))
    return runs - {None}


def read_results(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read a file written by `append_result`.

    Raises:
        DataError: If a line is not a JSON object. The message names the file and the line.
    """
    results = []
    for number, line in enumerate(Path(path).read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            result = json.loads(line)
        except json.JSONDecodeError as error:
            problem = f"invalid JSON at column {error.colno}: {error.msg}"
        except (UnicodeDecodeError, RecursionError) as error:
            problem = f"invalid JSON: {error}"
        else:
            if isinstance(result, dict):
                results.append(result)
                continue
            problem = f"expected a JSON object, found {json_type(result)}"
        raise DataError(path, number, f"{problem}. Delete the line if it is left over from a crash.")
    return results


def processor() -> str:
    """The model of the processor, or its architecture if the model is unknown."""
    model = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), model)
    return model


def gpu() -> str | None:
    """The model of the GPU that the current backend uses, or None."""
    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        device = jax.devices()[0]
        return device.device_kind if device.platform == "gpu" else None
    if backend == "torch":
        import torch

        return torch.cuda.get_device_name() if torch.cuda.is_available() else None
    import tensorflow as tf

    devices = tf.config.list_physical_devices("GPU")
    return tf.config.experimental.get_device_details(devices[0]).get("device_name", "GPU") if devices else None


def conditions() -> dict[str, Any]:
    """The machine and the versions under which a result was measured."""
    backend = keras.backend.backend()
    accelerator = {"gpu": found} if (found := gpu()) else {}
    names = {"tensorflow": ["tensorflow"], "jax": ["jax", "jaxlib"], "torch": ["torch"]}[backend]
    return {
        "backend": backend,
        "processor": processor(),
        **accelerator,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {
            "keras_slstm": __version__,
            **{name: importlib.metadata.version(name) for name in ["keras", "numpy", *names]},
        },
    }


def commit() -> str | None:
    """The commit of the package's checkout, with a `+` if it has uncommitted changes; None outside a checkout."""
    folder = Path(__file__).parent
    try:
        run = [
            subprocess.run(
                ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=30
            ).stdout
            for arguments in (("ls-files", "--error-unmatch", Path(__file__).name), ("rev-parse", "--short=12", "HEAD"))
        ]
        status = subprocess.run(
            # Results that were added are no change of the code.
            ["git", "status", "--porcelain", "--untracked-files=no", "--", ":(top)", ":(top,exclude)*.jsonl"],
            cwd=folder, capture_output=True, text=True, check=True, timeout=30,
        ).stdout  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return run[-1].strip() + ("+" if status else "")
