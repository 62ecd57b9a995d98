from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from keras_slstm.distribute import process_age as module

CODE = """
import importlib.util, sys, time
time.sleep(0.5)
spec = importlib.util.spec_from_file_location("process_age", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print(module.process_age())
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system has no /proc")
def test_the_age_counts_from_the_start_of_the_process():
    began = time.monotonic()
    found = subprocess.run([sys.executable, "-c", CODE, module.__file__], capture_output=True, check=True, text=True)
    assert 0.49 <= float(found.stdout) <= time.monotonic() - began + 0.02  # the system counts in hundredths


def test_without_proc_it_counts_from_the_import(monkeypatch):
    monkeypatch.setattr(module, "Path", lambda name: Path("/nowhere"))
    monkeypatch.setattr(module, "_IMPORTED", time.monotonic() - 100)
    assert 100 <= module.process_age() < 110


@pytest.mark.parametrize("interactive", ["sys.ps1 = '>>> '", "sys.modules['ipykernel'] = sys"])
def test_in_a_notebook_it_counts_from_the_call(interactive):
    """Otherwise, a notebook kernel that is older than the timeout would have no time left."""
    code = CODE.replace("module = ", f"{interactive}; module = ", 1)
    found = subprocess.run([sys.executable, "-c", code, module.__file__], capture_output=True, check=True, text=True)
    assert float(found.stdout) == 0
