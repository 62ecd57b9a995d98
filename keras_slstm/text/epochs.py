"""Batches whose order depends on a seed and the number of the epoch alone."""

from __future__ import annotations

from typing import Any

import keras


class SeededEpochs(keras.utils.PyDataset):
    """Base of batches that have an order of their own in each epoch.

    A training that resumes in epoch 7 gets the batches of epoch 7. Subclasses go on to an epoch in `begin_epoch`.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self._next_epoch = 0

    def begin_epoch(self, epoch: int) -> None:
        """Set the order of an epoch, counted from 0."""
        raise NotImplementedError

    def shape_of(self, index: int) -> tuple[int, int]:
        """Number of examples, and padded length, of a batch of this epoch."""
        raise NotImplementedError

    def on_epoch_begin(self) -> None:
        """Go on to the order of the next epoch."""
        # On some backends Keras calls this once more while it builds the model, which is why `follow_epochs` exists.
        self.begin_epoch(self._next_epoch)
        self._next_epoch += 1

    def set_epoch(self, epoch: int) -> None:
        """Set the number of the next epoch."""
        self._next_epoch = epoch

    def follow_epochs(self) -> keras.callbacks.Callback:
        """A callback that keeps these batches at the epoch of `fit`, `initial_epoch` included."""
        return keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: self.set_epoch(epoch))
