"""The launcher passes the cluster to its processes, restarts them and leaves none behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keras_slstm.distribute import __main__ as program
from keras_slstm.distribute.cluster import find_cluster
from keras_slstm.distribute.launcher import Workers, launch
from tests.backend import BACKEND
from tests.processes import run_python

pytestmark = pytest.mark.skipif(BACKEND != "tensorflow", reason="one backend is enough for processes")


def _script(folder: Path, code: str) -> list[str]:
    (folder / "script.py").write_text(f"import os, sys, time\n{code}\n", encoding="utf-8")
    return [sys.executable, str(folder / "script.py")]


def _starts(folder: Path) -> int:
    return len((folder / "starts").read_text(encoding="utf-8"))


def _counted(folder: Path, code: str) -> list[str]:
    """Write a script that counts its starts."""
    return _script(folder, f"open({str(folder / 'starts')!r}, 'a').write('.')\n{code}")


def test_each_process_gets_its_index(tmp_path):
    with Workers(_script(tmp_path, "print(os.environ['TF_CONFIG'])"), 3, logs=tmp_path) as workers:
        assert workers.wait(60.0) == [0, 0, 0]
    said = [json.loads((tmp_path / f"worker-{index}.log").read_text()) for index in range(3)]
    clusters = [find_cluster({"TF_CONFIG": json.dumps(config)}) for config in said]
    assert [cluster.index for cluster in clusters] == [0, 1, 2]
    assert len({cluster.addresses for cluster in clusters}) == 1
    assert len(set(clusters[0].addresses)) == 3


@pytest.mark.parametrize(
    ("code", "status", "starts", "message"),
    [
        ("", 0, 2, ""),
        ("sys.exit(3)", 3, 6, "ended with exit status 3."),
        ("sys.exit(2)", 2, 2, "ended with exit status 2."),  # wrong options are not retried
        ("os.kill(os.getpid(), 9)", 137, 6, "ended with signal SIGKILL."),
    ],
)
def test_all_processes_are_restarted(tmp_path, capsys, code, status, starts, message):
    assert launch(_counted(tmp_path, code), 2, restarts=2, grace=30.0) == status
    assert _starts(tmp_path) == starts
    said = capsys.readouterr().err.split("\n")
    assert said[-2:] == [f"Process 0 of 2 {message}", ""] if message else said == [""]


def test_each_restart_may_have_one_fewer(tmp_path, capfd):
    code = "import json; sys.exit(len(json.loads(os.environ['TF_CONFIG'])['cluster']['worker']) > 1)"
    assert launch(_counted(tmp_path, code), 3, restarts=5, least=2) == 1
    assert _starts(tmp_path) == 3 + 5 * 2
    assert launch(_counted(tmp_path, code), 3, restarts=5, least=1) == 0
    assert _starts(tmp_path) == 3 + 5 * 2 + 3 + 2 + 1
    assert capfd.readouterr().err.endswith("ended with exit status 1.\nRestarting with --workers 1.\n")


def test_lines_bear_the_number_of_their_process(tmp_path, capfd):
    # Python writes a traceback in pieces, so that of the first process could be mixed with lines of the second.
    code = (
        "import json; i = json.loads(os.environ['TF_CONFIG'])['task']['index']; print('a', i);"
        "os.write(2, b'b %d\\n' % i); i and 1 / 0"
    )
    assert launch(_script(tmp_path, code), 2) == 1
    said = capfd.readouterr()
    assert said.out == "a 0\n"
    lines = said.err.splitlines()
    assert {"b 0", "[1] a 1", "[1] b 1"} <= set(lines)
    assert [line for line in lines if line.startswith("[1] ZeroDivisionError")]
    assert lines[-1] == "Process 1 of 2 ended with exit status 1."


def test_a_line_is_shown_at_once(tmp_path, capfd, monkeypatch):
    """A killed process loses no line."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    with Workers(_script(tmp_path, "print('begun'); time.sleep(600)"), 2) as workers:
        deadline = time.monotonic() + 60
        said = ""
        while "[1] begun\n" not in said:
            assert time.monotonic() < deadline
            time.sleep(0.05)
            said += capfd.readouterr().err
        workers.stop(signal.SIGKILL)


def test_the_others_get_time_to_end(tmp_path):
    code = "import json; time.sleep(600 * json.loads(os.environ['TF_CONFIG'])['task']['index']); sys.exit(1)"
    with Workers(_script(tmp_path, code), 2) as workers:
        assert workers.wait(60.0, grace=0.2) == [1, -signal.SIGTERM]


def test_a_limit(tmp_path):
    with Workers(_script(tmp_path, "time.sleep(600)"), 2) as workers:
        with pytest.raises(TimeoutError, match=r"after 0\.1 seconds"):
            workers.wait(0.1)
        assert all(process.poll() is not None for process in workers.processes)


def test_a_failed_start_leaves_no_process(tmp_path, monkeypatch):
    started = []

    def start(*arguments, popen=subprocess.Popen, **options):
        if started:
            raise SystemExit(143)  # as after a signal
        started.append(popen(*arguments, **options))
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", start)
    with pytest.raises(SystemExit):
        Workers(_script(tmp_path, "time.sleep(600)"), 2)
    assert started[0].poll() == -signal.SIGKILL


def test_the_launcher_is_quiet_and_leaves_the_log_level_to_the_script(tmp_path):
    """JAX, which Keras imports if it is installed, sets the level."""
    script = _script(tmp_path, "print(os.environ.get('TF_CPP_MIN_LOG_LEVEL'))")[1]
    done = run_python("-m", "keras_slstm.distribute", "--workers", 1, script, TF_CPP_MIN_LOG_LEVEL=None)
    assert (done.returncode, done.stdout, done.stderr) == (0, "None\n", "")


def test_no_process_outlives_the_launcher(tmp_path):
    _script(tmp_path, f"open({str(tmp_path)!r} + f'/{{os.getpid()}}.pid', 'w'); time.sleep(600)")
    command = [sys.executable, "-m", "keras_slstm.distribute", str(tmp_path / "script.py")]
    launcher = subprocess.Popen(command, cwd=Path(__file__).parents[2])
    try:
        deadline = time.monotonic() + 60
        while len(found := list(tmp_path.glob("*.pid"))) < 2:
            assert launcher.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        launcher.send_signal(signal.SIGTERM)
        assert launcher.wait(60.0) == 128 + signal.SIGTERM
    finally:
        launcher.kill()
    for path in found:
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.stem), 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--workers", "0", __file__], "--workers must be at least 1, but got 0"),
        (["--min-workers", "0", __file__], "--min-workers must be at least 1, but got 0"),
        (["--min-workers", "3", __file__], "--min-workers must be at most 2 (--workers), but got 3"),
        (["--restarts", "-1", __file__], "--restarts must be at least 0, but got -1"),
        (["--grace", "nan", __file__], "--grace must be at least 0, but got nan"),
        (["nowhere.py"], "the script 'nowhere.py' does not exist"),
        ([], "script"),
    ],
)
def test_bad_input(monkeypatch, capsys, arguments, message):
    monkeypatch.setattr(sys, "argv", ["distribute", *arguments])
    with pytest.raises(SystemExit, match="2"):
        program.main()
    assert message in capsys.readouterr().err
