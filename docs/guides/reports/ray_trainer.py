"""Train with Ray Train, which runs a function in two processes and sets TF_CONFIG in each (ray#47464).

With `model.fit` instead of `keras_slstm.distribute.fit`, the training fails with Keras 3.
"""

import sys

from ray.train import ScalingConfig
from ray.train.tensorflow import TensorflowTrainer


def train(config):
    """Train in one of the processes."""
    import keras
    import numpy as np

    import keras_slstm

    random = np.random.default_rng(0)
    x = random.normal(size=(64, 1)).astype("float32")
    strategy = keras_slstm.distribute.strategy("multi_worker")
    with strategy.scope():
        model = keras.Sequential([keras.layers.Dense(10, "relu"), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    if config["remedy"]:
        history = keras_slstm.distribute.fit(model, x, 2 * x, batch_size=16, epochs=3, verbose=0)
    else:
        history = model.fit(x, 2 * x, batch_size=16, epochs=3, verbose=0)
    print("losses:", history.history["loss"])


if __name__ == "__main__":
    trainer = TensorflowTrainer(
        train,
        train_loop_config={"remedy": "--keras" not in sys.argv},
        scaling_config=ScalingConfig(num_workers=2, resources_per_worker={"CPU": 1}),
    )
    trainer.fit()
