"""Rejects `class_weight` for word labels."""

from __future__ import annotations

import inspect

_FUNCTIONS = ("fit", "train_on_batch")
_MODULES = ("keras.src.", "keras_slstm.")


def check_no_class_weight() -> None:
    """Raise if the running `fit` or `train_on_batch` was given `class_weight`.

    Keras mistakes the labels of a sentence's words for a one-hot vector, and weights the sentence by the *position* of
    its largest label. A loss receives only the resulting sentence weights, so this looks for the argument in the
    callers' frames. A `fit` of the user may have the same argument, and turn it into sample weights.
    """
    frame = inspect.currentframe()
    while frame is not None:
        ours = frame.f_globals.get("__name__", "").startswith(_MODULES)
        if ours and frame.f_code.co_name in _FUNCTIONS and frame.f_locals.get("class_weight"):
            raise ValueError(
                "`class_weight` weights examples by their label, but here each word has a label. Use "
                "`CRFLoss(label_weights=...)`, with one weight per label, or `sample_weight`."
            )
        frame = frame.f_back
