import keras
import numpy as np

from keras_slstm.text import TextBatches
from keras_slstm.training.stopwatch import Stopwatch, texts_a_second


def test_stopwatch_skips_the_first_batch_of_each_shape():
    ids = [[2] * n for n in (3, 3, 3, 3, 3, 6, 6, 6)]
    batches = TextBatches(ids, labels=[0] * 8, batch_size=2, multiple_of=3)
    model = keras.Sequential([keras.layers.Embedding(3, 2), keras.layers.GlobalMaxPooling1D(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    stopwatch = Stopwatch(batches)
    assert stopwatch.seconds_per_epoch is None
    callbacks = [stopwatch, batches.follow_epochs()]
    model.fit(batches, epochs=3, callbacks=callbacks, shuffle=False, verbose=0)
    by_length = stopwatch.seconds_by_length
    lengths = [batches.shape_of(i) for i in range(len(batches))]
    assert sorted(lengths) == [(2, 3), (2, 3), (2, 6), (2, 6)]  # one short sentence shares a batch with a long one
    assert {length: count for length, (count, _) in by_length.items()} == {"3": 3 * 4 - 2, "6": 3 * 4 - 2}
    assert stopwatch.seconds_per_epoch > 0
    total = sum(seconds for _, seconds in by_length.values())
    assert 0 < total < sum(stopwatch._epochs) + 1e-9
    assert np.isfinite(total)


def test_the_speed_is_that_of_batches_of_100_once_compiled(monkeypatch):
    class Model:
        clock = 0.0
        calls = []

        def batches(self, texts, **options):
            self.calls.append(options)
            return texts

        def predict(self, batches, verbose):
            self.clock += 2.0 if self.clock else 1000.0  # to compile takes long

    model = Model()
    monkeypatch.setattr("time.perf_counter", lambda: model.clock)
    assert texts_a_second(model, ["a"] * 300) == 150.0
    assert model.calls == [{"batch_size": 100, "shuffle": False}]
