"""`keras-slstm classify`: its models, presets and options."""

import json
from pathlib import Path

import keras
import pytest

from keras_slstm.cli.main import main, parse
from keras_slstm.cli.presets import load_presets
from keras_slstm.cli.tasks.classify import default_preset
from keras_slstm.cli.tasks.jobs import Job
from keras_slstm.cli.tasks.training import choose_settings
from keras_slstm.training.results import read_results
from tests.cli.conftest import TINY
from tests.processes import run_python

pytest.importorskip("sklearn", reason="the report needs the `examples` extra")
pytest.importorskip("matplotlib", reason="the plot needs the `plots` extra")


def test_trains_reports_saves_and_predicts(mails, tmp_path, command, capsys):
    folder = tmp_path / "run"
    options = ["--data", mails, "--output", folder, "--epochs", 3, *TINY]
    done = run_python("-m", "keras_slstm", "classify", *options)
    assert done.returncode == 0, done.stderr
    assert "Test accuracy 1.0000" in done.stdout
    assert "precision" in done.stdout
    assert "\b" not in done.stdout  # no cursor movement outside a terminal
    assert {path.name for path in folder.iterdir()} == {
        "model.keras", "confusion.png", "learning_curve.png", "predictions.tsv", "results.json", "settings.json",
        "progress.json", "run.json",
    }  # fmt: skip
    assert json.loads((folder / "results.json").read_text())["test_accuracy"] == 1.0

    heads, *rows = [line.split("\t") for line in (folder / "predictions.tsv").read_text().splitlines()]
    assert heads == ["label", "prediction", "probability", "text"]
    assert len(rows) == 12
    assert all(row[0] == row[1] for row in rows)

    lines = folder / "lines.txt"
    lines.write_text("bad news\n", encoding="utf-8")
    assert main(["predict", str(folder / "model.keras"), "good news", "--file", str(lines)]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [(label, text) for label, _, text in rows] == [("joy", "good news"), ("grief", "bad news")]
    assert all(0.5 < float(probability) <= 1 for _, probability, _ in rows)

    assert command(*options) == 2  # a finished run is not overwritten
    assert "finished run" in capsys.readouterr().err


def test_a_malformed_file_is_named_with_its_line(tmp_path, command, capsys):
    path = tmp_path / "broken.tsv"
    path.write_text("text\tlabel\na good one\tjoy\nno label here\n", encoding="utf-8")
    assert command("--data", path, "--output", tmp_path / "run") == 2
    assert capsys.readouterr().err.startswith(f"{path}:3: ")
    assert not (tmp_path / "run").exists()


def test_presets_of_each_paper():
    def preset(name, *words):
        return default_preset(parse("classify", words), name)

    assert preset("sst/phrases_2", "--encoder", "bi_caslstm") == preset("imdb", "--encoder", "caslstm") == "cas-lstm"
    assert preset("sst/phrases_2", "--encoder", "bilstm") == preset("sst/phrases_2") == "paper"
    assert preset("travel_desk", "--encoder", "caslstm") == "small"
    assert preset("a.tsv", "--encoder", "caslstm", "--data", "a.tsv") == "small"
    assert preset("trec", "--dataset", "trec", "--architecture", "bcn") == "bcn"
    cas_lstm = load_presets("classify")["cas-lstm"]
    names = ("units", "mlp_units", "dropout", "mlp_dropout", "learning_rate", "decay", "plateau", "clip", "batch_size")
    assert [cas_lstm[name] for name in names] == [300, 300, 0.5, 0.5, 1e-3, 0.5, 1, 5.0, 128]
    bcn = load_presets("classify")["bcn"]
    assert (bcn["units"], bcn["learning_rate"]) == (300, 1e-3)
    assert bcn["weight_decay"] > 0


def test_hidden_layers_and_learning_rate_plateaus(mails, tmp_path, command):
    options = ["--data", mails, "--output", tmp_path / "run", "--epochs", 2, *TINY]
    assert command(*options, "--preset", "cas-lstm", "--mlp-units", 6, "--mlp-layers", 2, "--mlp-dropout", 0) == 0
    result = json.loads((tmp_path / "run" / "results.json").read_text())
    assert len(result["history"]["learning_rate"]) == 2
    assert result["settings"]["plateau"] == 1
    model = keras.saving.load_model(tmp_path / "run" / "model.keras")
    assert model.mlp_units == (6, 6)
    assert command(*options, "--overwrite") == 0
    result = json.loads((tmp_path / "run" / "results.json").read_text())
    assert not {"plateau", "mlp_units", "mlp_layers", "mlp_dropout"} & set(result["settings"])
    assert "learning_rate" not in result["history"]


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="other backends compile the recurrence for minutes")
def test_bcn_and_combinations(mails, tmp_path, command, capsys):
    vectors = tmp_path / "tiny.txt"
    vectors.write_text("".join(f"{word} {' '.join(map(str, range(8)))}\n" for word in ("news", "from", "unused")))
    options = ["--data", mails, "--architecture", "bcn", "--output", tmp_path / "runs", "--epochs", 2, *TINY]
    options[options.index("bilstm")] = "subilstm"
    options += ["--vectors", vectors, "--mlp-dropout", 0.1, "--variants", "combine=mean", "combine=gate"]
    assert command(*options, "--encoder-option", "max_context=3") == 0
    out = capsys.readouterr().out
    assert "The word vectors are trained, although the preset keeps them fixed: only" in out
    table = out.split("development")[-1].splitlines()
    assert [line.split()[:2] for line in table[1:]] == [["mails.tsv", "combine=mean"], ["mails.tsv", "combine=gate"]]
    first, second = read_results(tmp_path / "results.jsonl")
    assert first["encoder"] == "subilstm + bcn (combine=mean)"
    assert "--architecture bcn" in second["command"]
    assert second["settings"]["mlp_dropout"] == 0.1
    assert not second["settings"]["fixed_vectors"]  # too few words have a vector
    path = tmp_path / "runs" / "mails-combine_gate-seed0" / "model.keras"
    model = keras.saving.load_model(path)
    assert type(model).__name__ == "BCN"
    assert (model.encoder.encoder.combine, model.encoder.encoder.max_context) == ("gate", 3)
    assert model.encoder.dropout == 0.1
    assert main(["predict", str(path), "good news"]) == 0
    assert capsys.readouterr().out.split("\t")[0] in ("joy", "grief")


def test_a_bcn_on_a_depth_adaptive_grn(mails, tmp_path, command):
    """The BCN itself has no depths to count at the end."""
    folder = tmp_path / "run"
    options = ["--data", mails, "--output", folder, "--architecture", "bcn", "--encoder", "depth_adaptive_grn"]
    tiny = ["--units", 4, "--embedding-dim", 4, "--max-depth", 2, "--epochs", 1, "--limit", 20, "--max-length", 3]
    assert command(*options, *tiny) == 0
    (line,) = read_results(tmp_path / "results.jsonl")
    assert "mean_depth" not in line
    assert (folder / "model.keras").exists()


@pytest.mark.parametrize(
    ("words", "patience"),
    [
        ([], {"patience": 5, "patience_updates": 1000}),  # epochs count
        (["--patience-updates", "300"], {"patience_updates": 300}),
        (["--patience-updates", "0"], {}),
    ],
)
def test_patience_in_updates_overrides_a_presets_patience(words, patience):
    arguments, preset = parse("classify", words), load_presets("classify")["paper"]
    settings = choose_settings(arguments, Job(None, None, "", 0, Path("run")), "paper", preset)
    assert {name: value for name, value in settings.items() if name.startswith("patience")} == patience


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--architecture", "bcn", "--pooling", "attention"], "--architecture bcn has its own pooling"),
        (["--architecture", "bcn", "--mlp-units", "5"], "--architecture bcn has its own pooling"),
        (["--ensemble"], "--ensemble needs several seeds"),
        (["--encoder", "bilstm", "--steps", "3"], "--steps needs --encoder slstm"),
        (["--data", "nowhere.tsv"], "nowhere.tsv"),
        (["--dataset", "nowhere"], "Unknown corpus 'nowhere'"),
        (["--dataset", "travel_desk", "--folds", "3"], "already has a validation and a test part"),
        (["--epochs", "0"], "argument --epochs: expected an integer of at least 1"),
        (["--data", "a.tsv", "--dataset", "trec"], "use either --dataset or --data, not both"),
        (["--encoder-option", "units=3"], "--encoder-option or --variants is invalid"),
        (["--output", "/dev/null"], "/dev/null is a file"),
        (["--units", "0"], "units"),
        (["--fixed-vectors"], "--fixed-vectors needs --vectors"),
        (["--vectors", "nowhere.txt"], "nowhere.txt"),
        (["--dev-data", "x.tsv"], "--dev-data needs --data"),
        (["--data", __file__, "--test-data", __file__, "--folds", "3"], "--folds splits --data itself"),
        (["--fold", "1"], "--fold needs --folds"),
        (["--folds", "3", "--fold", "1", "4"], "--fold 4: there are only 3 --folds"),
        (["--folds", "3", "--fold", "2", "2"], "--fold names a fold more than once"),
        (["--updates", "0"], "--updates 0 needs --epochs"),
        (["--encoder-option", "steps"], "NAME=VALUE"),
        (["--encoder-option", "speed=3"], "speed"),
        (["--learning-rate", "1e30", "--epochs", "3", "--units", "4", "--encoder", "bilstm"], "The loss is nan after"),
    ],
)
def test_bad_usage(arguments, message, command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command(*arguments) == 2
    assert message in capsys.readouterr().err


def test_ablations_of_the_depth_adaptive_grn(mails, tmp_path, command, capsys):
    """One command makes one table with the cost of each variant."""
    tiny = ["--units", 4, "--embedding-dim", 4, "--max-depth", 2, "--epochs", 1, "--limit", 20, "--max-length", 3]
    further = ["--characters", "cnn", "--label-smoothing", 0.1, "--speed"]
    variants = ["selection=full", "sequential=learned,max_length=3"]
    options = ["--data", mails, "--encoder", "depth_adaptive_grn", "--output", tmp_path / "runs", *tiny, *further]
    assert command(*options, "--variants", *variants) == 0
    table = capsys.readouterr().out.rpartition("\ndata ")[2]
    assert "mean depth" in table
    assert "texts per second" in table
    assert all(variant in table for variant in variants)
    results = {run["variant"]: run for run in read_results(tmp_path / "results.jsonl")}
    assert results["selection=full"]["mean_depth"] == 2
    assert results["selection=full"]["settings"]["characters"] == "cnn"
    assert results["selection=full"]["settings"]["max_length"] == 3
    assert results["selection=full"]["split"]["sizes"][0] == 20
    assert all(run["texts_a_second"] > 0 for run in results.values())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--stream needs --data, --dev-data and --test-data"),
        (
            ["--data", "DATA", "--dev-data", "DATA", "--test-data", "DATA", "--limit", 10],
            "--limit needs texts in memory",
        ),
        (
            ["--data", "DATA", "--dev-data", "DATA", "--test-data", "DATA", "--characters", "cnn"],
            "--characters needs texts in memory",
        ),
    ],
)
def test_options_that_need_texts_in_memory(options, message, mails, command, capsys):
    assert command("--stream", *(mails if option == "DATA" else option for option in options)) == 2
    assert message in capsys.readouterr().err
