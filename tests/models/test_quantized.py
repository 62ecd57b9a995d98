import keras
import numpy as np
import pytest

import keras_slstm
from tests.export.text_models import TEXT_MODELS, TEXTS

SENTENCES = [text.split() for text in TEXTS]


@pytest.mark.ci_run("torch")
@pytest.mark.parametrize("mode", ["int8", pytest.param("int4", marks=pytest.mark.ci_run)])
@pytest.mark.parametrize(
    "name",
    ["SentenceClassifier", "SequenceTagger", pytest.param("SequenceTagger(softmax)", marks=pytest.mark.ci_run)],
)
@pytest.mark.short_run
def test_quantised_model_predicts_nearly_the_same_and_loads(name, mode, tmp_path):
    model = TEXT_MODELS[name]()
    x = TEXTS if name == "SentenceClassifier" else SENTENCES
    before = probabilities(model, x)
    if name == "SentenceClassifier":
        model.quantize(mode)  # no warning: nothing is left
    else:
        with pytest.warns(UserWarning, match=r"Quantised: .*slstm.*embedding.*\. Not quantised: \S*char_cnn\S*\.$"):
            model.quantize(mode)
    kernels = [each for each in model.encoder.weights if each.name.endswith("kernel")]
    assert {each.dtype for each in kernels} == {"int8"}

    after = probabilities(model, x)
    for one, other in zip(before, after, strict=True):
        assert np.any(one != other)
        np.testing.assert_allclose(one, other, atol=0.02 if mode == "int8" else 0.1)

    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert [weight.dtype for weight in loaded.weights] == [weight.dtype for weight in model.weights]
    for one, other in zip(after, probabilities(loaded, x), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    loaded.save(tmp_path / "again.keras")
    for one, other in zip(after, probabilities(keras.saving.load_model(tmp_path / "again.keras"), x), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def probabilities(model, x):
    if isinstance(model, keras_slstm.SentenceClassifier):
        return [model.predict(x)]
    return [found for _, found in model._read(x, 2)]


@pytest.mark.ci_run("torch")
def test_filters_restrict_the_layers():
    model = TEXT_MODELS["SequenceTagger(softmax)"]()
    with pytest.warns(UserWarning, match=r"Quantised: \S*dense\S*\. Not quantised: .*embedding"):
        model.quantize("int8", filters="dense")
    with pytest.warns(UserWarning, match=r"Quantised: \S*embedding.*\. Not quantised: (?!.*dense)"):
        model.quantize("int8", filters=lambda layer: "embedding" in layer.name)


@pytest.mark.ci_run("torch")
def test_layers_of_different_modes_load(tmp_path):
    model = TEXT_MODELS["SentenceClassifier"]()
    with pytest.warns(UserWarning, match="Not quantised"):
        model.quantize("int8", filters="embedding")
    model.quantize("int4", filters=lambda layer: "embedding" not in layer.name)
    before = model.predict(TEXTS)
    model.save(tmp_path / "model.keras")
    np.testing.assert_allclose(keras.saving.load_model(tmp_path / "model.keras").predict(TEXTS), before, atol=1e-6)


def test_other_mode():
    with pytest.raises(ValueError, match='must be "int8" or "int4"'):
        TEXT_MODELS["SentenceClassifier"]().quantize("float8")
