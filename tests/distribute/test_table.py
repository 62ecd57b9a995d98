"""The guide's table of inputs and options lists what the tests run on each backend."""

import re

import pytest

from tests.distribute.input_programs import ON_JAX, ON_PYTORCH, ON_TENSORFLOW
from tests.processes import ROOT

pytestmark = pytest.mark.backends("torch")  # does not depend on the backend
ON = {"TensorFlow": ON_TENSORFLOW, "JAX": ON_JAX, "PyTorch": ON_PYTORCH}


def test_each_cell_says_whether_a_test_runs():
    page = (ROOT / "docs" / "guides" / "devices.md").read_text(encoding="utf-8")
    header, _, *rows = re.findall(r"^\|(.*)\|$", page, re.MULTILINE)
    backends = [cell.strip() for cell in header.split("|")][1:-1]
    assert backends == list(ON)
    listed = []
    for row in rows:
        _, *cells, programs = (cell.strip() for cell in row.split("|"))
        names = re.findall(r"`(\w+)`", programs)
        for backend, cell in zip(backends, cells, strict=True):
            assert {cell} == {"yes" if name in ON[backend] else "no" for name in names}, (backend, names)
        listed += names
    assert sorted(listed) == sorted({name for names in ON.values() for name in names})
