"""Learning rates that fall when the development score stops rising, for resumable runs."""

from __future__ import annotations

from collections.abc import Iterable

import keras

from keras_slstm.training.training_run import TrainingRun


def rate_on_plateau(initial: float, scores: Iterable[float], patience: int, factor: float = 0.5) -> float:
    """The learning rate after epochs with these scores.

    The rate is multiplied by `factor` whenever `patience` epochs in a row do not improve on the best score.

    Args:
        initial: The learning rate of the first epoch.
        scores: The score of each epoch; higher is better.
        patience: Number of epochs, at least 1.
        factor: A number between 0 and 1.

    >>> rate_on_plateau(0.1, [0.5, 0.6, 0.6, 0.55], patience=2)
    0.05
    """
    rate = initial
    best = -float("inf")
    waited = 0
    for score in scores:
        waited += 1
        if score > best:
            best = score
            waited = 0
        elif waited == patience:
            rate *= factor
            waited = 0
    return rate


def decay_on_plateau(
    run: TrainingRun, initial: float, patience: int, factor: float = 0.5, monitor: str = "val_accuracy"
) -> keras.callbacks.Callback:
    """A callback for `run.fit` that lowers the learning rate on a plateau.

    `keras.callbacks.ReduceLROnPlateau` forgets earlier scores at an interruption. This callback computes the rate from
    the history of the run, so that it is right after resuming. The optimizer's learning rate must be a number, not a
    schedule.

    Args:
        run: The training run.
        initial, patience, factor: See `rate_on_plateau`.
        monitor: The entry of Keras' logs with the score.

    Example:

    ```python
    model.compile(keras.optimizers.Adam(1e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    run.fit(model, train, validation_data=dev, epochs=20, callbacks=[decay_on_plateau(run, 1e-3, patience=1)])
    ```
    """

    def schedule(epoch: int, rate: float) -> float:
        return rate_on_plateau(initial, run.history.get(monitor, ()), patience, factor)

    return keras.callbacks.LearningRateScheduler(schedule)
