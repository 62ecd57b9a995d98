"""Tests of the help, options and messages that all commands share."""

from __future__ import annotations

import contextlib
import importlib
import os
import subprocess
import sys
import time
import warnings

import pytest

from keras_slstm.cli import names
from keras_slstm.cli.main import COMMANDS, main, make_parser, one_line, parse
from keras_slstm.cli.options import (
    Parser,
    fraction,
    name_and_value,
    positive_float,
    positive_int,
    recorded_command,
    seed,
)
from keras_slstm.cli.presets import load_presets
from keras_slstm.cli.tasks.embed import match_arguments
from keras_slstm.cli.tasks.jobs import _on_devices
from keras_slstm.cli.tasks.progress import EpochLines
from tests.backend import BACKEND
from tests.processes import ROOT, run_python

HEAVY = ("keras", "tensorflow", "jax", "torch", "numpy")


@pytest.mark.parametrize("words", [["--help"], *([name, "--help-all"] for name in COMMANDS)], ids=" ".join)
def test_help_comes_at_once(words):
    """It takes less than a second, as no backend is imported. The best of three counts: the machine may be busy."""
    code = (
        "import sys, runpy, atexit; sys.argv = ['keras-slstm', *sys.argv[1:]]\n"
        f"atexit.register(lambda: print('LOADED', *({{*{HEAVY!r}}} & set(sys.modules))))\n"
        "from keras_slstm.cli.main import main; sys.exit(main())"
    )
    done = run_python("-c", code, *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].split() == ["LOADED"]
    assert done.stdout.startswith("usage: keras-slstm")


def test_help_takes_less_than_a_second():
    def seconds():
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "keras_slstm", "--help"], check=True, capture_output=True)
        return time.perf_counter() - started

    assert min(seconds() for _ in range(3)) < 1


@pytest.mark.short_run
def test_the_package_registers_its_classes_when_it_is_imported():
    code = "import keras_slstm, keras; print(keras.saving.get_registered_object('keras_slstm>SLSTM').__name__)"
    assert run_python("-c", code, KERAS_BACKEND=BACKEND).stdout.split() == ["SLSTM"]


@pytest.mark.short_run
def test_names_load_on_first_use_where_the_command_imports_the_package():
    code = "import sys; sys.argv = ['keras-slstm']; import keras_slstm; print('keras' in sys.modules, keras_slstm.CRF)"
    assert run_python("-c", code, KERAS_BACKEND=BACKEND).stdout.split()[0] == "False"


def test_names_of_options_are_those_of_the_modules_that_define_them():
    def of(module, name):
        return tuple(getattr(importlib.import_module(f"keras_slstm.{module}"), name))

    assert of("models.encoders", "ENCODERS")[: len(names.ENCODERS)] == names.ENCODERS
    assert of("models.text_classifier", "POOLINGS") == names.POOLINGS
    assert of("models.encoders", "SLSTM_READOUTS") == names.READOUTS
    assert of("layers.character_vectors", "CHARACTERS") == names.CHARACTERS
    assert of("models.sequence_tagger", "HEADS") == names.HEADS
    assert of("losses.crf", "WEIGHTINGS") == names.WEIGHTINGS
    assert of("layers.recurrent_stack", "CELLS") == names.CELLS
    assert of("training.optimizers", "OPTIMIZERS") == names.OPTIMIZERS
    assert of("distribute.strategies", "NAMES") == names.STRATEGIES
    assert of("transfer.tasks", "TASKS") == names.TRANSFER_TASKS
    assert of("transfer.classifiers", "CLASSIFIERS") == names.TRANSFER_CLASSIFIERS
    assert of("tuning.oracles", "TUNERS") == names.TUNERS
    assert of("tuning.studies", "STUDIES") == names.STUDIES


@pytest.mark.parametrize("name", COMMANDS)
def test_at_most_ten_options_are_visible(name):
    """--help-all lists the others, each with a sentence."""
    parser = make_parser(name)
    short, long = parser.help_text(advanced=False), parser.help_text(advanced=True)
    assert short.count("\n  -") - 2 <= 10
    assert len(long) >= len(short)
    zero = [action.help for action in parser._actions if action.default == 0 and action.default is not False]
    assert all("(default: 0)" in text for text in zero)
    assert all(action.help and action.help.strip() for action in parser._actions)
    assert all(f" {option}" in long for action in parser._actions for option in action.option_strings)


def test_usage_errors_are_one_line(capsys):
    assert main(["clasify"]) == 2
    assert main([]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("keras-slstm: unknown command 'clasify'")
    assert captured.err.count("\n") == 1
    assert "usage: keras-slstm COMMAND" in captured.out
    assert main(["export", "nowhere.keras", "new", "--format", "pdf"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["export", "nowhere.keras", "new"]) == 2
    assert capsys.readouterr().err == "nowhere.keras does not exist\n"


def make(*options):
    parser = Parser("keras-slstm try", "Try.", "")
    for names_of_option, settings in options:
        parser.group("options").add(*names_of_option, help="a sentence", **settings)
    return parser


def test_the_command_can_be_repeated_elsewhere():
    parser = make(
        (["model"], {"metavar": "MODEL", "shown": "PATH"}),
        (["--data"], {"shown": "PATH"}),
        (["--output"], {"shown": "never"}),
        (["--units"], {"type": positive_int}),
        (["--cased"], {"action": "store_true"}),
        (["--encoder-option"], {"nargs": "+", "type": name_and_value, "default": []}),
    )
    given = ["/home/m.keras", "--data", "/home/a b/mails.tsv", "--output", "there", "--units", "3", "--cased"]
    given += ["--encoder-option", "num_layers=3", "initial=zeros"]
    arguments = parser.parse_args(given)
    words = "keras-slstm try PATH --data PATH --units 3 --cased --encoder-option num_layers=3 "
    assert recorded_command(parser, arguments) == words + "'initial=\"zeros\"'"
    assert parser.local_options() == {"model", "data", "output"}
    assert recorded_command(parser, parser.parse_args(["m.keras"])) == "keras-slstm try PATH"


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (positive_int, "0", "expected an integer of at least 1, but got 0"),
        (positive_int, "many", "expected an integer of at least 1, but got many"),
        (positive_float, "nan", "expected a number above 0, but got nan"),
        (positive_float, "inf", "expected a number above 0, but got inf"),
        (fraction, "1", "expected a number of at least 0 and below 1, but got 1"),
        (seed, "-1", "expected an integer from 0 to 4294967295, but got -1"),
        (name_and_value, "steps", "expected NAME=VALUE, but got 'steps'"),
    ],
)
def test_impossible_values_are_named_in_one_line(kind, text, expected, capsys):
    parser = make((["--option"], {"type": kind}))
    with pytest.raises(SystemExit) as ended:
        parser.parse_args([f"--option={text}"])
    assert ended.value.code == 2
    message = f"keras-slstm try: argument --option: {expected} (see keras-slstm try --help)\n"
    assert capsys.readouterr().err == message


def test_all_presets_of_a_command_set_the_same_options():
    for name in ("classify", "match", "tag", "translate"):
        presets = load_presets(name)
        tables = {frozenset(preset) for preset in presets.values()}
        assert len(tables) == 1
        assert next(iter(presets)) == "small"


def test_presets_of_papers_have_none_of_the_defaults_that_are_not_the_papers():
    for name in ("classify", "match", "tag"):
        small, *papers = load_presets(name).values()
        assert (small["min_count"], small["embeddings_initializer"]) == (0, "wide")
        for paper in papers:
            assert (paper["min_count"], paper["embeddings_initializer"]) == (1, "uniform")
            assert (paper["word_dropout"], paper.get("split_words", "no")) == (0.0, "no")
    orders = {preset: settings["batch_order"] for preset, settings in load_presets("match").items()}
    assert orders == {**dict.fromkeys(("paper", "infersent", "siamese"), "by_length"), "small": "auto", "esim": "auto"}
    assert load_presets("classify")["bcn"]["batch_order"] == "by_length"


def test_the_recorded_command_has_no_private_paths():
    arguments = parse("export", ["m.keras", "folder"])
    assert arguments.words == ["export", "m.keras", "folder"]
    assert arguments.command_line == "keras-slstm export PATH PATH"


@pytest.mark.parametrize("name", ["tag", "translate", "embed"])
def test_a_command_without_options_for_devices_trains_alone(name, monkeypatch):
    """This also holds on a machine where TF_CONFIG is set."""
    monkeypatch.setenv("TF_CONFIG", "{}")
    arguments = parse(name, [])
    for given in (arguments, *([match_arguments(arguments)] if name == "embed" else [])):
        with _on_devices(given) as scope:
            assert scope is contextlib.nullcontext


def test_a_closed_output_pipe_is_not_an_error():
    command = f"{sys.executable} -m keras_slstm --help | head -1"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.stdout.startswith("usage: keras-slstm")
    assert done.stderr == ""


@pytest.mark.parametrize(("words", "said"), [(["classify"], "command continues"), (["predict", "m.keras", "a"], "")])
def test_a_training_with_a_closed_output_pipe_fails(words, said):
    """In a pipeline such as `classify | tee log`, a training that ends early must not report success."""
    code = (
        "import sys; sys.argv[0] = 'keras-slstm'  # imports no backend\n"
        "from keras_slstm.cli import main as program\n"
        "def run(arguments):\n"
        "    raise BrokenPipeError\n"
        "module = program.module_of(sys.argv[1])\n"
        "module.run = run\n"
        "sys.exit(program.main())"
    )
    done = run_python("-c", code, *words)
    assert done.returncode == 141
    assert said in done.stderr
    assert done.stderr.count("\n") == bool(said)


def test_one_line_per_epoch(capsys):
    lines = EpochLines(epochs=3, steps=2, monitor="val_accuracy", before={})
    for epoch, score in enumerate((0.5, 0.25, 0.75)):
        lines.on_epoch_begin(epoch)
        lines.on_epoch_end(epoch, {"loss": 1.0, "val_accuracy": score, "learning_rate": 0.1})
    out = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[:3] for line in out] == [
        [f"Epoch {epoch}/3", "loss 1.0000", f"development accuracy {score:.4f}"]
        for epoch, score in enumerate((0.5, 0.25, 0.75), start=1)
    ]
    assert ["best so far" in line for line in out] == [True, False, True]
    assert [" left" in line for line in out] == [True, True, False]


def test_mistakes_get_a_hint(tmp_path, capsys):
    (tmp_path / "mails.tsv").write_text("message\tclass\nhello\ta\n", encoding="utf-8")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "model.keras").touch()
    for words, advice in (
        (["classify", "--dat", "mails.tsv"], 'Did you mean "--data"?'),
        (["classify", "--data", tmp_path / "mails.tsv"], "Or name them with --text-column, --label-column."),
        (
            ["predict", tmp_path / "run", "hello"],
            f"{tmp_path / 'run'} is a folder: pass {tmp_path / 'run/model.keras'}",
        ),
        (["predict", "model.keras", "--file", "nowhere.txt"], "--file: nowhere.txt does not exist"),
    ):
        assert main([str(word) for word in words]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert advice in line


@pytest.mark.parametrize("name", ["classify", "tag", "match", "translate", "embed"])
def test_a_folder_for_the_results_is_refused_before_training(name, tmp_path, capsys):
    assert main([name, "--results", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"--results: {tmp_path} is a folder: pass the name of a file\n"


def test_a_file_for_the_results_must_contain_results(tmp_path, capsys):
    (tmp_path / "mails.tsv").write_text("label\ttext\n")
    for results, problem in (
        (tmp_path / "mails.tsv", "contains no results: pass the name of a new file"),
        (tmp_path / "mails.tsv" / "new" / "results.jsonl", "is a file: pass a name in a folder"),
    ):
        assert main(["classify", "--results", str(results)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("--results: ")
        assert line.endswith(problem)
    assert (tmp_path / "mails.tsv").read_text() == "label\ttext\n"


def test_texts_that_the_output_cannot_encode_are_escaped():
    code = (
        "import sys; sys.argv[0] = 'keras-slstm'  # imports no backend\n"
        "from keras_slstm.cli import main as program\n"
        "program.module_of('predict').run = lambda arguments: print(*arguments.text) or 0\n"
        "sys.exit(program.main())"
    )
    done = run_python("-c", code, "predict", "m.keras", "good", "привет", PYTHONIOENCODING="ascii", PYTHONUTF8="1")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "good \\u043f\\u0440\\u0438\\u0432\\u0435\\u0442\n"


def test_a_warning_is_one_line_without_code(tmp_path, capsys):
    (tmp_path / "mails.csv").write_text("text;label\nhello;a\n", encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, category, *place, **rest: print(
            warnings.formatwarning(message, category, *place), end="", file=sys.stderr
        )
        assert main(["classify", "--data", str(tmp_path / "mails.csv")]) == 2
    first, *_ = capsys.readouterr().err.splitlines()
    assert first == "Note: " + str(tmp_path / "mails.csv") + ": columns are separated by semicolons"
    assert warnings.formatwarning is not one_line


def test_among_equal_scores_the_lowest_loss_is_best(capsys):
    lines = EpochLines(epochs=9, steps=2, monitor="val_f1", before={"val_f1": [0.5, 1.0], "val_loss": [0.1, 0.3]})
    for epoch, loss in enumerate((0.4, 0.2, 0.2, 0.1), start=2):
        lines.on_epoch_begin(epoch)
        lines.on_epoch_end(epoch, {"loss": 1.0, "val_f1": 1.0, "val_loss": loss})
    assert ["best so far" in line for line in capsys.readouterr().out.splitlines()] == [False, True, False, True]
