"""Stands in for the modules of AllenNLP that its tests of CRFs import: a pytest plugin."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import torch
from keras import ops

import keras_slstm
from keras_slstm.ops.crf_potentials import pack
from keras_slstm.ops.label_schemes import Allowed
from keras_slstm.ops.masks import is_first, is_last
from tests.conformance.bridge import from_torch

_SCHEMES = {"BIO": "BIO", "IOB1": "IOB1", "BIOUL": "BILOU", "BMES": "BMES"}


class ConfigurationError(Exception):
    pass


class AllenNlpTestCase:
    def setup_method(self) -> None:
        pass


def allowed_transitions(constraint_type: str, labels: dict[int, str]) -> list[tuple[int, int]]:
    if constraint_type not in _SCHEMES:
        raise ConfigurationError(f"Unknown constraint type: {constraint_type}")
    first, transitions, last = keras_slstm.allowed_transitions(list(labels.values()), _SCHEMES[constraint_type])
    size = len(labels)
    pairs = [(int(one), int(other)) for one, other in np.argwhere(transitions)]
    return [
        *pairs,
        *((size, int(y)) for y in np.flatnonzero(first)),
        *((int(y), size + 1) for y in np.flatnonzero(last)),
    ]


class ConditionalRandomField:
    weighting: str | None = None

    def __init__(self, num_tags: int, constraints=None, label_weights=None) -> None:
        self.num_tags = num_tags
        self.label_weights = label_weights
        self.allowed = None
        if constraints is not None:
            matrix = np.zeros((num_tags + 2, num_tags + 2), bool)
            matrix[tuple(np.array(sorted(constraints)).T)] = True
            self.allowed = Allowed(matrix[-2, :-2], matrix[:-2, :-2], matrix[:-2, -1])

    def __call__(self, logits, tags, mask=None):
        mask = torch.ones(logits.shape[:2], dtype=torch.bool) if mask is None else mask
        loss = keras_slstm.CRFLoss("sum")
        scale = np.ones(self.num_tags, "float32")
        if self.weighting is not None:
            loss = keras_slstm.CRFLoss("sum", label_weights=self.label_weights.tolist(), weighting=self.weighting)
            # AllenNLP does not weight the boundary scores, which belong to the first and last word here.
            scale = 1 / self.label_weights.numpy()

        scale_of = ops.convert_to_tensor(scale)

        def likelihood(logits, tags, mask, transitions, start, end):
            first, last = (ops.cast(find(mask)[..., None], logits.dtype) * scale_of for find in (is_first, is_last))
            unary = logits + first * start + last * end
            return -loss(tags, pack(ops.where(mask[..., None], unary, ops.zeros_like(unary)), transitions, mask))

        return from_torch(likelihood, logits, tags, mask, *self._weights())

    def viterbi_tags(self, logits, mask=None, top_k=None):
        mask = torch.ones(logits.shape[:2], dtype=torch.bool) if mask is None else mask
        layer = keras_slstm.CRF(self.num_tags, scheme=self.allowed, use_kernel=False)
        layer.build((None, None, self.num_tags))
        for name, weight in zip(("chain_kernel", "left_boundary", "right_boundary"), self._weights()):
            getattr(layer, name).assign(weight.detach().numpy())
        potentials = layer(logits.detach().numpy(), mask=mask.numpy())
        paths, scores = map(ops.convert_to_numpy, keras_slstm.crf_k_best(potentials, top_k or 1))
        found = [
            [(path[keep].tolist(), float(score)) for path, score in zip(*row)]
            for *row, keep in zip(paths, scores, mask.numpy())
        ]
        return found if top_k else [row[0] for row in found]

    def _weights(self):
        return self.transitions, self.start_transitions, self.end_transitions


class ConditionalRandomFieldWeightEmission(ConditionalRandomField):
    weighting = "emission"


class ConditionalRandomFieldWeightTrans(ConditionalRandomField):
    weighting = "transition"


class ConditionalRandomFieldWeightLannoy(ConditionalRandomField):
    weighting = "likelihood"


def _module(name: str, **names) -> None:
    module = sys.modules[name] = ModuleType(name)
    module.__path__ = []
    for key, value in names.items():
        setattr(module, key, value)


_WEIGHTED = {
    cls.__name__: cls
    for cls in (
        ConditionalRandomFieldWeightEmission,
        ConditionalRandomFieldWeightTrans,
        ConditionalRandomFieldWeightLannoy,
    )
}
_module("allennlp")
_module("allennlp.common")
_module("allennlp.common.checks", ConfigurationError=ConfigurationError)
_module("allennlp.common.testing", AllenNlpTestCase=AllenNlpTestCase)
_module("allennlp.modules", ConditionalRandomField=ConditionalRandomField)
_module("allennlp.modules.conditional_random_field", **_WEIGHTED)
_module("allennlp.modules.conditional_random_field.conditional_random_field", allowed_transitions=allowed_transitions)
