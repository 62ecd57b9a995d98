"""Pure tensor functions below the layers: one idea per module, written with ``keras.ops``.

An equation has no branch on the backend and no custom gradient. Those are in `keras_slstm.ops.kernels` (equations made
fast) and `keras_slstm.ops.backend` (primitives that `keras.ops` lacks). Kernels import equations, never the reverse.
Modules that are neither, such as `crf_functions`, connect both to the layers.
"""
