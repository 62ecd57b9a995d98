"""Stands in for `torchcrf`, the package of pytorch-crf: a pytest plugin."""

from __future__ import annotations

import sys
from types import ModuleType

import torch
from keras import ops

import keras_slstm
from tests.conformance.bridge import from_torch

_REDUCTIONS = ("none", "sum", "mean", "token_mean")


class CRF(torch.nn.Module):
    """The interface of pytorch-crf over `keras_slstm.CRF`; it also checks arguments as pytorch-crf does."""

    def __init__(self, num_tags: int, batch_first: bool = False) -> None:
        if num_tags <= 0:
            raise ValueError(f"invalid number of tags: {num_tags}")
        super().__init__()
        self.num_tags, self.batch_first = num_tags, batch_first
        self.layer = keras_slstm.CRF(num_tags, use_kernel=False)
        self.layer.build((None, None, num_tags))
        shapes = [tuple(weight.shape) for weight in self.layer.trainable_variables]
        weights = [torch.nn.Parameter(torch.empty(shape).uniform_(-0.1, 0.1)) for shape in shapes]
        self.transitions, self.start_transitions, self.end_transitions = weights

    def __repr__(self) -> str:
        return f"CRF(num_tags={self.num_tags})"

    def forward(self, emissions, tags, mask=None, reduction="sum"):
        if reduction not in _REDUCTIONS:
            raise ValueError(f"invalid reduction: {reduction}")
        self._check(emissions, mask, tags)
        emissions, tags, mask = self._batch_first(emissions, tags, mask)

        def likelihood(emissions, tags, mask, *weights):
            potentials = self._potentials(emissions, mask, weights)
            if reduction == "none":
                return keras_slstm.crf_log_likelihood(potentials, tags)
            return -keras_slstm.CRFLoss(reduction)(tags, potentials)

        return from_torch(likelihood, emissions, tags, mask, *self._weights())

    def decode(self, emissions, mask=None):
        self._check(emissions, mask)
        emissions, mask = self._batch_first(emissions, mask)

        def best(emissions, mask, *weights):
            return keras_slstm.crf_decode(self._potentials(emissions, mask, weights))

        labels = from_torch(best, emissions, mask, *self._weights())
        return [row[keep].tolist() for row, keep in zip(labels, mask)]

    def _weights(self):
        return self.transitions, self.start_transitions, self.end_transitions

    def _potentials(self, emissions, mask, weights):
        found, _ = self.layer.stateless_call(weights, [], ops.cast(emissions, "float32"), mask=mask)
        return found

    def _batch_first(self, emissions, *others):
        mask = others[-1] if others[-1] is not None else torch.ones(emissions.shape[:2])
        return [x if self.batch_first else x.transpose(0, 1) for x in (emissions, *others[:-1], mask.bool())]

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
