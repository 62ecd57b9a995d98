import keras_tuner
import numpy as np
import pytest

from keras_slstm.models import ENCODERS, SentenceClassifier, register_encoder
from keras_slstm.tuning import (
    SPACES,
    STUDIES,
    RestrictedHyperParameters,
    classification_space,
    encoder_space,
    pair_space,
    register_space,
    tagging_space,
)
from keras_slstm.tuning.oracles import combinations, defaults
from keras_slstm.tuning.spaces import UNITS, caslstm_space

pytestmark = pytest.mark.backends("torch")  # processes start fastest with PyTorch

TASKS = [classification_space, pair_space, tagging_space]


def names(hp):
    return {p.name for p in hp.space}


def test_every_encoder_has_a_space():
    assert {*SPACES} == {*ENCODERS}


@pytest.mark.parametrize("encoder", [*SPACES])
def test_all_values_of_a_space_build_an_encoder(encoder):
    hp = keras_tuner.HyperParameters()
    encoder_space(hp, [encoder])
    for p in list(hp.space):
        for value in p.values:
            at = hp.copy()
            at.values[p.name] = value
            settings = encoder_space(at, [encoder])
            assert settings.pop("encoder") == encoder
            ENCODERS[encoder](8 if p.name != "units" else value, return_sequences=False, **settings["encoder_options"])


def test_transformers_have_heads_for_all_sizes():
    hp = keras_tuner.HyperParameters()
    SPACES["transformer"](hp)
    heads = next(p for p in hp.space if p.name == "num_heads")
    assert all(units % h == 0 for units in UNITS for h in heads.values)


def test_the_defaults_are_those_of_the_papers():
    hp = keras_tuner.HyperParameters
    slstm = classification_space(hp(), ["slstm", "caslstm"])
    assert slstm["encoder_options"] == {
        "steps": 9, "window": 1, "sentence_nodes": 1, "boundary_words": True, "initial": "learned",
        "recurrent_dropout": 0.0,
    }  # fmt: skip
    wanted = {"units": 300, "dropout": 0.5, "l2": 1e-3, "learning_rate": 1e-3, "decay": 0.97, "clip": 3.0,
              "batch_size": 10, "mlp_units": [], "embedding_dim": 300, "pooling": "none"}  # fmt: skip
    assert slstm == {**slstm, **wanted}
    tagger = tagging_space(hp(), ["slstm"])
    assert tagger == {**tagger, "head": "crf", "units": 300, "dropout": 0.5, "l2": 1e-3, "batch_size": 10, "clip": 3.0}
    pairs = pair_space(hp(), ["bi_caslstm"])
    assert pairs["encoder_options"] == {"num_layers": 2, "lam": 0.5, "recurrent_dropout": 0.0}
    wanted = {"units": 300, "dropout": 0.1, "mlp_units": [1024], "mlp_dropout": 0.1, "mlp_batch_norm": True,
              "batch_size": 128, "clip": 5.0, "learning_rate": 1e-3}  # fmt: skip
    assert pairs == {**pairs, **wanted}
    sst = classification_space(hp(), ["bi_caslstm"])
    assert sst == {**sst, "mlp_units": [300], "mlp_dropout": 0.5, "batch_size": 128, "clip": 5.0, "l2": 0.0}


@pytest.mark.parametrize("space", TASKS)
def test_all_hyperparameters_are_declared_at_once(space):
    hp = keras_tuner.HyperParameters()
    space(hp, [*SPACES])
    declared = names(hp)
    rng = np.random.default_rng(0)
    for _ in range(20):
        at = hp.copy()
        for p in at.space:
            if at.is_active(p):
                at.values[p.name] = p.random_sample(int(rng.integers(2**31)))
            else:
                at.values.pop(p.name, None)
        settings = space(at, [*SPACES])
        assert names(at) == declared
        assert None not in [v for k, v in settings.items() if k != "encoder_options"]
        assert None not in [v for k, v in settings["encoder_options"].items() if k not in ("lam", "sequential")]


def test_dependent_hyperparameters_are_conditional():
    hp = keras_tuner.HyperParameters()
    settings = classification_space(hp, ["slstm", "cnn"])
    assert "mlp_dropout" not in hp.values
    assert "cnn/kernel_size" not in hp.values
    assert settings["mlp_dropout"] == 0.0
    hp = keras_tuner.HyperParameters()
    hp.values = {"encoder": "cnn", "mlp_units": 300}
    settings = classification_space(hp, ["slstm", "cnn"])
    assert settings["encoder_options"] == {"kernel_size": 3}
    hp = keras_tuner.HyperParameters()
    hp.values = {"characters": "none"}
    assert "character_dim" not in tagging_space(hp, ["slstm"])


def test_vertical_gates():
    found = []
    for value in ["lam=0.25", "lam=trainable", "no lam", "peephole"]:
        hp = keras_tuner.HyperParameters()
        hp.values = {"vertical_gate": value}
        options = caslstm_space(hp)
        found.append({name: options[name] for name in ("lam", "peephole") if name in options})
    assert found == [{"lam": 0.25}, {"lam": "trainable"}, {"lam": None}, {"peephole": True}]


def test_unknown_encoder():
    with pytest.raises(ValueError, match=r"The encoder 'nobody' has no space. Encoders with a space: slstm"):
        encoder_space(keras_tuner.HyperParameters(), ["nobody"])
    with pytest.raises(ValueError, match="at least one encoder"):
        encoder_space(keras_tuner.HyperParameters(), [])


def test_an_encoder_of_ones_own():
    def mine(units, return_sequences, depth, dtype):
        return ENCODERS["stacked_bilstm"](units, return_sequences, num_layers=depth)

    register_encoder("mine", mine)
    register_space("mine", lambda hp: {"depth": hp.Int("depth", 1, 3)})
    hp = keras_tuner.HyperParameters()
    hp.values = {"encoder": "mine", "mine/depth": 3, "units": 4}
    settings = encoder_space(hp, ["slstm", "mine"], units=4)
    assert settings == {"encoder": "mine", "units": 4, "encoder_options": {"depth": 3}}
    model = SentenceClassifier(["a", "b"], embedding_dim=4, **settings)
    assert len(model.encoder.layers) == 3


# Spaces made smaller.


def test_other_values():
    hp = keras_tuner.HyperParameters()
    restricted = RestrictedHyperParameters(hp, {"slstm/steps": [5, 9], "units": [8], "slstm/window": [3, 4]})
    settings = classification_space(restricted, ["slstm"])
    assert (settings["units"], settings["encoder_options"]["steps"], settings["encoder_options"]["window"]) == (8, 9, 3)
    values = {p.name: list(p.values) for p in hp.space}
    assert (values["slstm/steps"], values["units"], values["slstm/window"]) == ([5, 9], [8], [3, 4])
    assert len(values["slstm/sentence_nodes"]) == 3
    assert restricted.unused == set()


def test_only_those_values():
    hp = keras_tuner.HyperParameters()
    restricted = RestrictedHyperParameters(hp, {"slstm/steps": [5, 9], "steps": [1]}, only=True)
    plain = keras_tuner.HyperParameters()
    settings, wanted = classification_space(restricted, ["slstm"]), classification_space(plain, ["slstm"])
    assert settings == wanted
    assert settings["encoder_options"]["boundary_words"] is True
    assert [p.name for p in hp.space if len(list(p.values)) > 1] == ["slstm/steps"]
    assert names(hp) == names(plain)
    assert restricted.unused == {"steps"}


def test_restricted_booleans_stay_booleans():
    for values, wanted in (([False], False), ([True], True), ([False, True], True)):
        hp = keras_tuner.HyperParameters()
        found = SPACES["slstm"](RestrictedHyperParameters(hp, {"boundary_words": values}))["boundary_words"]
        assert found is wanted  # the default, where it is among them
        (p,) = (p for p in hp.space if p.name == "boundary_words")
        assert {bool(value) for value in p.values} == {*values}
    hp = keras_tuner.HyperParameters()
    hp.Choice("encoder", ["cnn", "slstm"])
    with hp.conditional_scope("encoder", ["slstm"]):
        assert RestrictedHyperParameters(hp, {"b": [True]}).Boolean("b") is None


def test_integers_among_floats_become_floats():
    hp = keras_tuner.HyperParameters()
    restricted = RestrictedHyperParameters(hp, {"dropout": [0, 0.5, 1], "units": [2, 4.5]})
    assert type(restricted.Float("dropout", 0.0, 1.0, default=0.0)) is float
    assert type(restricted.Int("units", 1, 9, default=2)) is float
    assert [list(p.values) for p in hp.space] == [[0.0, 0.5, 1.0], [2.0, 4.5]]
    assert all(type(value) is float for p in hp.space for value in p.values)


@pytest.mark.parametrize("values", [["a", 2], [True, 2], [None], [[1]], []])
def test_values_of_several_types_are_refused(values):
    restricted = RestrictedHyperParameters(keras_tuner.HyperParameters(), {"cnn/units": values})
    with restricted.name_scope("cnn"), pytest.raises(ValueError) as error:
        restricted.Int("units", 1, 9)
    assert f"all numbers, all strings or all booleans, but got cnn/units={values}." in str(error.value)


def points(study):
    hp = keras_tuner.HyperParameters()
    restriction = {name: STUDIES[study].get(name) for name in ("values", "only", "rows")}
    classification_space(RestrictedHyperParameters(hp, **restriction), STUDIES[study]["encoders"])
    for values in combinations(hp.copy()):
        at = hp.copy()
        at.values = values
        yield classification_space(RestrictedHyperParameters(at, **restriction), STUDIES[study]["encoders"])


def test_figure_2():
    found = [(p["encoder_options"]["window"], p["encoder_options"]["steps"]) for p in points("figure2")]
    assert sorted(found) == [(window, steps) for window in (1, 2, 3, 4) for steps in (1, 3, 5, 7, 9, 11)]


def test_table_2():
    found = [
        (p["units"], p["encoder_options"]["sentence_nodes"], p["encoder_options"]["boundary_words"])
        for p in points("table2")
    ]
    wanted = [(300, 1, True), (300, 0, True), (300, 2, True), (300, 1, False)]
    assert sorted(found) == sorted([*wanted, *[(units, 1, True) for units in (100, 200, 600, 900)]])


def test_grids_vary_only_active_hyperparameters():
    hp = keras_tuner.HyperParameters()
    hp.Choice("head", ["crf", "softmax"], default="softmax")
    with hp.conditional_scope("head", ["crf"]):
        hp.Choice("order", [1, 2])
    assert list(combinations(hp.copy())) == [
        {"head": "softmax"}, {"head": "crf", "order": 1}, {"head": "crf", "order": 2},
    ]  # fmt: skip
    assert defaults(hp.copy()) == {"head": "softmax"}
