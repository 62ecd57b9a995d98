import json
import sys

import keras
import numpy as np
import pytest

import keras_slstm
from keras_slstm.layers.attention_decoder import CONTEXT_GAIN
from keras_slstm.models.seq2seq import SUBWORD_SPREAD, Seq2Seq
from keras_slstm.models.translation_score import TranslationScore, score_translations
from keras_slstm.text.subword_vectorizer import END_ID, START_ID
from tests.backend import to_numpy
from tests.processes import run_python

pytestmark = pytest.mark.short_run("torch")

pytest.importorskip("tokenizers", reason="subwords need the `translation` extra")
BACKEND = keras.backend.backend()
ENGLISH = ["one", "two", "three", "four", "five"]
GERMAN = ["eins", "zwei", "drei", "vier", "fünf"]


def corpus(times=1):
    """Return one or two numbers, with their translations in reverse order."""
    rows = [(i,) for i in range(5)] + [(i, j) for i in range(5) for j in range(5)]
    sources = [" ".join(ENGLISH[i] for i in row) for row in rows]
    return sources * times, [" ".join(GERMAN[i] for i in row[::-1]) for row in rows] * times


def small(cell="caslstm", compiled=True, jit_compile=None, **options):
    keras.utils.set_random_seed(1)
    options = {"units": 16, "embedding_dim": 16, "dropout": 0.0, "embeddings_initializer": "random_normal", **options}
    model = Seq2Seq(cell, vectorizer={"max_tokens": 290}, **options)
    model.adapt([text for side in corpus() for text in side])
    if compiled:
        jit_compile = BACKEND == "jax" if jit_compile is None else jit_compile
        model.compile(keras.optimizers.Adam(0.02, global_clipnorm=1.0), jit_compile=jit_compile)
    return model


def scrambled(model, seed=0):
    """Give a model weights of moderate size, so that its choices are neither random nor obvious."""
    generator = np.random.default_rng(seed)
    for variable in model.trainable_variables:
        variable.assign(generator.normal(size=variable.shape) * 0.4)
    return model


@pytest.fixture(scope="module")
def trained():
    pytest.importorskip("sacrebleu", reason="BLEU needs the `translation` extra")
    vectors = keras.initializers.RandomNormal(stddev=0.5)
    model = small(units=32, num_layers=1, bidirectional=True, embeddings_initializer=vectors)
    score = TranslationScore(*corpus())
    history = model.fit(*corpus(10), epochs=20, batch_size=15, verbose=0, callbacks=[score])
    return model, history.history


@pytest.mark.short_run
def test_learns_to_translate(trained):
    model, history = trained
    assert history["val_exact"][0] < history["val_exact"][-1]
    assert history["val_exact"][-1] > 0.9
    assert set(history) == {"loss", "accuracy", "val_bleu", "val_exact"}
    assert model.translate(["one two", "five"]) == ["zwei eins", "fünf"]
    assert model.predict(["one two", "five"]) == ["zwei eins", "fünf"]
    with pytest.raises(TypeError, match="does not take steps for texts"):
        model.predict(["one two"], steps=1)
    assert model.evaluate(*corpus(), verbose=0)[1] > 0.9
    assert model.translate(["one two", "five"], beam=3, length_penalty=0.5) == ["zwei eins", "fünf"]


def logits(model, source, written):
    """Return the logits after each prefix. All prefixes have one shape, so that the function compiles once."""
    rows = {"source": source, "target": [START_ID, *written]}
    padded = {name: np.array([[*row, *[0] * (24 - len(row))]], "int32") for name, row in rows.items()}
    return model.predict_on_batch(padded)[0, : len(written) + 1]


def log_softmax(x):
    return x - np.log(np.sum(np.exp(x), axis=-1, keepdims=True))


@pytest.mark.ci_run("torch")
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("cell", ["caslstm", "lstm"])
@pytest.mark.short_run
def test_a_beam_of_one_is_greedy_search(cell, bidirectional):
    """Compares with the whole model, step by step."""
    model = scrambled(small(cell, compiled=False, bidirectional=bidirectional))
    texts = ["one two three four", "five", ""]
    found, scores = model.translate(texts, max_length=6, return_scores=True)
    for text, translation, score in zip(texts, found, scores):
        (ids,) = model.vectorizer.encode([text])
        written, total = [], 0.0
        while len(written) < 6 and END_ID not in written:
            following = log_softmax(logits(model, [*ids, END_ID], written)[-1])
            allowed = following.copy()
            allowed[:2] = -np.inf
            written.append(int(np.argmax(allowed)))
            total += following[written[-1]]
        assert model.vectorizer.decode([written]) == [translation]
        assert score == pytest.approx(total / len(written), abs=1e-4)


def test_a_wider_beam_finds_more_probable_translations(trained):
    """Its score must equal the whole model's score of the translation."""
    model, _ = trained
    texts = [*corpus()[0], "six seven", "two Zug"]
    narrow, wide = (model.translate(texts, beam=beam, length_penalty=0.0, return_scores=True) for beam in (1, 6))
    assert np.all(wide[1] >= narrow[1] - 1e-5)
    for text, translation, score in list(zip(texts, *wide))[:3]:
        source, target = model.vectorizer.encode([text, translation])
        steps = log_softmax(logits(model, [*source, END_ID], target))
        total = sum(steps[i, new] for i, new in enumerate([*target, END_ID]))
        assert score == pytest.approx(total, abs=1e-4)


def test_the_length_limit_is_twice_the_source_plus_ten():
    model = scrambled(small(compiled=False))
    bias = np.zeros(model.head.units)
    bias[END_ID] = -100.0  # never the end
    model.head.bias.assign(bias)
    texts = ["one", "one two three one two three"]
    lengths = [len(row) + 1 for row in model.vectorizer.encode(texts)]
    spoken = []
    decode = model.vectorizer.decode
    model.vectorizer.decode = lambda ids: spoken.extend(to_numpy(ids).tolist()) or decode(ids)
    together = model.translate(texts)
    assert [sum(i > 0 for i in row) for row in spoken] == [2 * length + 10 for length in lengths]
    assert [model.translate([text])[0] for text in texts] == together
    assert all(len(row) for row in together)


def test_padding_changes_nothing():
    model = scrambled(small(compiled=False, bidirectional=True))
    long = {"source": np.array([[5, 6, 7, 2, 0, 0], [8, 9, 10, 11, 12, 2]], "int32")}
    long["target"] = np.array([[1, 5, 6, 0, 0], [1, 7, 8, 9, 10]], "int32")
    alone = {"source": long["source"][:1, :4], "target": long["target"][:1, :3]}
    np.testing.assert_allclose(to_numpy(model(long))[:1, :3], to_numpy(model(alone)), atol=1e-5)
    texts = ["one", "one two three four five", ""]
    assert model.translate(texts, beam=2) == [model.translate([text], beam=2)[0] for text in texts]
    assert model.translate([]) == []


def test_saved_file_contains_the_subwords_and_translates_the_same(trained, tmp_path):
    model, _ = trained
    texts = corpus()[0]
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.get_config() == model.get_config()
    for beam in (1, 3):
        expected, scores = model.translate(texts, beam=beam, return_scores=True)
        found, loaded_scores = loaded.translate(texts, beam=beam, return_scores=True)
        assert found == expected
        np.testing.assert_allclose(loaded_scores, scores, atol=1e-5)
    loaded.fit(*corpus(), epochs=1, verbose=0)  # the file contains the optimizer


@pytest.mark.ci_run
@pytest.mark.skipif(BACKEND != "tensorflow", reason="the test itself starts another backend")
def test_saved_file_translates_the_same_on_another_backend(trained, tmp_path):
    pytest.importorskip("torch")
    model, _ = trained
    texts = corpus()[0]
    model.save(tmp_path / "model.keras")
    script = (
        "import sys, json, keras, keras_slstm\n"
        "model = keras.saving.load_model(sys.argv[1])\n"
        "print(json.dumps(model.translate(json.loads(sys.argv[2]), beam=2)))"
    )
    result = run_python("-c", script, tmp_path / "model.keras", json.dumps(texts), KERAS_BACKEND="torch")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout.splitlines()[-1]) == model.translate(texts, beam=2)


@pytest.mark.skipif(BACKEND != "tensorflow", reason="JAX always uses XLA, and PyTorch never does")
@pytest.mark.short_run
def test_xla_trains_and_searches_as_graphs_do():
    losses, translations = [], []
    for jit_compile in (False, True):
        model = small(jit_compile=jit_compile, num_layers=1)
        losses.append(model.fit(*corpus(), batch_size=30, epochs=2, verbose=0).history["loss"])
        translations.append(scrambled(model).translate(["one two"], beam=2, max_length=5))
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-4)
    assert translations[0] == translations[1]


def test_weights_of_texts():
    model = small(units=4, embedding_dim=4)
    sources, targets = (side[:2] for side in corpus())
    one, other, mean, both = (
        model.evaluate(sources, targets, sample_weight=weights, verbose=0)[0]
        for weights in ([1.0, 0.0], [0.0, 1.0], [0.5, 0.5], None)
    )
    assert min(one, other) > 0
    assert one + other == pytest.approx(both, rel=1e-5)
    assert mean == pytest.approx(both / 2, rel=1e-5)


@pytest.mark.ci_run("torch")
@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float64"])
def test_dtypes(policy):
    if policy == "float64" and BACKEND == "jax":
        pytest.skip("needs x64 from the start")
    if policy == "mixed_float16" and BACKEND == "torch":
        pytest.skip("has no loss scaling there")
    model = small(dtype=policy, num_layers=1)
    if policy == "mixed_float16":  # with a scaled loss
        losses = model.fit(*corpus(), batch_size=30, epochs=3, verbose=0).history["loss"]
        assert np.all(np.isfinite(losses))
        assert losses[-1] < losses[0]
    assert model.head.compute_dtype == ("float64" if policy == "float64" else "float32")
    _, scores = model.translate(["one two"], beam=2, max_length=4, return_scores=True)
    assert np.all(np.isfinite(scores))
    assert scores.dtype == model.head.compute_dtype


def test_embeddings_are_initialised_separately():
    model = small(compiled=False, embeddings_initializer=keras.initializers.RandomNormal())
    source, target = (to_numpy(layer.embeddings) for layer in (model.source_embedding, model.target_embedding))
    assert np.abs(source - target).max() > 0.01


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cell": "gru"}, "'gru'"),
        ({"units": 0}, "units"),
        ({"units": 5, "bidirectional": True}, "even"),
        ({"num_layers": 0}, "num_layers"),
        ({"dropout": 1.0}, "dropout"),
        ({"embedding_dim": 0}, "embedding_dim"),
        ({"cell_options": {"speed": 3}}, "speed"),
        ({"vectorizer": {"max_tokens": 3}}, "max_tokens"),
    ],
)
def test_bad_arguments_fail_at_construction(arguments, message):
    with pytest.raises(ValueError, match=message):
        Seq2Seq(**arguments)


def test_bad_data_and_use_are_explained(trained):
    model, _ = trained
    for call, message in [
        (lambda: model.fit(["a", "b"], ["c"]), "2 sentences, but 1 `targets`"),
        (lambda: model.fit(["a", "b"]), "`y` is missing"),
        (lambda: model.translate("a text"), "one string"),
        (lambda: model.translate(["a"], beam=0), "beam"),
        (lambda: model.translate(["a"], length_penalty=-1.0), "length_penalty"),
        (lambda: model.translate(["a"], max_length=0), "max_length"),
        (lambda: model.adapt(["a"]), "already"),
        (lambda: Seq2Seq().translate(["a"]), "adapt"),
        (lambda: Seq2Seq()({"source": np.array([[2]]), "target": np.array([[1]])}), "adapt"),
        (
            lambda: score_translations(["a"], []),
            "Pass one reference per translation, not 1 translations and 0 references",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


def test_scores(monkeypatch):
    pytest.importorskip("sacrebleu")
    perfect = score_translations(["a b c d e", "f"], ["a b c d e", "f"])
    assert perfect.bleu == pytest.approx(100.0)
    assert perfect.exact == 1.0
    assert "version" in perfect.signature
    half = score_translations(["a b c d e", "g"], ["a b c d e", "f"])
    assert half.exact == 0.5
    assert 0 < half.bleu < 100
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    with pytest.raises(ImportError, match=r"keras-slstm\[translation\]"):
        score_translations(["a"], ["a"])


def test_attributes_have_the_names_and_values_of_the_arguments():
    model = keras_slstm.Seq2Seq(units=4, embedding_dim=3, dropout=0.3)
    assert (model.dropout, model.embedding_dim) == (0.3, 3)
    tagger = keras_slstm.SequenceTagger(["a", "b"], encoder="lstm", units=2, dropout=0.3)
    classifier = keras_slstm.SentenceClassifier(["a", "b"], encoder="lstm", units=2, dropout=0.3)
    assert (tagger.dropout, classifier.dropout) == (0.3, 0.3)


def test_subword_vectors_kernels_and_context_start_wide():
    model = small(compiled=False, embeddings_initializer=None)
    for embedding in (model.source_embedding, model.target_embedding):
        assert np.std(to_numpy(embedding.embeddings)) == pytest.approx(SUBWORD_SPREAD, rel=0.05)
    assert model.decoder.context_gain == CONTEXT_GAIN
    for cell in (model.encoder.directions[0][0].cell, model.decoder.cell):
        assert isinstance(cell.kernel_initializer, keras.initializers.HeNormal)
    plain = small(compiled=False, context_gain=1.0, cell_options={"kernel_initializer": "ones"})
    assert isinstance(plain.decoder.cell.kernel_initializer, keras.initializers.Ones)
    assert plain.get_config()["cell_options"] == {"kernel_initializer": "ones"}
    assert plain.decoder.context_gain == plain.get_config()["context_gain"] == 1.0
