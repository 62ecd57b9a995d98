"""Refuses `class_weight` for labels of words."""

from __future__ import annotations

import inspect

_FUNCTIONS = ("fit", "train_on_batch")


def refuse_class_weight() -> None:
    """Raise if the running `fit` or `train_on_batch` was given `class_weight`.

    Keras takes the labels of a sentence's words for one-hot vectors, and weighs the sentence by the *position* of its
    largest label. A loss sees only weights of sentences, so the argument is looked up in the calling functions.
    """
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_name in _FUNCTIONS and frame.f_locals.get("class_weight"):
            raise ValueError(
                "`class_weight` weighs examples by their label, but here each word has a label. Use "
                "`CRFLoss(label_weights=...)`, with one weight for each label, or `sample_weight`."
            )
        frame = frame.f_back
