"""Export mode: layers use only operations that converters (ONNX, LiteRT, OpenVINO, PyTorch) support.

Converters fail on, or mistranslate, loops that write into tensor arrays, growing state, branches and hand-written
gradients. In export mode, layers run on their equations or on kernels without these, and loops write into plain
tensors.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from keras_slstm.ops.backend.thread_value import ThreadValue

_export_mode = ThreadValue(False)


@contextlib.contextmanager
def export_mode() -> Iterator[None]:
    """Make layers use only operations that converters support, inside the context.

    Use it around `keras.Model.export` of a model with layers of this package to ONNX, LiteRT, OpenVINO or a PyTorch
    program, and to a SavedModel that another tool converts. A plain SavedModel does not need it. The text models
    (`SentenceClassifier`, ...) enter it themselves. The results are the same up to rounding, but computed more slowly:
    train and predict outside of it. It holds for the current thread; do not `await` inside it.

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
    with _export_mode.set_to(True):
        yield


def in_export_mode() -> bool:
    """Whether export mode is on."""
    return _export_mode.value
