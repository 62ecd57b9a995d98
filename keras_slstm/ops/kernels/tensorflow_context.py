"""Queries about the graph that TensorFlow is tracing."""

from __future__ import annotations

import keras


def inside_xla() -> bool:
    """Whether TensorFlow is tracing for XLA, which needs static shapes."""
    if keras.backend.backend() != "tensorflow":
        return False
    import tensorflow as tf

    if tf.executing_eagerly():
        return False
    try:
        from tensorflow.python.ops.control_flow_util import GraphOrParentsInXlaContext
    except ImportError:  # TensorFlow has no public way to ask, but code for XLA runs in any graph
        return True
    return bool(GraphOrParentsInXlaContext(tf.compat.v1.get_default_graph()))


def is_recording() -> bool:
    """Whether a gradient tape may be recording; True if TensorFlow cannot tell.

    If it is False, the gradient of a traced function can still be taken later.
    """
    try:
        from tensorflow.python.eager.record import could_possibly_record
    except ImportError:  # TensorFlow has no public way to ask
        return True
    return bool(could_possibly_record())
