"""Batches whose order depends only on a seed and the epoch."""

from __future__ import annotations

from typing import Any

import keras


class SeededEpochs(keras.utils.PyDataset):
    """Base class of batches that are reordered in each epoch.

    A run that resumes in epoch 7 gets the batches of epoch 7. Subclasses implement `begin_epoch`.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self._next_epoch = 0

    def begin_epoch(self, epoch: int) -> None:
        """Set the order for this epoch, counted from 0."""
        raise NotImplementedError

    def shape_of(self, index: int) -> tuple[int, int]:
        """Number of examples and padded length of a batch of the current epoch."""
        raise NotImplementedError

    def on_epoch_begin(self) -> None:
        """Advance to the order of the next epoch."""
        # On some backends Keras makes one more call while it builds the model; `follow_epochs` corrects for that.
        self.begin_epoch(self._next_epoch)
        self._next_epoch += 1

    def set_epoch(self, epoch: int) -> None:
        """Set the number of the next epoch."""
        self._next_epoch = epoch

    def follow_epochs(self) -> keras.callbacks.Callback:
        """A callback that keeps these batches in step with the epoch of `fit`, `initial_epoch` included."""
        return keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: self.set_epoch(epoch))
