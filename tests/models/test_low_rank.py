"""`enable_lora` of text models trains only the low-rank matrices of the encoder."""

import contextlib

import keras
import numpy as np
import pytest
from keras import ops

import keras_slstm
from tests.export.text_models import SMALL, TEXT_MODELS, TEXTS

# Uncompiled code is slow on JAX.
JIT = keras.backend.backend() == "jax"
SENTENCES = [text.split() for text in TEXTS]
PAIRS = [(text, TEXTS[0]) for text in TEXTS]
NUMBERS = {"SentenceClassifier": 6, "SequenceTagger": 6, "SentencePairClassifier": 6, "Seq2Seq": 12}


def make(name):
    """Return a model, and examples for training and prediction."""
    if name == "Seq2Seq":
        pytest.importorskip("tokenizers")
        model = keras_slstm.Seq2Seq(units=4, bidirectional=True, embedding_dim=3, vectorizer={"max_tokens": 270})
        model.adapt(TEXTS)
        return model, TEXTS, TEXTS[::-1]
    tags = [["O"] * (len(words) - 1) + ["B-city"] for words in SENTENCES]
    examples = {
        "SentenceClassifier": (TEXTS, ["book", "cancel", "ask", "book"]),
        "SequenceTagger": (SENTENCES, tags),
        "SentencePairClassifier": (PAIRS, ["same", "other", "other", "other"]),
    }
    return TEXT_MODELS[name](), *examples[name]


def values(model):
    return {weight.path: ops.convert_to_numpy(weight) for weight in model.weights}


@pytest.mark.ci_run("torch")
@pytest.mark.parametrize(
    "name",
    ["SentenceClassifier", *(pytest.param(name, marks=pytest.mark.short_run) for name in [*NUMBERS][1:])],
)
def test_only_the_low_rank_matrices_learn(name, tmp_path):
    model, x, y = make(name)
    with contextlib.nullcontext() if name != "Seq2Seq" else pytest.warns(UserWarning, match="Without LoRA: .*decoder"):
        model.enable_lora(2)
    trained = [weight.path for weight in model.trainable_variables]
    assert all("_lora_" in path for path in trained)
    assert len(trained) == 2 * NUMBERS[name]
    model.compile(keras.optimizers.Adam(0.05), jit_compile=JIT)
    before = values(model)
    losses = model.fit(x, y, epochs=12, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    after = values(model)
    changed = {path for path in before if np.any(before[path] != after[path])}
    assert {path for path in changed if "seed_generator" not in path} <= {*trained}
    assert len(changed & {*trained}) > NUMBERS[name]

    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert not [weight for weight in loaded.weights if "_lora_" in weight.path]
    assert len(loaded.trainable_variables) > len(trained) / 2
    assert not loaded.compiled
    inputs = model.batches(x, shuffle=False)[0][0]
    if name == "Seq2Seq":
        inputs = {"source": inputs["source"], "target": inputs["source"]}
    for one, other in zip(_outputs(model, inputs), _outputs(loaded, inputs), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def _outputs(model, inputs):
    return [ops.convert_to_numpy(x) for x in keras.tree.flatten(model(inputs, training=False))]


@pytest.mark.ci_run("torch")
@pytest.mark.short_run
def test_statistics_of_a_frozen_model_do_not_change():
    model, x, y = make("SentencePairClassifier")  # its hidden layer has batch normalisation
    model.enable_lora(2)
    model.compile(keras.optimizers.Adam(0.05), jit_compile=JIT)
    before = {path: value for path, value in values(model).items() if "moving" in path}
    model.fit(x, y, epochs=1, verbose=0)
    after = values(model)
    assert before
    for path, value in before.items():
        np.testing.assert_array_equal(after[path], value)


@pytest.mark.ci_run("torch")
@pytest.mark.short_run
def test_names_layers_that_it_skips():
    layers = [
        keras.layers.LSTM(4, return_sequences=True, name="plain"),
        keras.layers.Dense(3),
        keras_slstm.SLSTM(4, return_sequences=True),
    ]
    model = keras_slstm.SentenceClassifier(["a", "b"], keras.Sequential(layers), pooling="max", embedding_dim=3)
    model.adapt(TEXTS)
    with pytest.warns(UserWarning, match=r"Adapted: \S*dense\S*, \S*slstm\S*\. Without LoRA: \S*plain\S*\.$"):
        model.enable_lora(2)
    assert {weight.name for weight in model.trainable_variables} > {"lora_kernel_a", "lora_kernel_b"}
    assert all("lora_" in weight.name for weight in model.trainable_variables)


@pytest.mark.backends("torch")
def test_refusals():
    with pytest.raises(ValueError, match="call `adapt`"):
        keras_slstm.SentenceClassifier(["a", "b"], **SMALL).enable_lora(2)
    model, _, _ = make("SentenceClassifier")
    with pytest.raises(ValueError, match="`rank`"):
        model.enable_lora(0)
    assert len(model.trainable_variables) > 4  # as before
    model.enable_lora(2)
    with pytest.raises(ValueError, match="already enabled"):
        model.enable_lora(2)
    with pytest.raises(ValueError, match="save and load the model first"):
        model.quantize("int8")
    with pytest.raises(NotImplementedError, match="LoRA supports no layer"):
        TEXT_MODELS["SentenceClassifier(bilstm)"]().enable_lora(2)
    quantised, _, _ = make("SentenceClassifier")
    quantised.quantize("int8")
    with pytest.raises(ValueError, match="is quantised"):
        quantised.enable_lora(2)
