import json

import keras
import numpy as np
import pytest

from keras_slstm.cli.main import main, parse
from keras_slstm.cli.names import FEATURES
from keras_slstm.cli.presets import load_presets
from keras_slstm.cli.tasks.match import load, task_of
from keras_slstm.training.results import read_results
from tests.cli.command_checks import check_that_an_interrupted_training_resumes
from tests.processes import run_python

pytest.importorskip("sklearn", reason="the report needs the `examples` extra")
pytest.importorskip("matplotlib", reason="the plot needs the `plots` extra")

ALL_DATA = ["--stream", "--data", __file__, "--dev-data", __file__, "--test-data", __file__]
TINY = ["--encoder", "cnn", "--units", 8, "--embedding-dim", 8, "--mlp-units", 16, "--learning-rate", 0.02,
        "--dropout", 0, "--mlp-dropout", 0, "--word-dropout", 0]  # fmt: skip
LONG = ["--epochs", 14, "--patience", 14, "--plateau", 2, "--decay", 0.5]
CITIES = ["oslo", "rome", "paris", "lima"]
KNOWN = ("to", "a", "big", "flight", *CITIES, "unused")  # every word of the pairs has a vector


def write_pairs(path, header, values):
    """Write pairs that name the same city or not; `values` are the labels of the two cases."""
    generator = np.random.default_rng(0)
    lines = ["\t".join(header)]
    for i in range(400):
        one, other = generator.choice(CITIES, 2, replace=False)
        texts = f"to {one}", f"a {'big ' * generator.integers(4)}flight to {one if i % 2 else other}"
        lines.append("\t".join([values[i % 2], *texts]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_vectors(path, words):
    path.write_text("".join(f"{word} {' '.join(map(str, range(8)))}\n" for word in words))
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("data") / "pairs.tsv", ("label", "text_a", "text_b"), ("other", "same"))


@pytest.fixture(scope="module")
def scores(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "scores.tsv"
    return write_pairs(path, ("score", "premise", "hypothesis"), ("1.5", "4"))


@pytest.mark.short_run
def test_trains_reports_saves_and_predicts(data, tmp_path, command, capsys):
    folder = tmp_path / "run"
    options = ["--data", data, "--task", "paraphrase", "--output", folder, *LONG, *TINY]
    done = run_python("-m", "keras_slstm", "match", *options)
    assert done.returncode == 0, done.stderr
    assert "320 / 40 / 40 pairs (paraphrase) for training / development / test, 2 labels" in done.stdout
    assert "precision" in done.stdout
    assert {path.name for path in folder.iterdir()} == {
        "model.keras", "confusion.png", "learning_curve.png", "predictions.tsv", "results.json", "settings.json",
        "progress.json", "run.json",
    }  # fmt: skip
    result = json.loads((folder / "results.json").read_text())
    assert result["test_accuracy"] > 0.9
    heads, *rows = [line.split("\t") for line in (folder / "predictions.tsv").read_text().splitlines()]
    assert heads == ["label", "prediction", "probability", "first text", "second text"]
    assert sum(row[0] == row[1] for row in rows) == round(40 * result["test_accuracy"])
    assert f"Test accuracy {result['test_accuracy']:.4f}" in done.stdout
    assert result["task"] == result["settings"]["features"] == "paraphrase"
    assert set(result["test_labels"]) == {"other", "same"}
    assert result["test_labels"]["same"]["f1-score"] > 0.9
    assert len(result["history"]["learning_rate"]) == result["epochs"]
    assert sum(count for count, _ in result["right_by_length"].values()) == 40

    lines = folder / "lines.txt"
    lines.write_text("to rome\ta flight to rome\n", encoding="utf-8")
    given = ["to oslo", "a flight to oslo", "to oslo", "a flight to lima"]
    assert main(["predict", str(folder / "model.keras"), *given, "--file", str(lines)]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [(row[0], *row[2:]) for row in rows] == [
        ("same", "to oslo", "a flight to oslo"),
        ("other", "to oslo", "a flight to lima"),
        ("same", "to rome", "a flight to rome"),
    ]
    assert all(0.5 < float(row[1]) <= 1 for row in rows)

    assert command(*options) == 2  # a finished run is not overwritten
    assert "finished run" in capsys.readouterr().err


@pytest.mark.short_run
def test_relatedness(scores, tmp_path, command, capsys):
    folder = tmp_path / "run"
    options = ["--data", scores, "--task", "relatedness", "--output", folder, *LONG, *TINY]
    assert command(*options) == 0
    out = capsys.readouterr().out
    assert "scores from 1 to 4" in out
    result = json.loads((folder / "results.json").read_text())
    assert result["test_pearson"] > 0.5
    assert result["development_pearson"] == max(result["history"]["val_pearson"])
    assert f"Test pearson {result['test_pearson']:.4f}, spearman {result['test_spearman']:.4f}, squared_error" in out
    assert result["settings"]["features"] == "paraphrase"

    model = keras.saving.load_model(folder / "model.keras")
    assert model.score_range == (1, 4)
    assert main(["predict", str(folder / "model.keras"), "to oslo", "a flight to oslo"]) == 0
    score, first, second = capsys.readouterr().out.strip().split("\t")
    assert float(score) == pytest.approx(float(model.score([("to oslo", "a flight to oslo")])[0]), abs=0.006)
    assert (first, second) == ("to oslo", "a flight to oslo")


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="other backends compile the recurrence for minutes")
@pytest.mark.short_run
def test_variants_and_seeds_make_a_table(data, tmp_path, command, capsys):
    options = ["--data", data, "--output", tmp_path / "runs", "--seed", 0, 1, "--epochs", 1, *TINY]
    options[options.index("cnn")] = "caslstm"
    options += ["--encoder-option", "num_layers=2", "--variants", "lam=0.25", "lam=null,num_layers=3", "peephole=true"]
    assert command(*options) == 0
    out = capsys.readouterr().out
    table = out.split("development")[-1].splitlines()
    assert [line.split()[:3] for line in table[1:]] == [
        ["pairs.tsv", "lam=0.25", "2"],
        ["pairs.tsv", "lam=null,num_layers=3", "2"],
        ["pairs.tsv", "peephole=true", "2"],
    ]
    results = read_results(tmp_path / "results.jsonl")
    assert [(line["variant"], line["seed"]) for line in results] == [
        (variant, seed) for variant in ("lam=0.25", "lam=null,num_layers=3", "peephole=true") for seed in (0, 1)
    ]
    assert results[2]["encoder"] == "caslstm (lam=null,num_layers=3)"
    assert results[2]["settings"]["encoder_options"] == {"num_layers": 3, "lam": None}
    assert results[0]["command"] == (
        "keras-slstm match --data PATH --encoder caslstm --encoder-option num_layers=2 "
        "--variants lam=0.25 lam=null,num_layers=3 peephole=true --units 8 --embedding-dim 8 --mlp-units 16 "
        "--dropout 0.0 --mlp-dropout 0.0 --word-dropout 0.0 --learning-rate 0.02 --epochs 1"
    )
    folders = {path.name for path in (tmp_path / "runs").iterdir()}
    assert "pairs-lam_0.25-seed0" in folders
    assert "pairs-lam_null_num_layers_3-seed1" in folders
    model = keras.saving.load_model(tmp_path / "runs" / "pairs-peephole_true-seed0" / "model.keras")
    assert model.encoder.layers[0].peephole
    assert command(*options) == 0
    assert capsys.readouterr().out.count("already finished") == 6


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="tests/training covers the other backends")
def test_an_interrupted_training_resumes(data, tmp_path, command, monkeypatch, capsys):
    options = ["--data", data, "--output", tmp_path, *TINY]
    check_that_an_interrupted_training_resumes(command, options, monkeypatch, capsys)


@pytest.fixture
def streamed(data, tmp_path):
    """Options of a training that streams its pairs from disk."""
    pytest.importorskip("array_record", reason="streaming needs the `stream` extra")
    rows = data.read_text().splitlines(keepends=True)
    for name, part in (("dev", rows[:41]), ("test", [rows[0], *rows[41:81]])):
        (tmp_path / f"{name}.tsv").write_text("".join(part))
    parts = ["--dev-data", tmp_path / "dev.tsv", "--test-data", tmp_path / "test.tsv"]
    return ["--stream", "--data", data, *parts, "--output", tmp_path / "run", *TINY]


def test_pairs_are_streamed_from_disk(streamed, tmp_path, command, capsys):
    assert command(*streamed, "--task", "paraphrase", *LONG) == 0
    out = capsys.readouterr().out
    assert "400 / 40 / 40 pairs (paraphrase) for training / development / test, 2 labels" in out
    result = json.loads((tmp_path / "run" / "results.json").read_text())
    assert result["test_accuracy"] > 0.9
    assert (tmp_path / "pairs-prepared" / "corpus.json").is_file()


@pytest.mark.backends("torch")
def test_an_interrupted_streamed_training_resumes(streamed, command, monkeypatch, capsys):
    check_that_an_interrupted_training_resumes(command, streamed, monkeypatch, capsys)


def test_pooling_is_named_with_the_encoder(data, tmp_path, command):
    options = ["--data", data, "--epochs", 1, "--limit", 20, "--output", tmp_path / "run", *TINY]
    assert command(*options, "--pooling", "mean", "--no-batch-norm", "--features", "inference") == 0
    result = json.loads((tmp_path / "run" / "results.json").read_text())
    assert result["encoder"] == "cnn + mean"
    model = keras.saving.load_model(tmp_path / "run" / "model.keras")
    assert (model.pooling, model.mlp_batch_norm, model.features) == ("mean", False, "inference")


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="other backends compile the recurrence for minutes")
@pytest.mark.parametrize("kind", ["infersent", "siamese", "esim"])
@pytest.mark.short_run
def test_models_by_name(kind, data, tmp_path, command, capsys):
    vectors = write_vectors(tmp_path / "tiny.txt", KNOWN)
    tiny = ["--units", 4, "--mlp-units", 6, "--epochs", 1, "--limit", 20, "--vectors", vectors]
    options = ["--data", data, "--architecture", kind, "--encoder", "subilstm", "--output", tmp_path / "run", *tiny]
    assert command(*options) == 0
    capsys.readouterr()
    result = json.loads((tmp_path / "run" / "results.json").read_text())
    assert result["encoder"] == f"subilstm + {kind}"
    assert f"--architecture {kind}" in result["command"]
    model = keras.saving.load_model(tmp_path / "run" / "model.keras")
    assert type(model).__name__ == ("ESIM" if kind == "esim" else "SentencePairClassifier")
    assert model.trainable_embeddings == (kind != "infersent")
    assert model.mlp_activation == {"infersent": "linear", "siamese": "relu", "esim": "tanh"}[kind]
    if kind != "esim":
        assert (model.pooling, model.features, model.mlp_batch_norm) == ("max", "inference", False)
    assert main(["predict", str(tmp_path / "run" / "model.keras"), "to oslo", "to rome"]) == 0
    assert capsys.readouterr().out.endswith("to oslo\tto rome\n")


@pytest.mark.parametrize("encoder", ["cnn"])
@pytest.mark.short_run
def test_seeds_form_an_ensemble(encoder, data, tmp_path, command, capsys):
    options = ["--data", data, "--output", tmp_path / "runs", "--seed", 0, 1, 2, "--epochs", 1, "--ensemble", *TINY]
    assert command(*options) == 0
    assert "ensemble of 3" in capsys.readouterr().out
    *single, together = read_results(tmp_path / "results.jsonl")
    assert len(single) == 3
    assert together["encoder"] == "cnn (ensemble of 3)"
    assert together["seed"] == [0, 1, 2]
    models = [keras.saving.load_model(tmp_path / "runs" / f"pairs-seed{seed}" / "model.keras") for seed in range(3)]
    corpus = load(parse("match", ["--data", str(data)]), str(data))
    for part, name in ((corpus.test, "test"), (corpus.validation, "development")):
        mean = np.mean([model.predict(part.texts, verbose=0) for model in models], axis=0)
        right = [models[0].labels[i] == label for i, label in zip(mean.argmax(axis=1), part.labels)]
        assert together[f"{name}_accuracy"] == pytest.approx(np.mean(right))


def test_vectors_are_fixed_by_default(data, tmp_path, command, capsys):
    known, few = write_vectors(tmp_path / "known.txt", KNOWN), write_vectors(tmp_path / "few.txt", ("to", "oslo"))
    options = ["--data", data, "--epochs", 1, "--limit", 20, *TINY]
    cases = [("a", known, [], True), ("b", known, ["--no-fixed-vectors"], False), ("c", few, [], False)]
    for name, vectors, more, fixed in cases:
        assert command(*options, "--vectors", vectors, "--output", tmp_path / name, *more) == 0
        out = capsys.readouterr().out
        assert "20 / 40 / 40 pairs (inference)" in out
        assert ("although the preset keeps them fixed" in out) == (vectors == few)
        model = keras.saving.load_model(tmp_path / name / "model.keras")
        row = model.embedding.get_weights()[0][model.vectorizer.vocabulary.index("oslo")]
        assert np.array_equal(row, range(8)) == fixed
        assert json.loads((tmp_path / name / "results.json").read_text())["settings"]["fixed_vectors"] == fixed


def test_task_and_features_follow_the_data_set():
    from keras_slstm.datasets.pair_corpus import PairCorpus, Pairs

    def task(name, labels, *arguments):
        corpus = PairCorpus(name, *[Pairs([], [])] * 3, label_names=labels)
        return task_of(parse("match", arguments), corpus)

    assert task("sick/entailment", ["a", "b"]) == "inference"
    assert task("sick/relatedness", []) == "relatedness"
    for name in ("mrpc", "qqp", "qqp/full", "glue/qqp", "paws_wiki"):
        assert task(name, ["a", "b"]) == "paraphrase"
    assert task("glue/qnli", ["a", "b"]) == "inference"
    assert task("mrpc", ["a", "b"], "--task", "inference") == "inference"
    assert FEATURES == {
        "inference": "inference", "paraphrase": "paraphrase", "relatedness": "paraphrase",
    }  # fmt: skip


def test_settings_of_the_paper():
    paper = load_presets("match")["paper"]
    assert {name: paper[name] for name in ("units", "embedding_dim", "mlp_units", "clip", "batch_size")} == {
        "units": 300, "embedding_dim": 300, "mlp_units": 1024, "clip": 5.0, "batch_size": 128,
    }  # fmt: skip
    assert (paper["learning_rate"], paper["decay"], paper["dropout"]) == (1e-3, 0.5, 0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "nowhere.tsv"], "nowhere.tsv"),
        (["--dataset", "nowhere"], "Unknown corpus 'nowhere'"),
        (["--dataset", "sick/both"], '"sick" has no configuration "both"'),
        (["--epochs", "0"], "argument --epochs: expected an integer of at least 1"),
        (["--data", "a.tsv", "--dataset", "snli"], "use either --dataset or --data, not both"),
        (["--fixed-vectors"], "--fixed-vectors needs --vectors"),
        (["--variants", "lam"], "argument --variants: expected NAME=VALUE"),
        (["--architecture", "esim", "--pooling", "max"], "--architecture esim does not support --pooling"),
        ([*ALL_DATA, "--task", "relatedness"], "--stream needs labels, but --task relatedness has scores"),
        ([*ALL_DATA, "--limit", "3"], "--limit needs texts in memory, but --stream keeps them on disk"),
        (["--ensemble"], "--ensemble needs several seeds"),
        (["--dataset", "snli", "--test-data", "x.tsv"], "--test-data needs --data"),
    ],
)
def test_bad_usage(arguments, message, command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command(*arguments) == 2
    assert message in capsys.readouterr().err


def test_bad_data(data, scores, command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command("--data", data, "--task", "relatedness") == 2
    assert 'pairs.tsv:2: the score must be a number, found "other"' in capsys.readouterr().err
    assert command("--data", data, "--units", 0) == 2
    assert "argument --units: expected an integer of at least 1, but got 0" in capsys.readouterr().err
    assert command("--data", data, "--variants", "speed=3") == 2
    assert "speed" in capsys.readouterr().err
    assert command("--data", scores, "--task", "relatedness", "--score-range", 2, 5) == 2
    assert "scores.tsv:2: expected a score from 2 to 5, found 1.5" in capsys.readouterr().err
