"""An attribute of a model has the name and the value of its argument, also after `from_config`."""

import pytest

import keras_slstm
from keras_slstm.models import BCN, ESIM

LABELS = ["no", "yes"]
WORDS = {"units": 4, "embedding_dim": 3, "dropout": 0.15, "word_dropout": 0.02, "trainable_embeddings": False}
CHARACTERS = {"characters": "bilstm", "character_dim": 2, "character_units": 6}
HIDDEN = {"mlp_units": (5, 7), "mlp_dropout": 0.25, "mlp_batch_norm": True, "mlp_activation": "tanh"}

ARGUMENTS = [
    (keras_slstm.SentenceClassifier, {"labels": LABELS, "pooling": "max", **WORDS, **CHARACTERS, **HIDDEN}),
    (keras_slstm.SentencePairClassifier, {"labels": LABELS, "features": "paraphrase", **WORDS, **HIDDEN}),
    (keras_slstm.SequenceTagger, {"labels": ["O", "B-X", "I-X"], "scheme": "BIO", "head": "softmax", **WORDS}),
    (BCN, {"labels": LABELS, "reductions": (2,), "maxout_dropout": 0.2, "maxout_batch_norm": False, **WORDS}),
    (ESIM, {"labels": LABELS, "mlp_units": (5,), **WORDS}),
    (
        keras_slstm.Seq2Seq,
        {"cell": "lstm", "units": 4, "num_layers": 3, "bidirectional": True, "embedding_dim": 3, "dropout": 0.15},
    ),
]


@pytest.mark.parametrize(("model_class", "arguments"), ARGUMENTS, ids=lambda value: getattr(value, "__name__", ""))
def test_attributes(model_class, arguments):
    if model_class is keras_slstm.Seq2Seq:
        pytest.importorskip("tokenizers")
    model = model_class(**arguments)
    for created in (model, model_class.from_config(model.get_config())):
        found = {name: getattr(created, name) for name in arguments}
        assert {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()} == {
            name: list(value) if isinstance(value, tuple) else value for name, value in arguments.items()
        }
