"""Stands in for `torchcrf`, the package of pytorch-crf: a pytest plugin."""

from __future__ import annotations

import sys
from types import ModuleType

import keras
import torch

import keras_slstm

_REDUCTIONS = ("none", "sum", "mean", "token_mean")


class CRF(torch.nn.Module):
    """The interface of pytorch-crf over `keras_slstm.CRF`; it also checks arguments as pytorch-crf does."""

    def __init__(self, num_tags: int, batch_first: bool = False) -> None:
        if num_tags <= 0:
            raise ValueError(f"invalid number of tags: {num_tags}")
        super().__init__()
        self.num_tags, self.batch_first = num_tags, batch_first
        uniform = keras.initializers.RandomUniform(-0.1, 0.1)
        self.layer = keras_slstm.CRF(num_tags, uniform, boundary_initializer=uniform, use_kernel=False)
        self.layer.build((None, None, num_tags))

    start_transitions = property(lambda self: self.layer.left_boundary.value)
    end_transitions = property(lambda self: self.layer.right_boundary.value)
    transitions = property(lambda self: self.layer.chain_kernel.value)

    def __repr__(self) -> str:
        return f"CRF(num_tags={self.num_tags})"

    def forward(self, emissions, tags, mask=None, reduction="sum"):
        if reduction not in _REDUCTIONS:
            raise ValueError(f"invalid reduction: {reduction}")
        self._check(emissions, mask, tags)
        emissions, tags, mask = self._batch_first(emissions, tags, mask)
        potentials = self.layer(emissions, mask=mask)
        if reduction == "none":
            return keras_slstm.crf_log_likelihood(potentials, tags)
        return -keras_slstm.CRFLoss(reduction)(tags, potentials)

    def decode(self, emissions, mask=None):
        self._check(emissions, mask)
        emissions, mask = self._batch_first(emissions, mask)
        labels = keras_slstm.crf_decode(self.layer(emissions, mask=mask))
        kept = torch.ones_like(labels, dtype=torch.bool) if mask is None else mask
        return [row[keep].tolist() for row, keep in zip(labels, kept)]

    def _batch_first(self, *tensors):
        turned = [x if x is None or self.batch_first else x.transpose(0, 1) for x in tensors]
        return [x.bool() if x is not None and x.dtype == torch.uint8 else x for x in turned]

    def _check(self, emissions, mask, tags=None):
        if emissions.dim() != 3:
            raise ValueError(f"emissions must have dimension of 3, got {emissions.dim()}")
        if emissions.size(2) != self.num_tags:
            raise ValueError(f"expected last dimension of emissions is {self.num_tags}, got {emissions.size(2)}")
        for name, x in (("tags", tags), ("mask", mask)):
            if x is not None and emissions.shape[:2] != x.shape:
                raise ValueError(
                    f"the first two dimensions of emissions and {name} must match, "
                    f"got {tuple(emissions.shape[:2])} and {tuple(x.shape)}"
                )
        if mask is not None and not (mask[:, 0] if self.batch_first else mask[0]).all():
            raise ValueError("mask of the first timestep must all be on")


module = ModuleType("torchcrf")
module.CRF = CRF
sys.modules["torchcrf"] = module
