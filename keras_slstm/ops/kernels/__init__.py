"""Kernels: the equations of `keras_slstm.ops`, made fast.

A kernel has the name and the signature of its equation, and the decorator `keras_slstm.ops.reference.kernel_of` pairs
the two. Kernels import equations, never the reverse.
"""
