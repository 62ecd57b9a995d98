"""Pure tensor functions below the layers: one idea a module, written against ``keras.ops``.

An equation has no branch on a backend and no gradient of its own. Only `keras_slstm.ops.kernels` (equations made fast)
and `keras_slstm.ops.backend` (primitives that `keras.ops` lacks) have them.
"""
