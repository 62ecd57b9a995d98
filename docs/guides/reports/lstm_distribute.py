"""The same training with `keras_slstm.distribute.fit`, on several devices or in several processes."""

from lstm import BATCH, Clock, build, x, y

import keras_slstm

with keras_slstm.distribute.strategy().scope():
    model = build()
keras_slstm.distribute.fit(model, x, y, batch_size=BATCH, shuffle=False, callbacks=[Clock()], verbose=0)
