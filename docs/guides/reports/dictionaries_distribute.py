"""The same training with `keras_slstm.distribute.fit`."""

from dictionaries import Readings, build

import keras_slstm

with keras_slstm.distribute.strategy("multi_worker").scope():
    model = build()
history = keras_slstm.distribute.fit(model, Readings(), epochs=2, verbose=0)
print("losses:", history.history["loss"])
