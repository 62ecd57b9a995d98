import importlib.util
import json

import pytest

from benchmarks import crf
from tests.backend import BACKEND
from tests.processes import run_python


@pytest.mark.backends("tensorflow")
@pytest.mark.short_run
def test_the_reference_runs_without_an_environment_variable(tmp_path):
    reference = crf.REFERENCES[BACKEND]
    if not importlib.util.find_spec(crf.MODULES[reference]):
        pytest.skip(f"{reference} is not installed")
    sizes = ("--labels", 3, "--lengths", 4, "--batch", 2, "--rounds", 1)
    done = run_python(
        *("-m", "benchmarks.crf", *sizes, "--no-memory", "--output", tmp_path),
        TF_USE_LEGACY_KERAS=None,
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "crf.json").read_text())["rows"]
    assert {row["kind"] for row in rows if row["name"] == reference} == {"loss and gradient", "decoding"}
