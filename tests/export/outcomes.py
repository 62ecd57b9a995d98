"""Records the outcome of each cell of the export matrix, and makes the table of the guide."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import keras
import numpy as np

from tests.export import cases, columns, runtimes
from tests.processes import run_python

RECORDS = Path(__file__).with_name("outcomes.json")
PAGE = Path(__file__).parents[2] / "docs" / "guides" / "serve.md"
START, END = "<!-- outcomes of the exports: python -m tests.export -->\n", "<!-- end of the outcomes -->\n"
EXACT, REFUSED, NOT_WRITTEN, FAILS, WRONG = "yes", "refused", "not written", "does not run", "wrong"
BACKENDS = {"tensorflow": "TensorFlow", "torch": "PyTorch", "jax": "JAX"}
Records = dict[str, dict[str, str]]  # outcomes by row and column, such as "ONNX, from TensorFlow"
Batches = list[dict[str, np.ndarray]]


def read() -> Records:
    """Read the records of earlier runs."""
    found: Records = json.loads(RECORDS.read_text(encoding="utf-8")) if RECORDS.exists() else {}
    return found


def title(backend: str, column: str) -> str:
    """Return the name of a column in the records and the table."""
    return f"{column}, from {BACKENDS[backend]}"


def rows_with(backend: str, column: str, outcome: str) -> list[str]:
    """Return the rows with this outcome."""
    return [row for row, cells in read().items() if cells.get(title(backend, column)) == outcome]


def record(rows: list[str]) -> None:
    """Export and run the models of these rows in all columns of this backend, and add the outcomes to the records."""
    backend = keras.backend.backend()
    for row in rows:
        model = cases.LAYERS[row]()
        cases.randomize(model)
        batches = cases.vectors(model)
        found = outcomes(model, batches, cases.expected(model, batches))
        records = read()
        records.setdefault(row, {}).update({title(backend, name): outcome for name, outcome in found.items()})
        records = {row: records[row] for row in cases.LAYERS if row in records}
        RECORDS.write_text(json.dumps(records, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{row}: {found}", flush=True)


def outcomes(model: keras.Model, batches: Batches, expected: Batches) -> dict[str, str]:
    """Return the outcome of each column of this backend for a model."""
    found: dict[str, str] = {}
    files: dict[str, Path] = {}
    with tempfile.TemporaryDirectory() as name:
        for number, (column, each) in enumerate(columns.COLUMNS[keras.backend.backend()].items()):
            if each.missing:
                continue
            try:
                files[column] = each.write(model, Path(name, str(number)))
            except Exception as error:  # each converter raises its own type
                found[column] = REFUSED if "cannot export a loop over time" in str(error) else NOT_WRITTEN
                print(f"{column}: {type(error).__name__}: {str(error)[:300]}", flush=True)
        for column, given in run(files, batches, Path(name)).items():
            if "error" in given:
                found[column] = FAILS
                print(f"{column}: {str(given['error'])[:300]}", flush=True)
            else:
                found[column] = WRONG if differing(given, expected) else EXACT
    return found


def run(files: dict[str, Path], batches: Batches, folder: Path) -> dict[str, dict[str, np.ndarray]]:
    """Return the outputs of exported files for each batch, or `error`, by column. One process runs all files."""
    np.savez(folder / "in.npz", **{f"{i}/{k}": x for i, batch in enumerate(batches) for k, x in batch.items()})
    jobs: dict[str, dict[str, Any]] = {}
    for number, (column, file) in enumerate(files.items()):
        paths = {"file": str(file), "inputs": str(folder / "in.npz"), "outputs": str(folder / f"out{number}.npz")}
        jobs[column] = {"runtime": columns.COLUMNS[keras.backend.backend()][column].runtime, **paths}
    (folder / "jobs.json").write_text(json.dumps([*jobs.values()]))
    finished = run_python(runtimes.__file__, folder / "jobs.json", PYTHONPATH=None)
    assert finished.returncode == 0, finished.stderr
    found = {}
    for column, job in jobs.items():
        with np.load(job["outputs"]) as given:
            found[column] = {**given}
    return found


def differing(found: dict[str, np.ndarray], expected: Batches) -> list[str]:
    """Return the outputs with other shapes or labels than the model's, or numbers that differ by more than 1e-5."""
    wrong = []
    for batch, outputs in enumerate(expected):
        own = {key.split("/", 1)[1]: found[key] for key in found if key.startswith(f"{batch}/")}
        for name, values in outputs.items():
            other = own[name] if len(outputs) > 1 else next(iter(own.values()))
            tolerance = 0 if values.dtype == "int32" else 1e-5
            if other.shape != values.shape or not np.allclose(other, values, rtol=tolerance, atol=tolerance):
                wrong.append(f"{batch}/{name}")
    return wrong


def table(records: Records) -> str:
    """Return the table of the guide."""
    names = [title(backend, column) for backend, each in columns.COLUMNS.items() for column in each]
    lines = ["| | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    for row, cells in records.items():
        written = row if row.startswith("Keras") else f"`{row}`"
        lines.append(f"| {written} | " + " | ".join(cells.get(name, "not run") for name in names) + " |")
    return "\n".join(lines) + "\n"


def fill(page: str, records: Records) -> str:
    """Return the page with the table of the records."""
    head, rest = page.split(START)
    return f"{head}{START}\n{table(records)}\n{END}{rest.split(END)[1]}"
