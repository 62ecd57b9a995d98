import keras
import pytest
from keras import ops

import keras_slstm
from keras_slstm.layers.cas_lstm import CASLSTM
from keras_slstm.layers.depth_adaptive_grn import DepthAdaptiveGRN
from keras_slstm.models.gate_histograms import read_gates
from keras_slstm.models.word_depths import read_depths

LENGTHS = range(1, 201)


class Counted(keras.layers.Layer):
    """The mean of the words; records the shapes for which Python runs it, that is, for which a model is compiled."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.shapes = set()

    def call(self, inputs, mask=None):
        if None not in inputs.shape:
            self.shapes.add(tuple(inputs.shape))
        return ops.mean(inputs, axis=1)

    def compute_mask(self, inputs, previous_mask=None):
        return None


@pytest.mark.backends("jax")  # TensorFlow traces once for all lengths, and XLA's compilations are not visible
def test_texts_of_all_lengths_compile_for_eight_shapes():
    encoder = Counted()
    model = keras_slstm.SentenceClassifier(["a", "b"], encoder=encoder, embedding_dim=2)
    texts = [" ".join(["word"] * length) for length in LENGTHS]
    model.adapt(texts)
    model.compile("sgd", jit_compile=True)
    encoder.shapes.clear()
    model.classify(texts, batch_size=3)
    assert 1 < len(encoder.shapes) <= 8
    assert max(time for _, time, _ in encoder.shapes) == max(LENGTHS)
    encoder.shapes.clear()
    model.fit(texts, ["a", "b"] * (len(texts) // 2), batch_size=3, verbose=0)
    assert 1 < len(encoder.shapes) <= 8


@pytest.mark.backends("jax")
@pytest.mark.parametrize(
    ("encoder", "layer", "method", "read"),
    [
        ("depth_adaptive_grn", DepthAdaptiveGRN, "word_depths", read_depths),
        ("caslstm", CASLSTM, "vertical_gates", read_gates),
    ],
)
def test_depths_and_gates_are_compiled_once_for_a_length(encoder, layer, method, read, monkeypatch):
    model = keras_slstm.SentenceClassifier(["a", "b"], encoder, 2, embedding_dim=2)
    texts = ["some words"] * 12
    model.adapt(texts)
    run, shapes = getattr(layer, method), []

    def recorded(self, inputs, *args, **options):
        shapes.append(inputs.shape)
        return run(self, inputs, *args, **options)

    monkeypatch.setattr(layer, method, recorded)
    assert list(read(model, texts, batch_size=2))
    assert len(shapes) == 1
