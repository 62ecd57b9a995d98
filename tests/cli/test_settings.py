"""The training settings of the commands."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from keras_slstm.cli.classify import check
from keras_slstm.cli.main import parse
from keras_slstm.cli.tasks import texts
from keras_slstm.cli.tasks.classify import choose
from keras_slstm.cli.tasks.jobs import Job
from keras_slstm.cli.tasks.training import batch_options, make_optimizer
from keras_slstm.text.batches import TextBatches

LEFT_TO_THE_MODEL = {"min_count", "embeddings_initializer", "split_words", "batch_order"}


def settings_of(*words):
    arguments = parse("classify", [str(word) for word in words])
    check(arguments)
    corpus = SimpleNamespace(name="travel_desk", train=SimpleNamespace(texts=["a"]))
    return arguments, choose(arguments, Job(corpus, None, "", 0, Path("run")), texts.SharedWords(None, {}))[0]


def test_settings_left_to_the_model_are_omitted():
    _, settings = settings_of()
    assert not LEFT_TO_THE_MODEL & set(settings)
    assert set(texts.vectorizer_options(settings)) == {"tokenizer", "lowercase"}
    asked = ["--min-count", 0, "--split-words", "auto", "--embeddings-initializer", "wide"]
    assert not LEFT_TO_THE_MODEL & set(settings_of("--preset", "paper", *asked)[1])


def test_presets_of_papers_set_everything():
    arguments, settings = settings_of("--preset", "bcn")
    assert {name: settings[name] for name in LEFT_TO_THE_MODEL} == {
        "min_count": 1, "embeddings_initializer": "uniform", "split_words": "no", "batch_order": "by_length",
    }  # fmt: skip
    options = texts.model_options(settings, None)
    assert options["embeddings_initializer"] == "uniform"
    assert options["vectorizer"].items() >= {"min_count": 1, "split_words": False}.items()
    assert batch_options(arguments, settings, 0)["by_length"]


def test_lengths_are_rounded_only_for_a_compiled_model():
    ids = [[2] * length for length in range(1, 41)]

    def lengths(*words):
        batches = TextBatches(ids, **batch_options(*settings_of("--batch-size", 1, *words), 0))
        return sorted(batches.shape_of(index)[1] for index in range(40))

    assert lengths("--no-jit-compile") == list(range(1, 41))
    assert set(lengths("--jit-compile")) == {8, 16, 24, 32, 40}


@pytest.mark.parametrize(("epochs", "steps"), [(None, 120), (10, 300), (1, 100)])
def test_the_learning_rate_falls_over_the_whole_training(epochs, steps):
    settings = {"learning_rate": 1.0, "decay": 0.1, "clip": 1.0, "updates": 100}
    batches = TextBatches([[2]] * 30, labels=[0] * 30, batch_size=1)
    optimizer = make_optimizer(settings, batches, epochs)
    optimizer.build([])
    optimizer.iterations.assign(steps)
    assert float(optimizer.learning_rate) == pytest.approx(0.1)


@pytest.mark.parametrize(("updates", "epochs"), [({"updates": 100}, None), ({}, 4)])
def test_without_decay_the_learning_rate_falls_linearly_to_zero(updates, epochs):
    settings = {"learning_rate": 1.0, "decay": 0.0, "clip": 1.0, **updates}
    optimizer = make_optimizer(settings, TextBatches([[2]] * 25, labels=[0] * 25, batch_size=1), epochs)
    optimizer.build([])
    for steps, rate in ((0, 1.0), (25, 0.75), (100, 0.0)):
        optimizer.iterations.assign(steps)
        assert float(optimizer.learning_rate) == pytest.approx(rate)
    with pytest.raises(ValueError, match="--decay 0 needs --updates or --epochs"):
        settings_of("--preset", "paper", "--decay", "0")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--plateau", 2], "--plateau needs --decay, the factor"),
        (["--patience", 2, "--patience-updates", 50], "use either --patience or --patience-updates"),
        (["--mlp-dropout", 0.2], "--mlp-dropout needs --mlp-units above 0"),
        (["--mlp-layers", 2], "--mlp-layers needs --mlp-units above 0"),
        (["--architecture", "bcn", "--mlp-layers", 2], "--mlp-layers needs --mlp-units above 0"),
        (["--readout", "node", "--pooling", "max"], "--readout has no effect with --pooling"),
        (["--readout", "node", "--architecture", "bcn"], "--readout has no effect with --architecture bcn"),
    ],
)
def test_options_without_effect_are_refused(words, message):
    with pytest.raises(ValueError, match=message):
        settings_of("--preset", "small", *words)


def test_options_of_an_architecture_and_of_a_plateau_are_accepted():
    assert settings_of("--preset", "bcn", "--architecture", "bcn", "--mlp-dropout", 0.2)[1]["mlp_dropout"] == 0.2
    assert settings_of("--preset", "small", "--plateau", 2, "--decay", 0.5)[1]["plateau"] == 2


@pytest.mark.parametrize(
    ("given", "kind", "multiplier"),
    [
        (["--preset", "small"], "RecurrentMuon", None),
        (["--preset", "small", "--optimizer", "adam"], "Adam", None),
        (["--preset", "paper"], "Adam", None),
        (["--preset", "paper", "--recurrent-multiplier", "2"], "RecurrentAdam", 2.0),
    ],
)
def test_the_optimizer_of_a_preset(given, kind, multiplier):
    settings = {**settings_of(*given)[1], "updates": 100}
    optimizer = make_optimizer(settings, TextBatches([[2]] * 30, labels=[0] * 30, batch_size=1))
    assert type(optimizer).__name__ == kind
    assert getattr(optimizer, "recurrent_multiplier", None) == multiplier
