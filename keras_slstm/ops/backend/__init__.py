"""Primitives with a branch for each backend: what `keras.ops` lacks, or computes less exactly.

Equations and kernels are written with them. They state no equation of a paper.
"""
