import json
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
import pytest

from keras_slstm.cli.main import main, parse
from keras_slstm.cli.presets import load_presets
from keras_slstm.cli.tasks import reports
from keras_slstm.cli.tasks.classify import default_preset
from keras_slstm.cli.tasks.jobs import Job, plan_jobs
from keras_slstm.cli.tasks.training import choose_settings
from keras_slstm.cli.training_options import short_name
from keras_slstm.datasets import load_folds
from keras_slstm.files import write_json
from keras_slstm.training.results import read_results
from keras_slstm.training.training_run import TrainingRun
from tests.cli.command_checks import check_that_an_interrupted_training_resumes
from tests.processes import run_python

pytest.importorskip("sklearn", reason="the report needs the `examples` extra")
pytest.importorskip("matplotlib", reason="the plot needs the `plots` extra")

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


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "mails.tsv"
    lines = [
        f"{'good' if i % 2 else 'bad'} {'news ' * (i % 5)}from number {i % 9}\t{'joy' if i % 2 else 'grief'}"
        for i in range(120)
    ]
    path.write_text("text\tlabel\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_trains_reports_saves_and_predicts(data, tmp_path, command, capsys):
    folder = tmp_path / "run"
    options = ["--data", data, "--output", folder, "--epochs", 3, *TINY]
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


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="tests/training covers the other backends")
def test_an_interrupted_training_resumes(data, tmp_path, command, monkeypatch, capsys):
    options = ["--data", data, "--output", tmp_path, *TINY]
    check_that_an_interrupted_training_resumes(command, options, monkeypatch, capsys)


def test_odd_labels_a_failing_plot_or_a_kill_lose_no_results(tmp_path, command, monkeypatch, capsys):
    """Labels with line breaks and formula characters, a kill after the result line, and a plot that fails."""
    labels = ["$\\frac{x$", "two\nlines", "accuracy", "\x1b[31mred"]
    lines = [json.dumps({"text": f"word{i % 4} number {i % 9}", "label": labels[i % 4]}) for i in range(80)]
    (tmp_path / "odd.jsonl").write_text("\n".join(lines))
    folder = tmp_path / "run"
    options = ["--data", tmp_path / "odd.jsonl", "--output", folder, "--epochs", 1, *TINY]

    def killed(run):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(TrainingRun, "finish", killed)
        assert command(*options) == 130
    assert (folder / "model.keras").exists()
    (line,) = read_results(tmp_path / "results.jsonl")
    assert set(line["test_labels"]) == set(labels)
    table = capsys.readouterr().out.partition("support\n")[2].splitlines()
    assert {row.split()[0] for row in table[1:5]} == {"$\\frac{x$", "\\x1b[31mred", "accuracy", "two\\nlines"}

    def fails(*arguments):
        raise RuntimeError("no\nfonts")

    (folder / "confusion.png").unlink()

    with monkeypatch.context() as patched:
        patched.setitem(vars(reports), "confusion_matrix", fails)
        assert command(*options) == 0
    captured = capsys.readouterr()
    assert f"{folder / 'confusion.png'} could not be drawn: no fonts" in captured.err
    assert "after epoch 1" in captured.out
    assert read_results(tmp_path / "results.jsonl") == [line]
    assert not (folder / "confusion.png").exists()
    assert not [path for path in folder.iterdir() if path.suffix == ".h5"]
    assert command(*options) == 2
    assert "finished run" in capsys.readouterr().err
    assert command(*options, "--overwrite") == 0
    assert (folder / "confusion.png").exists()
    assert len(read_results(tmp_path / "results.jsonl")) == 2


@pytest.mark.parametrize("change", ["train", "vocabulary"])
def test_an_interrupted_training_does_not_resume_with_other_data(change, data, tmp_path, command, monkeypatch, capsys):
    """This includes a test split with other words: the embedding would have other rows."""
    vectors, test = tmp_path / "tiny.txt", tmp_path / "test.tsv"
    vectors.write_text("".join(f"{word} {' '.join(map(str, range(8)))}\n" for word in ("good", "bad", "unseen")))
    test.write_text("text\tlabel\ngood news\tjoy\n")
    copy = tmp_path / "train.tsv"
    copy.write_bytes(data.read_bytes())
    options = ["--data", copy, "--test-data", test, "--vectors", vectors, "--output", tmp_path / "run", *TINY]

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(keras.Model, "predict", interrupted)  # after the last epoch
        assert command(*options, "--epochs", 1) == 130
    with (copy if change == "train" else test).open("a") as file:
        file.write("unseen news\tjoy\n")
    capsys.readouterr()
    assert command(*options, "--epochs", 1) == 2
    assert "contains an interrupted run with data=" in capsys.readouterr().err


@pytest.mark.short_run
def test_a_run_in_updates_does_not_resume_in_epochs(data, tmp_path, command, monkeypatch, capsys):
    """Its epochs go through the few texts several times, so `updates` in the results would be wrong."""
    options = ["--data", data, "--output", tmp_path / "run", "--batch-size", "32", *TINY]
    with monkeypatch.context() as patched:
        patched.setattr(keras.Model, "predict", lambda *args, **kwargs: (_ for _ in ()).throw(KeyboardInterrupt))
        assert command(*options, "--updates", 100) == 130
    capsys.readouterr()
    assert command(*options, "--updates", 100, "--epochs", 4) == 2
    assert "contains an interrupted run with --epochs=None, not 'given'" in capsys.readouterr().err
    assert command(*options, "--updates", 100) == 0
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert (results["epochs"], results["updates"]) == (2, 102)  # an epoch is 17 passes through three batches


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="MultiWorkerMirroredStrategy is TensorFlow's")
@pytest.mark.ci_run
@pytest.mark.xdist_group("two_processes")
def test_workers_train_together_and_one_prints(data, tmp_path):
    options = ["--data", data, "--output", tmp_path / "run", "--epochs", 2, *TINY]
    done = run_python("-m", "keras_slstm", "classify", "--workers", 2, *options, limit=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Test accuracy") == 1
    assert "Traceback" not in done.stderr
    found = main(["predict", str(tmp_path / "run" / "model.keras"), "good news"])
    assert found == 0
    assert json.loads((tmp_path / "run" / "results.json").read_text())["epochs"] == 2


@pytest.mark.short_run
def test_folds_seeds_and_vectors(data, tmp_path, command, capsys):
    """Each fold and seed has a training with a result line, a table follows, and nothing is trained twice."""
    vectors = tmp_path / "tiny.txt"
    vectors.write_text("".join(f"{word} {' '.join(map(str, range(8)))}\n" for word in ("good", "bad", "unused")))
    options = ["--data", data, "--output", tmp_path / "runs", "--folds", 2, "--seed", 0, 1, "--epochs", 1, *TINY]
    options += ["--vectors", vectors, "--fixed-vectors"]
    assert command(*options) == 0
    out = capsys.readouterr().out
    assert "word types have a vector" in out
    assert "mails.tsv" in out.split("development")[-1]
    lines = read_results(tmp_path / "results.jsonl")
    assert [(line["fold"], line["seed"]) for line in lines] == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert {line["vectors"] for line in lines} == {"tiny.txt"}
    assert {line["split"]["sizes"][2] for line in lines} == {60}
    for number, fold in enumerate(load_folds(data, 2), start=1):
        table = (tmp_path / "runs" / f"mails-fold{number}-seed0" / "predictions.tsv").read_text(encoding="utf-8")
        assert [row.split("\t")[-1] for row in table.splitlines()[1:]] == fold.test.texts
    for line in lines:
        assert line["command"] == (
            "keras-slstm classify --data PATH --folds 2 --vectors PATH --fixed-vectors --encoder bilstm "
            "--units 8 --embedding-dim 8 --dropout 0.0 --learning-rate 0.02 --epochs 1"
        )
        assert sum(count for count, _ in line["right_by_length"].values()) == 60
        assert sum(right for _, right in line["right_by_length"].values()) == round(60 * line["test_accuracy"])
        assert line["seconds_per_epoch"] > 0
    assert command(*options, "--fold", 2) == 0
    out = capsys.readouterr().out
    assert out.count("already finished") == out.count("--- mails-fold2-seed") == 2
    assert "fold1" not in out
    assert command(*options) == 0
    assert capsys.readouterr().out.count("already finished") == 4
    assert command(*options, "--units", 4) == 2  # the settings differ
    assert "contains the results of another command" in capsys.readouterr().err
    assert len(read_results(tmp_path / "results.jsonl")) == 4
    assert command(*options, "--embedding-dim", 4) == 2
    assert "--embedding-dim must be the size of --vectors, 8, but is 4" in capsys.readouterr().err

    model = keras.saving.load_model(tmp_path / "runs" / "mails-fold1-seed0" / "model.keras")
    known = model.vectorizer.vocabulary.index("good")
    np.testing.assert_array_equal(model.embedding.get_weights()[0][known], range(8))  # fixed, so not changed


def test_finished_runs_on_other_data_or_another_backend_do_not_count(data, tmp_path, command, capsys):
    train, test = tmp_path / "mails.tsv", tmp_path / "test.tsv"
    lines = data.read_text(encoding="utf-8").splitlines(keepends=True)
    train.write_text("".join(lines), encoding="utf-8")
    test.write_text("".join(lines[:11]), encoding="utf-8")
    given = ["--data", train, "--test-data", test, "--output", tmp_path / "runs", "--epochs", 1, *TINY]
    options = [*given, "--seed", 0, 1]
    assert command(*options) == 0
    test.write_text("".join([lines[0], *lines[2:12]]), encoding="utf-8")
    assert command(*options) == 2
    expected = "mails-seed0 contains the results of other data (mails.tsv with 108 / 12 / 10 examples), or its files"
    assert expected in capsys.readouterr().err
    test.write_text("".join(lines[:11]), encoding="utf-8")
    train.write_text("".join(lines).replace("from number 3", "from number 4"), encoding="utf-8")
    assert command(*given, "--seed", 2, 0) == 2  # before the run with seed 2
    assert "contains the results of other data" in capsys.readouterr().err
    assert not (tmp_path / "runs" / "mails-seed2").exists()
    train.write_text("".join(lines), encoding="utf-8")

    path = tmp_path / "runs" / "mails-seed0" / "results.json"
    recorded = json.loads(path.read_text(encoding="utf-8"))
    write_json(path, {**recorded, "settings": {**recorded["settings"], "backend": "mxnet"}})
    assert command(*options) == 2
    assert "contains the results of another backend (mxnet, not" in capsys.readouterr().err

    del recorded["data_fingerprint"]  # as earlier versions wrote it
    write_json(path, recorded)
    assert command(*options) == 0
    out = capsys.readouterr().out
    assert out.count("already finished\n") == 1
    assert out.count("already finished (by an earlier version: only the name") == 1
    test.write_text("".join(lines[:12]), encoding="utf-8")
    assert command(*options) == 2
    assert "with 108 / 12 / 10 examples" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "names", "message"),
    [
        (["--seed", "1", "0", "1"], ["a"], "--seed names 1 more than once: name each value once"),
        (["--variants", "x=1", "x=1"], ["a"], "--variants names x=1 more than once"),
        (["--variants", "x=1,y=2", "x=1_y=2"], ["a"], "--variants: x=1,y=2 and x=1_y=2 would have the same folder"),
        ([], ["a", "b", "a"], "--dataset names a more than once"),
    ],
)
def test_two_runs_have_two_folders(options, names, message):
    arguments = parse("classify", [*options, "--output", "runs"])
    with pytest.raises(ValueError, match=message):
        plan_jobs(arguments, [(SimpleNamespace(name=name), None) for name in names])


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("data/mails.2023.tsv", "mails.2023"),
        ("mails.2023", "mails.2023"),
        ("a.b/mails.jsonl.gz", "mails"),
        ("train.conllu.zst", "train"),
        ("eng.train", "eng.train"),
        (".tsv", ".tsv"),
        ("glue/sst2", "glue-sst2"),
        ("glue/sst2:2.0.0", "sst2-2.0.0"),
    ],
)
def test_the_short_names_of_different_files_differ(name, short):
    assert short_name(name) == short


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


def test_hidden_layers_and_learning_rate_plateaus(data, tmp_path, command):
    options = ["--data", data, "--output", tmp_path / "run", "--epochs", 2, *TINY]
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
def test_bcn_and_combinations(data, tmp_path, command, capsys):
    vectors = tmp_path / "tiny.txt"
    vectors.write_text("".join(f"{word} {' '.join(map(str, range(8)))}\n" for word in ("news", "from", "unused")))
    options = ["--data", data, "--architecture", "bcn", "--output", tmp_path / "runs", "--epochs", 2, *TINY]
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


def test_a_bcn_on_a_depth_adaptive_grn(data, tmp_path, command):
    """The BCN itself has no depths to count at the end."""
    options = ["--data", data, "--architecture", "bcn", "--encoder", "depth_adaptive_grn", "--output", tmp_path / "run"]
    tiny = ["--units", 4, "--embedding-dim", 4, "--max-depth", 2, "--epochs", 1, "--limit", 20, "--max-length", 3]
    assert command(*options, *tiny) == 0
    (line,) = read_results(tmp_path / "results.jsonl")
    assert "mean_depth" not in line
    assert (tmp_path / "run" / "model.keras").exists()


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


def test_ablations_of_the_depth_adaptive_grn(data, tmp_path, command, capsys):
    """One command makes one table with the cost of each variant."""
    tiny = ["--units", 4, "--embedding-dim", 4, "--max-depth", 2, "--epochs", 1, "--limit", 20, "--max-length", 3]
    further = ["--characters", "cnn", "--label-smoothing", 0.1, "--speed"]
    variants = ["selection=full", "sequential=learned,max_length=3"]
    options = ["--data", data, "--encoder", "depth_adaptive_grn", "--output", tmp_path / "runs", *tiny, *further]
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
def test_options_that_need_texts_in_memory(options, message, data, command, capsys):
    assert command("--stream", *(data if option == "DATA" else option for option in options)) == 2
    assert message in capsys.readouterr().err
