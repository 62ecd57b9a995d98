import sys

import pytest

from keras_slstm.datasets.any_texts import read_any_texts
from keras_slstm.datasets.office_notes import generate_splits


def test_generated_corpora_need_no_tfds(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    assert len(read_any_texts("travel_desk")) == 1_000
    assert read_any_texts("office_notes/to_words") == [
        note.english for note in generate_splits(task="to_words")["validation"]
    ]


def test_all_texts_of_a_data_set(tmp_path):
    tfds = pytest.importorskip("tensorflow_datasets")

    class TinyPairs(tfds.core.GeneratorBasedBuilder):
        VERSION = tfds.core.Version("1.0.0")

        def _info(self):
            text = tfds.features.Text()
            features = {"first": text, "second": text, "label": tfds.features.ClassLabel(num_classes=2)}
            return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict(features))

        def _split_generators(self, dl_manager):
            return {"train": self._generate_examples("train"), "test": self._generate_examples("test")}

        def _generate_examples(self, name):
            yield 0, {"first": f"{name} one", "second": f"{name} two", "label": 0}
            yield 1, {"first": " ", "second": f"{name} three", "label": 1}

    assert sorted(read_any_texts("tiny_pairs", tmp_path)) == ["test one", "test three", "test two"]
    assert read_any_texts("tiny_pairs", tmp_path, columns=["first"]) == ["test one"]
    with pytest.raises(ValueError, match='no text feature "third"; its text features: "first", "second"'):
        read_any_texts("tiny_pairs", tmp_path, columns=["third"])
