"""An LSTM on all devices of JAX with Keras' own `fit` (keras#20998): an exchange at each time step.

XLA_FLAGS=--xla_force_host_platform_device_count=2 python lstm.py
"""

import os

os.environ["KERAS_BACKEND"] = "jax"

import time

import keras
import numpy as np

UNITS, BATCH, BATCHES, HOURS, MEASUREMENTS = 128, 256, 10, 120, 7
random = np.random.default_rng(0)
x = random.normal(size=(BATCHES * BATCH, HOURS, MEASUREMENTS)).astype("float32")
y = x[:, :, 0].mean(axis=1, keepdims=True)


class Clock(keras.callbacks.Callback):
    """Prints the throughput and the loss."""

    def on_train_begin(self, logs=None):
        self.ends, self.losses = [], []

    def on_train_batch_end(self, batch, logs=None):
        self.losses.append(float(logs["loss"]))
        self.ends.append(time.perf_counter())

    def on_train_end(self, logs=None):
        seconds = np.median(np.diff(self.ends)[2:])
        print(f"windows per second: {BATCH / seconds:.0f}")
        print("losses:", self.losses)


def build():
    """Build the model of Keras' example of weather forecasts, with more units."""
    keras.utils.set_random_seed(0)
    layers = [keras.Input((HOURS, MEASUREMENTS)), keras.layers.LSTM(UNITS), keras.layers.Dense(1)]
    model = keras.Sequential(layers)
    model.compile(keras.optimizers.Adam(0.001), "mse")
    return model


if __name__ == "__main__":
    if len(keras.distribution.list_devices()) > 1:
        keras.distribution.set_distribution(keras.distribution.DataParallel())
    build().fit(x, y, batch_size=BATCH, shuffle=False, callbacks=[Clock()], verbose=0)
