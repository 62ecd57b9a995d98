"""Keras' own `fit` in several processes (keras#20585): fails with Keras 3."""

import keras
import numpy as np
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()  # reads TF_CONFIG
random = np.random.default_rng(0)
images, digits = random.normal(size=(64, 28, 28)).astype("float32"), random.integers(0, 10, 64)
dataset = tf.data.Dataset.from_tensor_slices((images, digits)).batch(32)

with strategy.scope():
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(16, "relu"), keras.layers.Dense(10)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.01), loss, metrics=["accuracy"])
history = model.fit(dataset, epochs=2, verbose=0)
print("losses:", history.history["loss"])
