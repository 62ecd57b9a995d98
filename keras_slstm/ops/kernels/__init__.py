"""Kernels: the equations of `keras_slstm.ops`, made fast.

A kernel has the name and the signature of the equation that it stands for, and the decorator
`keras_slstm.ops.reference.kernel_of` pairs the two. Kernels import equations, never the reverse.
"""
