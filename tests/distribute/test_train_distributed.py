import json
import runpy
import sys
from pathlib import Path

import pytest

from keras_slstm.distribute.launcher import Workers, free_ports
from tests.backend import BACKEND

SCRIPT = Path(__file__).parents[2] / "examples" / "train_distributed.py"


def test_a_process_that_never_starts_is_one_line(monkeypatch, capsys):
    addresses = [f"localhost:{port}" for port in free_ports(2)]
    config = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": 1}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "--timeout", "0.5"])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(SCRIPT), run_name="__main__")
    assert end.value.code == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"Process 1 of 2 has no connection to {addresses[0]} (process 0) 0.5 seconds after")


@pytest.mark.skipif(BACKEND != "tensorflow", reason="MultiWorkerMirroredStrategy is TensorFlow's")
@pytest.mark.ci_run
@pytest.mark.xdist_group("two_processes")
def test_two_processes_train_and_one_writes(tmp_path):
    rows = [f"{'good' if i % 2 else 'bad'} {'word ' * (i % 4)}\t{'yes' if i % 2 else 'no'}" for i in range(60)]
    (tmp_path / "data.tsv").write_text("\n".join(["text\tlabel", *rows]) + "\n", encoding="utf-8")
    options = ["--epochs", "1", "--save-every", "1"]
    places = ["--data", str(tmp_path / "data.tsv"), "--output", str(tmp_path / "run")]
    with Workers([sys.executable, str(SCRIPT), *options, *places], 2, logs=tmp_path) as workers:
        statuses = workers.wait(600.0)
    first, second = ((tmp_path / f"worker-{index}.log").read_text(errors="replace") for index in (0, 1))
    assert statuses == [0, 0], first[-4000:]
    assert "Test accuracy" in first
    assert "Test accuracy" not in second
    assert (tmp_path / "run" / "model.keras").exists()
