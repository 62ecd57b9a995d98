import pytest

from keras_slstm.tuning import ClassificationHyperModel, Search, read_trials
from tests.backend import BACKEND
from tests.tuning.conftest import TINY

pytestmark = pytest.mark.short_run("torch")


@pytest.mark.skipif(BACKEND != "tensorflow", reason="written where the backend is TensorFlow")
def test_tensorboard(corpus, tmp_path, in_process):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    hypermodel = ClassificationHyperModel(corpus, ["cnn"], values=TINY, only=True)
    Search(hypermodel, tmp_path / "s", max_trials=1, epochs=2).search()
    (folder,) = (tmp_path / "s" / "tensorboard").iterdir()
    events = EventAccumulator(str(folder)).Reload()
    assert "_hparams_/session_start_info" in events.PluginTagToContent("hparams")
    history = read_trials(tmp_path / "s")[0]["runs"]["seed0"]["history"]
    assert [e.step for e in events.Tensors("val_accuracy")] == [0, 1]
    assert {*history} <= {*events.Tags()["tensors"]}
