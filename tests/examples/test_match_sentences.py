import json
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_slstm.training.results import read_results
from tests.processes import run_python

pytest.importorskip("sklearn", reason="the report needs the `examples` extra")
pytest.importorskip("matplotlib", reason="the picture needs the `plots` extra")

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "match_sentences.py"
TINY = ["--encoder", "cnn", "--units", 8, "--embedding-dim", 8, "--mlp-units", 16, "--learning-rate", 0.02,
        "--dropout", 0, "--mlp-dropout", 0, "--word-dropout", 0]  # fmt: skip
CITIES = ["oslo", "rome", "paris", "lima"]


def write_pairs(path, header, values):
    """Pairs that name the same city or not; `values` are what the one and the other are given."""
    generator = np.random.default_rng(0)
    lines = ["\t".join(header)]
    for i in range(400):
        one, other = generator.choice(CITIES, 2, replace=False)
        texts = f"to {one}", f"a {'big ' * generator.integers(4)}flight to {one if i % 2 else other}"
        lines.append("\t".join([values[i % 2], *texts]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("data") / "pairs.tsv", ("label", "text_a", "text_b"), ("other", "same"))


@pytest.fixture(scope="module")
def scores(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "scores.tsv"
    return write_pairs(path, ("score", "premise", "hypothesis"), ("1.5", "4"))


def test_trains_reports_saves_and_predicts(data, tmp_path, script, capsys):
    folder = tmp_path / "run"
    command = ["--data", data, "--task", "paraphrase", "--output", folder, "--epochs", 14, "--patience", 14, *TINY]
    done = run_python(SCRIPT, *command)
    assert done.returncode == 0, done.stderr
    assert "320 / 40 / 40 pairs (paraphrase) to train / develop / test, 2 labels" in done.stdout
    assert "precision" in done.stdout
    assert {path.name for path in folder.iterdir()} == {
        "model.keras", "confusion.png", "results.json", "settings.json", "progress.json", "run.json",
    }  # fmt: skip
    result = json.loads((folder / "results.json").read_text())
    assert result["test_accuracy"] > 0.9
    assert f"Test accuracy {result['test_accuracy']:.4f}" in done.stdout
    assert result["task"] == result["settings"]["features"] == "paraphrase"
    assert set(result["test_labels"]) == {"other", "same"}
    assert result["test_labels"]["same"]["f1-score"] > 0.9
    assert len(result["history"]["learning_rate"]) == result["epochs"]
    assert sum(count for count, _ in result["right_by_length"].values()) == 40

    lines = folder / "lines.txt"
    lines.write_text("to rome\ta flight to rome\n", encoding="utf-8")
    use = ["--model", folder / "model.keras", "--predict", "to oslo", "a flight to oslo"]
    assert script(*use, "--predict", "to oslo", "a flight to lima", "--predict-file", lines) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [(row[0], *row[2:]) for row in rows] == [
        ("same", "to oslo", "a flight to oslo"),
        ("other", "to oslo", "a flight to lima"),
        ("same", "to rome", "a flight to rome"),
    ]
    assert all(0.5 < float(row[1]) <= 1 for row in rows)

    assert script(*command) == 2  # a finished run is not overwritten
    assert "finished run" in capsys.readouterr().err


def test_relatedness(scores, tmp_path, script, capsys):
    folder = tmp_path / "run"
    command = ["--data", scores, "--task", "relatedness", "--output", folder, "--epochs", 14, "--patience", 14, *TINY]
    assert script(*command) == 0
    out = capsys.readouterr().out
    assert "scores from 1 to 4" in out
    result = json.loads((folder / "results.json").read_text())
    assert result["test_pearson"] > 0.5
    assert result["development_pearson"] == max(result["history"]["val_pearson"])
    assert f"Test pearson {result['test_pearson']:.4f}, spearman {result['test_spearman']:.4f}, squared_error" in out
    assert result["settings"]["features"] == "paraphrase"

    model = keras.saving.load_model(folder / "model.keras")
    assert model.score_range == (1, 4)
    assert script("--model", folder / "model.keras", "--predict", "to oslo", "a flight to oslo") == 0
    score, first, second = capsys.readouterr().out.strip().split("\t")
    assert float(score) == pytest.approx(float(model.score([("to oslo", "a flight to oslo")])[0]), abs=0.006)
    assert (first, second) == ("to oslo", "a flight to oslo")


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="the recurrence is compiled elsewhere, for minutes")
def test_variants_and_seeds_make_a_table(data, tmp_path, script, capsys):
    command = ["--data", data, "--output", tmp_path / "runs", "--seed", 0, 1, "--epochs", 1, *TINY]
    command[command.index("cnn")] = "caslstm"
    command += ["--encoder-option", "num_layers=2", "--variants", "lam=0.25", "lam=null,num_layers=3", "peephole=true"]
    assert script(*command) == 0
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
        "python examples/match_sentences.py --data PATH --encoder caslstm --encoder-option num_layers=2 "
        "--variants lam=0.25 lam=null,num_layers=3 peephole=true --units 8 --embedding-dim 8 --mlp-units 16 "
        "--dropout 0.0 --mlp-dropout 0.0 --word-dropout 0.0 --learning-rate 0.02 --epochs 1"
    )
    folders = {path.name for path in (tmp_path / "runs").iterdir()}
    assert "pairs-lam_0.25-seed0" in folders
    assert "pairs-lam_null_num_layers_3-seed1" in folders
    model = keras.saving.load_model(tmp_path / "runs" / "pairs-peephole_true-seed0" / "model.keras")
    assert model.encoder.layers[0].peephole
    assert script(*command) == 0
    assert capsys.readouterr().out.count("finished before") == 6


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="tests/test_training.py does it on all")
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


def test_pooling_is_named_with_the_encoder(data, tmp_path, script):
    command = ["--data", data, "--epochs", 1, "--limit", 20, "--output", tmp_path / "run", *TINY]
    assert script(*command, "--pooling", "mean", "--no-batch-norm", "--features", "inference") == 0
    result = json.loads((tmp_path / "run" / "results.json").read_text())
    assert result["encoder"] == "cnn + mean"
    model = keras.saving.load_model(tmp_path / "run" / "model.keras")
    assert (model.pooling, model.mlp_batch_norm, model.features) == ("mean", False, "inference")


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="the recurrence is compiled elsewhere, for minutes")
@pytest.mark.parametrize("kind", ["infersent", "siamese", "esim"])
def test_models_by_name(kind, data, tmp_path, script, capsys):
    vectors = tmp_path / "tiny.txt"
    vectors.write_text("".join(f"{word} {' '.join(map(str, range(8)))}\n" for word in ("to", "oslo", "unused")))
    tiny = ["--units", 4, "--mlp-units", 6, "--epochs", 1, "--limit", 20, "--vectors", vectors]
    command = ["--data", data, "--model", kind, "--encoder", "subilstm", "--output", tmp_path / "run", *tiny]
    assert script(*command) == 0
    capsys.readouterr()
    result = json.loads((tmp_path / "run" / "results.json").read_text())
    assert result["encoder"] == f"subilstm + {kind}"
    assert f"--model {kind}" in result["command"]
    model = keras.saving.load_model(tmp_path / "run" / "model.keras")
    assert type(model).__name__ == ("ESIM" if kind == "esim" else "SentencePairClassifier")
    assert model.trainable_embeddings == (kind != "infersent")
    assert model.mlp_activation == {"infersent": "linear", "siamese": "relu", "esim": "tanh"}[kind]
    if kind != "esim":
        assert (model.pooling, model.features, model.mlp_batch_norm) == ("max", "inference", False)
    assert script("--model", tmp_path / "run" / "model.keras", "--predict", "to oslo", "to rome") == 0
    assert capsys.readouterr().out.endswith("to oslo\tto rome\n")


@pytest.mark.parametrize("encoder", ["cnn"])
def test_seeds_decide_together(encoder, data, tmp_path, script, capsys):
    command = ["--data", data, "--output", tmp_path / "runs", "--seed", 0, 1, 2, "--epochs", 1, "--ensemble", *TINY]
    assert script(*command) == 0
    assert "ensemble of 3" in capsys.readouterr().out
    *single, together = read_results(tmp_path / "results.jsonl")
    assert len(single) == 3
    assert together["encoder"] == "cnn (ensemble of 3)"
    assert together["seed"] == [0, 1, 2]
    models = [keras.saving.load_model(tmp_path / "runs" / f"pairs-seed{seed}" / "model.keras") for seed in range(3)]
    args = script.module.make_parser().parse_args(["--data", str(data)])
    corpus = script.module.load_data(args, str(data))
    for part, name in ((corpus.test, "test"), (corpus.validation, "development")):
        mean = np.mean([model.predict(part.texts, verbose=0) for model in models], axis=0)
        right = [models[0].labels[i] == label for i, label in zip(mean.argmax(axis=1), part.labels)]
        assert together[f"{name}_accuracy"] == pytest.approx(np.mean(right))


def test_vectors_are_fixed_unless_said_otherwise(data, tmp_path, script, capsys):
    vectors = tmp_path / "tiny.txt"
    vectors.write_text("".join(f"{word} {' '.join(map(str, range(8)))}\n" for word in ("to", "oslo", "unused")))
    command = ["--data", data, "--vectors", vectors, "--epochs", 1, "--limit", 20, *TINY]
    for name, more, fixed in (("a", [], True), ("b", ["--no-fixed-vectors"], False)):
        assert script(*command, "--output", tmp_path / name, *more) == 0
        assert "20 / 40 / 40 pairs (inference)" in capsys.readouterr().out
        model = keras.saving.load_model(tmp_path / name / "model.keras")
        row = model.embedding.get_weights()[0][model.vectorizer.vocabulary.index("oslo")]
        assert np.array_equal(row, range(8)) == fixed
        assert json.loads((tmp_path / name / "results.json").read_text())["settings"]["fixed_vectors"] == fixed


def test_task_and_features_follow_the_data_set(script):
    from keras_slstm.datasets.pair_corpus import PairCorpus, Pairs

    def task(name, labels, *arguments):
        args = script.module.make_parser().parse_args(arguments)
        corpus = PairCorpus(name, *[Pairs([], [])] * 3, label_names=labels)
        return script.module.task_of(args, corpus)

    assert task("sick/entailment", ["a", "b"]) == "inference"
    assert task("sick/relatedness", []) == "relatedness"
    for name in ("mrpc", "qqp", "qqp/full", "glue/qqp", "paws_wiki"):
        assert task(name, ["a", "b"]) == "paraphrase"
    assert task("glue/qnli", ["a", "b"]) == "inference"
    assert task("mrpc", ["a", "b"], "--task", "inference") == "inference"
    assert script.module.FEATURES == {
        "inference": "inference", "paraphrase": "paraphrase", "relatedness": "paraphrase",
    }  # fmt: skip


def test_settings_of_the_paper(script):
    paper = script.module.PRESETS["paper"]
    assert {name: paper[name] for name in ("units", "embedding_dim", "mlp_units", "clip", "batch_size")} == {
        "units": 300, "embedding_dim": 300, "mlp_units": 1024, "clip": 5.0, "batch_size": 128,
    }  # fmt: skip
    assert (paper["learning_rate"], paper["decay"], paper["dropout"]) == (1e-3, 0.5, 0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "nowhere.keras", "--predict", "a", "b"], "nowhere.keras"),
        (["--model", "nowhere.keras"], "--predict"),
        (["--predict-file", "lines.txt"], "--model"),
        (["--data", "nowhere.tsv"], "nowhere.tsv"),
        (["--dataset", "nowhere"], "No corpus is named 'nowhere'"),
        (["--dataset", "sick/both"], '"sick" has no configuration "both"'),
        (["--epochs", "0"], "--epochs must be an integer of at least 1"),
        (["--data", "a.tsv", "--dataset", "snli"], "argument --dataset: not allowed with argument --data"),
        (["--fixed-vectors"], "--fixed-vectors needs --vectors"),
        (["--variants", "lam"], "--variants: NAME=VALUE expected"),
        (["--predict", "a"], "expected 2 arguments"),
        (["--model", "esim", "--pooling", "max"], "--model esim has no --pooling"),
        (["--ensemble"], "--ensemble needs several seeds"),
        (["--dataset", "snli", "--test-data", "x.tsv"], "--test-data goes with --data"),
    ],
)
def test_bad_usage(arguments, message, script, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert script(*arguments) == 2
    assert message in capsys.readouterr().err


def test_bad_data(data, scores, script, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert script("--data", data, "--task", "relatedness") == 2
    assert 'pairs.tsv:2: the score must be a number, found "other"' in capsys.readouterr().err
    assert script("--data", data, "--units", 0) == 2
    assert "--units must be an integer of at least 1, but got 0" in capsys.readouterr().err
    assert script("--data", data, "--variants", "speed=3") == 2
    assert "speed" in capsys.readouterr().err
    assert script("--data", scores, "--task", "relatedness", "--score-range", 2, 5) == 2
    assert "scores.tsv:2: a score from 2 to 5 expected, found 1.5" in capsys.readouterr().err
