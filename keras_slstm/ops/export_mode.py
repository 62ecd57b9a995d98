"""The mode in which layers compute by operations that converters know: those of ONNX, LiteRT, OpenVINO, PyTorch.

A converter reads the graph of a model. It reads wrongly, or not at all, loops that write into arrays of tensors, state
that grows, branches, and gradients written by hand. In export mode, layers run on their equations or on the parts of
kernels that have none of these, and loops write into plain tensors.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

_export_mode: ContextVar[bool] = ContextVar("export_mode", default=False)


@contextlib.contextmanager
def export_mode() -> Iterator[None]:
    """Make layers compute by operations that converters know, inside the context.

    Use it around `keras.Model.export` of a model with layers of this package to ONNX, LiteRT, OpenVINO or a PyTorch
    program, and to a SavedModel that another tool converts. A plain SavedModel does not need it. The text models
    (`SentenceClassifier`, ...) do so themselves. The result is the same up to rounding, but slower: train and predict
    outside of it.

    Raises:
        ValueError: If PyTorch exports a loop over time for any length.

    Example:

    ```python
    words = keras.Input((None, 50))
    model = keras.Model(words, keras_slstm.CASLSTM(100, return_sequences=True)(words))
    with keras_slstm.export_mode():
        model.export("encoder.onnx", format="onnx")
    ```
    """
    token = _export_mode.set(True)
    try:
        yield
    finally:
        _export_mode.reset(token)


def in_export_mode() -> bool:
    """Whether layers compute by operations that converters know now."""
    return _export_mode.get()
