"""Tests of `keras-slstm search`."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import keras
import pytest

from keras_slstm.cli import search_workers
from keras_slstm.cli.main import parse
from keras_slstm.cli.search import worker_words
from keras_slstm.cli.tasks import search_pictures
from keras_slstm.tuning import read_confirmation, read_search, read_trials
from keras_slstm.tuning.search_folder import start_anew
from tests.backend import BACKEND
from tests.processes import run_python

pytestmark = pytest.mark.backends("torch")  # processes start fastest with PyTorch

pytest.importorskip("matplotlib", reason="the plots need the `plots` extra")

# These tests do not depend on the backend, and processes start fastest with this one.
processes = pytest.mark.skipif(BACKEND != "torch", reason="one backend is enough")
ROOT = str(Path(__file__).parents[2])
TINY = ["embedding_dim=4", "batch_size=32", "learning_rate=0.05", "dropout=0"]


@pytest.fixture
def search(command, in_process):
    return command


@pytest.fixture
def report(command):
    return lambda folder: command("--report", folder)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data")
    mails = [f"{'good' if i % 2 else 'bad'} news from number {i % 9}\t{'joy' if i % 2 else 'grief'}" for i in range(80)]
    (path / "mails.tsv").write_text("text\tlabel\n" + "\n".join(mails) + "\n", encoding="utf-8")
    pairs = [f"mail {i % 9}\t{'mail' if i % 2 else 'car'} {i % 9}\t{'same' if i % 2 else 'other'}" for i in range(80)]
    (path / "pairs.tsv").write_text("text_a\ttext_b\tlabel\n" + "\n".join(pairs) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("classification", ["--encoders", "cnn", "lstm"]),
        ("tagging", ["--scheme", "BIOES", "--encoders", "slstm", "--cased"]),
        ("pairs", ["--encoders", "cnn", "--features", "paraphrase", "--tokenizer", "whitespace"]),
    ],
)
@pytest.mark.short_run
def test_three_trials_of_each_task(search, report, data, tmp_path, capsys, task, options):
    source = ["--data", data / "pairs.tsv"] if task == "pairs" else ["--dataset", "travel_desk"]
    small = ["mlp_units=4"]
    if task == "tagging":  # with `head=crf`, tagging the development sentences would take most of the time
        small = ["character_dim=4", "character_units=4", "slstm/steps=1,2", "head=softmax"]
    folder = tmp_path / "s"
    status = search("--task", task, *source, *options, "--limit", 64, "--only", "--max-trials", 3, "--epochs", 1,
                    "--values", "units=2,4,6", *small, *TINY, "--output", folder)  # fmt: skip
    out = capsys.readouterr().out
    assert status == 0
    trials = read_trials(folder)
    assert "search for the largest val_" in out
    assert ": 3 trials, at most 1 epoch per run" in out
    assert len(trials) == 3
    assert all(trial["score"] >= 0 for trial in trials)
    best = json.loads((folder / "best.json").read_text())
    assert f"Best: trial {best['trial']}, {best['score']:.4f}" in out
    assert f"Saved {folder / 'best.keras'}" in out
    model = keras.saving.load_model(folder / "best.keras")
    measure = {"classification": "val_accuracy", "tagging": "val_f1", "pairs": "val_accuracy"}[task]
    assert read_search(folder)["objective"] == measure
    if task == "tagging":
        assert model.scheme == "BIOES"
        assert not model.vectorizer.get_config()["lowercase"]
    if task == "pairs":
        assert (model.features, model.vectorizer.get_config()["tokenizer"]) == ("paraphrase", "whitespace")

    assert report(folder) == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 3
    words = {"val_accuracy": "development accuracy", "val_f1": "development F1"}
    assert f"Best: {words[measure]} {best['score']:.4f}" in page
    for trial in trials:
        assert f"<td>{trial['trial']}</td><td>{trial['score']:.4f}</td>" in page
    assert "http" not in page  # the page is self-contained
    assert [(folder / name).stat().st_size > 2000 for name in ("hyperparameters.png", "cost.png", "course.png")]


def test_studies(search, report, data, tmp_path, capsys, pretended):
    small = ["--data", data / "mails.tsv", "--limit", 32, "--epochs", 1, "--seeds", 0, 1, "--values", *TINY]
    assert search(*small, "units=2", "slstm/steps=1,2", "slstm/window=1,2", "--study", "figure2",
                  "--output", tmp_path / "f") == 0  # fmt: skip
    assert report(tmp_path / "f") == 0
    assert "±" in capsys.readouterr().out  # over the seeds
    found = {(t["values"]["slstm/steps"], t["values"]["slstm/window"]) for t in read_trials(tmp_path / "f")}
    assert found == {(1, 1), (1, 2), (2, 1), (2, 2)}
    assert (tmp_path / "f" / "figure2.png").exists()
    assert search("--study", "table2", "--tuner", "random") == 2
    assert "--study needs --tuner grid, not random" in capsys.readouterr().err


def test_resume_and_overwrite(search, data, tmp_path, capsys, pretended):
    given = ["--data", data / "mails.tsv", "--encoders", "cnn", "--only", "--values", "units=2,3,4", *TINY,
             "--epochs", 1, "--tuner", "grid", "--output", tmp_path / "s"]  # fmt: skip
    assert search(*given, "--max-trials", 1) == 0
    assert search(*given) == 0
    assert [training.values["units"] for training in pretended] == [2, 3, 4]
    assert search(*given, "--seed", 1) == 2
    message = capsys.readouterr().err
    assert "its seed is 0, not 1" in message
    assert "overwrite it (--overwrite)" in message
    assert search(*given, "--overwrite", "--max-trials", 1) == 0
    assert len(pretended) == 4


def test_overwriting_also_deletes_the_pictures_of_the_report(tmp_path):
    names = ["report.html", *(name for _, name, _ in search_pictures._PICTURES)]
    for name in names:
        (tmp_path / name).touch()
    start_anew(tmp_path, {})
    assert [path.name for path in tmp_path.iterdir()] == ["search.json"]


def test_confirm(search, report, data, tmp_path, capsys, pretended, monkeypatch):
    given = ["--data", data / "mails.tsv", "--encoders", "cnn", "--only", "--values", "units=2,4", *TINY,
             "learning_rate=0.0001,0.05", "--epochs", 2, "--max-trials", 4, "--output", tmp_path / "s"]  # fmt: skip
    assert search(*given) == 0
    assert report(tmp_path / "s") == 0
    assert "On the test part" not in (tmp_path / "s" / "report.html").read_text(encoding="utf-8")
    assert "On the test part" not in capsys.readouterr().out
    assert len(pretended) == 4
    assert search(*given, "--confirm", 2) == 0
    assert [training.seed for training in pretended[4:]] == [1, 2, 1, 2]
    out = capsys.readouterr().out
    found = read_confirmation(tmp_path / "s")
    assert "accuracy, trained again with seeds 1, 2:" in out
    mean = sum(found["configurations"][0]["test"]) / 2
    assert re.search(rf"best +development \S+ ± \S+  test {mean:.4f} ± ", out)
    assert re.search(r"default +development", out)
    assert report(tmp_path / "s") == 0
    page = (tmp_path / "s" / "report.html").read_text(encoding="utf-8")
    assert "<h2>On the test part: accuracy</h2>" in page
    assert f"<td>{mean:.4f} ± " in page
    assert "On the test part:" in capsys.readouterr().out
    assert search(*given, "--confirm", 0) == 2
    assert "--confirm: expected an integer of at least 1, but got 0" in capsys.readouterr().err
    monkeypatch.setenv("KERASTUNER_TUNER_ID", "chief")
    assert search(*given, "--confirm", 1) == 2
    assert "--confirm starts its own processes: unset KERASTUNER_TUNER_ID" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--objective", "f1"], "`objective` must be one of .*'val_accuracy', 'val_loss'.* but got 'f1'"),
        (["--values", "slstm/stepz=3"], "Unknown hyperparameter 'slstm/stepz'. Known hyperparameters: .*slstm/steps"),
        (["--values", "steps"], "NAME=VALUE"),
        (["--values", "units=a,2"], r"must be all numbers, .*, but got units=\['a', 2\]\.$"),
        (["--encoders", "gru"], "The encoder 'gru' has no space"),
        (["--data", "nowhere.tsv"], "nowhere.tsv does not exist"),
        (["--scheme", "BIO"], "--scheme belongs to --task tagging, not classification"),
        (["--task", "tagging", "--tokenizer=words"], "--tokenizer belongs to --task classification and pairs, not tag"),
        (["--features", "inference"], "--features belongs to --task pairs, not classification"),
        (["--factor", "3"], "--factor belongs to --tuner hyperband, not random"),
        (["--report", "runs/mails", "--epochs", "3"], "--epochs cannot be combined with --report"),
        (["--limit", "0"], "--limit: expected an integer of at least 1, but got 0"),
        (["--gpus", "0"], "--gpus needs --workers"),
        (["--tuner", "anealing"], "--tuner: invalid choice"),
    ],
)
def test_wrong_options(search, tmp_path, capsys, wrong, message):
    assert search("--output", tmp_path / "s", *wrong) == 2
    assert re.search(message, capsys.readouterr().err)


def test_workers_start_no_workers(monkeypatch):
    words = ["--workers", "2", "--gpus", "0", "1", "--tuner", "grid", "--confirm=3", "--values", "units=2", "steps=3"]
    assert worker_words(parse("search", words)) == ["search", "--tuner", "grid", "--values", "units=2", "steps=3"]


def test_a_search_that_runs_can_be_reported_but_not_started_again(search, report, data, tmp_path, capsys, pretended):
    fcntl = pytest.importorskip("fcntl")
    folder = tmp_path / "s"
    given = ["--data", data / "mails.tsv", "--encoders", "cnn", "--only", "--values", "units=2,3", *TINY,
             "dropout=0,0.5", "--tuner", "grid", "--epochs", 1, "--output", folder]  # fmt: skip
    assert search(*given) == 0
    gc.collect()  # its lock
    capsys.readouterr()
    with open(folder / "search.lock", "r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for further in ([], ["--overwrite"]):
            assert search(*given, *further) == 2
            (line,) = capsys.readouterr().err.splitlines()
            assert line.startswith(f"{folder} is in use by process {os.getpid()} on ")
        assert report(folder) == 0
    assert search(*given) == 0
    assert len(read_trials(folder)) == len(pretended) == 4


@pytest.mark.parametrize(
    ("ended", "times", "message"),
    [
        ("chief", 1, "chief was ended by signal 9: start the search again"),
        ("tuner0", 4, "tuner0 was .* 9 again: start"),
    ],
)
def test_a_process_that_is_killed_is_named(monkeypatch, capfd, ended, times, message):
    popen = subprocess.Popen

    def start(command, env, **options):
        code = "kill -9 $$" if env["KERASTUNER_TUNER_ID"] == ended else "exec sleep 60"
        return popen(["sh", "-c", code], env=env, **options)

    monkeypatch.setattr(search_workers.subprocess, "Popen", start)
    assert search_workers.run_workers(["search"], 2) == 9
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == times
    assert re.match(message, lines[-1])


def test_no_report_without_a_search(report, tmp_path, capsys):
    assert report(tmp_path) == 2
    assert "contains no search" in capsys.readouterr().err


# Tests with separate processes.


def environment(**further):
    return {**os.environ, "PYTHONPATH": ROOT, "OMP_NUM_THREADS": "1", **further}


# An encoder that waits in its constructor until another training has reached it, too.
MEETING = """
import os, pathlib, time
from keras_slstm.models import ENCODERS, register_encoder
from keras_slstm.tuning import register_space

def make(units, return_sequences, **options):
    here = pathlib.Path(__file__).parent
    (here / f"{os.getpid()}.arrived").touch()
    deadline = time.monotonic() + 300
    while len([*here.glob("*.arrived")]) < 2:
        assert time.monotonic() < deadline, "nobody else has come"
        time.sleep(0.02)
    return ENCODERS["cnn"](units, return_sequences, **options)

register_encoder("meeting", make)
register_space("meeting", lambda hp: {})
"""


@processes
@pytest.mark.short_run
def test_chief_and_two_workers(data, tmp_path):
    (tmp_path / "meeting.py").write_text(MEETING, encoding="utf-8")
    options = ["--data", data / "mails.tsv", "--import", "meeting", "--encoders", "meeting", "--only", "--values",
               "units=2,3,4", *TINY, "--tuner", "grid", "--epochs", 1, "--output", tmp_path / "s"]  # fmt: skip
    path = os.pathsep.join([ROOT, str(tmp_path)])
    done = run_python("-m", "keras_slstm", "search", "--workers", 2, *options, PYTHONPATH=path, OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    trials = read_trials(tmp_path / "s")
    assert sorted(trial["values"]["units"] for trial in trials) == [2, 3, 4]
    assert all("score" in trial for trial in trials)
    best = json.loads((tmp_path / "s" / "best.json").read_text())
    assert best["score"] == max(trial["score"] for trial in trials)
    assert "Best: trial" in done.stdout
    assert [path.name for path in (tmp_path / "s").rglob("*.keras")] == ["best.keras"]
    assert done.stdout.count("search for the largest") == 1
    assert (tmp_path / "s" / "report.html").exists()


@processes
@pytest.mark.short_run
def test_killed_and_resumed(data, tmp_path):
    folder = tmp_path / "s"
    command = [sys.executable, "-m", "keras_slstm", "search", "--data", str(data / "mails.tsv"), "--encoders", "cnn",
               "--only", "--values", "units=2,3", *TINY, "--tuner", "grid", "--epochs", "30", "--patience", "0",
               "--output", str(folder)]  # fmt: skip
    running = subprocess.Popen(command, env=environment())
    progress = folder / "trial_0001" / "seed0" / "run" / "progress.json"
    deadline = time.monotonic() + 500
    while not progress.exists():
        assert running.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    running.wait()
    time.sleep(2)  # the training must have ended, too, or it would continue here
    epochs = json.loads(progress.read_text())["epochs"]
    time.sleep(1)
    assert json.loads(progress.read_text())["epochs"] == epochs < 30
    first = (folder / "trial_0000" / "record.json").stat().st_mtime_ns
    done = run_python(*command[1:], OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    assert (folder / "trial_0000" / "record.json").stat().st_mtime_ns == first
    assert "trial 0000" not in done.stdout.partition("Best:")[0]
    trials = read_trials(folder)
    assert [trial["values"]["units"] for trial in trials] == [2, 3]
    assert [len(trial["runs"]["seed0"]["history"]["loss"]) for trial in trials] == [30, 30]


@processes
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)])
def test_no_process_outlives_the_launcher(data, tmp_path, number, status):
    psutil = pytest.importorskip("psutil")
    command = [sys.executable, "-m", "keras_slstm", "search", "--workers", "2", "--data", str(data / "mails.tsv"),
               "--output", str(tmp_path / "s")]  # fmt: skip
    running = subprocess.Popen(command, env=environment())
    started = psutil.Process(running.pid)
    deadline = time.monotonic() + 60
    while len(children := started.children(recursive=True)) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    running.send_signal(number)
    assert running.wait(timeout=60) == status
    psutil.wait_procs(children, timeout=300)
    assert not [child for child in children if child.is_running()]
