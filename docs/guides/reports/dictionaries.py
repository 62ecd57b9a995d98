"""A `PyDataset` of dictionaries in several processes (keras#20329): fails with Keras 3."""

import keras
import numpy as np
import tensorflow as tf


class Readings(keras.utils.PyDataset):
    """Batches of two named inputs."""

    def __len__(self):
        return 2

    def __getitem__(self, index):
        random = np.random.default_rng(index)
        inputs = {"near": random.normal(size=(8, 3)), "far": random.normal(size=(8, 2))}
        return inputs, random.normal(size=(8, 1))


def build():
    """Build a model of both inputs."""
    near, far = keras.Input((3,), name="near"), keras.Input((2,), name="far")
    model = keras.Model({"near": near, "far": far}, keras.layers.Dense(1)(keras.layers.Concatenate()([near, far])))
    model.compile("sgd", "mse")
    return model


if __name__ == "__main__":
    with tf.distribute.MultiWorkerMirroredStrategy().scope():
        model = build()
    history = model.fit(Readings(), epochs=2, verbose=0)
    print("losses:", history.history["loss"])
