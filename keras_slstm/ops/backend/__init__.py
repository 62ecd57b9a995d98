"""Primitives with a branch for each backend, which `keras.ops` lacks or computes less exactly.

Equations and kernels are written with them. They hold no equation of a paper.
"""
