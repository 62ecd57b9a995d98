import keras
import pytest

from keras_slstm.models.development_score import DevelopmentScore
from keras_slstm.models.sequence_tagger import SequenceTagger
from tests.backend import BACKEND

pytestmark = pytest.mark.ci_run("torch")

SENTENCES = [["go", "to", "New", "York"], ["Rome"]]
TAGS = [["O", "O", "B-city", "I-city"], ["B-city"]]


def tagger(scheme="BIO"):
    model = SequenceTagger(["O", "B-city", "I-city"], scheme, "bilstm", units=4, embedding_dim=4, dropout=0.0)
    model.adapt(SENTENCES)
    model.compile(keras.optimizers.Adam(0.1), jit_compile=BACKEND == "jax")
    return model


class Given(DevelopmentScore):
    """Scores given predictions instead of a model's."""

    def __init__(self, predicted, scheme):
        super().__init__(SENTENCES, TAGS)
        model = keras.Sequential()
        model.scheme, model.tag = scheme, lambda sentences, batch_size: predicted
        self.set_model(model)


@pytest.mark.parametrize(
    ("predicted", "accuracy", "f1"),
    [
        (TAGS, 1.0, 1.0),
        ([["O", "O", "B-city", "O"], ["B-city"]], 4 / 5, 0.5),
        ([["B-city", "O", "B-city", "I-city"], ["B-city"]], 4 / 5, 0.8),
        ([["O"] * 4, ["O"]], 2 / 5, 0.0),
    ],
)
def test_scores(predicted, accuracy, f1):
    logs = {}
    Given(predicted, "BIO").on_epoch_end(0, logs)
    assert logs == {"val_accuracy": pytest.approx(accuracy), "val_f1": pytest.approx(f1)}
    logs = {}
    Given(predicted, None).on_epoch_end(0, logs)
    assert logs == {"val_accuracy": pytest.approx(accuracy)}


def test_the_training_continues_and_later_callbacks_see_the_scores():
    keras.utils.set_random_seed(0)
    model, seen = tagger(), []
    score = DevelopmentScore(SENTENCES, TAGS)
    behind = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(logs["val_f1"]))
    history = model.fit(SENTENCES, TAGS, epochs=15, verbose=0, callbacks=[score, behind]).history
    assert history["val_f1"] == seen
    assert seen[-1] == 1.0
    assert history["loss"][-1] < history["loss"][0]
    # It used the weights of the epoch, not earlier ones.
    assert model.tag(SENTENCES) == TAGS
