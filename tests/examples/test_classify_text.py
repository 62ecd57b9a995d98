import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import keras
import pytest

pytest.importorskip("sklearn", reason="the report needs the `examples` extra")
pytest.importorskip("matplotlib", reason="the picture needs the `plots` extra")

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "classify_text.py"
TINY = [
    "--encoder",
    "bilstm",
    "--units",
    "8",
    "--embedding-dim",
    "8",
    "--learning-rate",
    "0.02",
    "--dropout",
    "0",
]


@pytest.fixture
def script(monkeypatch):
    """Runs the script in this process, which saves the seconds of a start, and gives its exit status."""
    spec = importlib.util.spec_from_file_location("classify_text", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *map(str, arguments)])
        try:
            return module.main()
        except SystemExit as end:  # argparse
            return end.code

    return run


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "mails.tsv"
    lines = [
        f"{'good' if i % 2 else 'bad'} {'news ' * (i % 5)}from number {i % 9}\t{'joy' if i % 2 else 'grief'}"
        for i in range(120)
    ]
    path.write_text("text\tlabel\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_trains_reports_saves_and_predicts(data, tmp_path, script, capsys):
    folder = tmp_path / "run"
    command = ["--data", data, "--output", folder, "--epochs", 3, *TINY]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, command)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Test accuracy 1.0000" in done.stdout
    assert "precision" in done.stdout
    assert "\b" not in done.stdout  # no moving cursor outside a terminal
    assert {path.name for path in folder.iterdir()} == {
        "model.keras", "confusion.png", "results.json", "settings.json", "progress.json",
    }  # fmt: skip
    assert json.loads((folder / "results.json").read_text())["test_accuracy"] == 1.0

    lines = folder / "lines.txt"
    lines.write_text("bad news\n", encoding="utf-8")
    assert script("--model", folder / "model.keras", "--predict", "good news", "--predict-file", lines) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [(label, text) for label, _, text in rows] == [("joy", "good news"), ("grief", "bad news")]
    assert all(0.5 < float(probability) <= 1 for _, probability, _ in rows)

    assert script(*command) == 2  # a finished run is not overwritten
    assert "finished run" in capsys.readouterr().err


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="tests/test_training.py does it on all")
def test_an_interrupted_training_goes_on(data, tmp_path, script, monkeypatch, capsys):
    command = ["--data", data, "--output", tmp_path, *TINY]
    fit = keras.Model.fit

    def stop(epoch, logs):
        if epoch == 1:
            raise KeyboardInterrupt

    def interrupted(self, *args, callbacks, **kwargs):
        return fit(self, *args, callbacks=[*callbacks, keras.callbacks.LambdaCallback(on_epoch_begin=stop)], **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(keras.Model, "fit", interrupted)
        assert script(*command) == 130
    assert "same command goes on" in capsys.readouterr().err
    assert script(*command, "--epochs", 2) == 0
    out = capsys.readouterr().out
    assert "Going on after epoch 1" in out
    assert "Epoch 1/2" not in out
    assert "Epoch 2/2" in out


def test_a_malformed_file_is_named_with_its_line(tmp_path, script, capsys):
    path = tmp_path / "broken.tsv"
    path.write_text("text\tlabel\na good one\tjoy\nno label here\n", encoding="utf-8")
    assert script("--data", path, "--output", tmp_path / "run") == 2
    assert capsys.readouterr().err.startswith(f"{path}:3: ")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "nowhere.keras", "--predict", "a"], "nowhere.keras"),
        (["--model", "nowhere.keras"], "--predict"),
        (["--predict-file", "lines.txt"], "--model"),
        (["--encoder", "bilstm", "--steps", "3"], "--steps belongs to --encoder slstm"),
        (["--data", "nowhere.tsv"], "nowhere.tsv"),
    ],
)
def test_bad_usage(arguments, message, script, capsys):
    assert script(*arguments) == 2
    assert message in capsys.readouterr().err
