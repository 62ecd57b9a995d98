"""The same training with `keras_slstm.distribute.fit`; two lines differ."""

import keras
import numpy as np
import tensorflow as tf

import keras_slstm

strategy = keras_slstm.distribute.strategy("multi_worker")  # reads TF_CONFIG, or a launcher's variables
random = np.random.default_rng(0)
images, digits = random.normal(size=(64, 28, 28)).astype("float32"), random.integers(0, 10, 64)
dataset = tf.data.Dataset.from_tensor_slices((images, digits)).batch(32)

with strategy.scope():
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(16, "relu"), keras.layers.Dense(10)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.01), loss, metrics=["accuracy"])
history = keras_slstm.distribute.fit(model, dataset, epochs=2, verbose=0)
print("losses:", history.history["loss"])
