"""Primitives with a branch for each backend, which `keras.ops` lacks or computes less exactly.

Equations and kernels use them; they contain no equations themselves.
"""
