"""Stands in for the modules of tensorflow-addons that its tests of CRFs import: a pytest plugin."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.conformance import linear_chain
from tests.conformance.bridge import from_tensorflow


def crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params):
    tag_indices = tag_indices[:, : inputs.shape[1]]  # some tests give more labels than words
    return from_tensorflow(linear_chain.sequence_score, inputs, tag_indices, sequence_lengths, transition_params)


def crf_unary_score(tag_indices, sequence_lengths, inputs):
    nothing = np.zeros((inputs.shape[-1],) * 2, "float32")
    return crf_sequence_score(inputs, tag_indices, sequence_lengths, nothing)


def crf_binary_score(tag_indices, sequence_lengths, transition_params):
    nothing = np.zeros((*tag_indices.shape, transition_params.shape[0]), "float32")
    return crf_sequence_score(nothing, tag_indices, sequence_lengths, transition_params)


def crf_filtered_inputs(inputs, tag_bitmap):
    return tf.where(tag_bitmap, inputs, tf.constant(-np.inf, inputs.dtype))


def crf_log_norm(inputs, sequence_lengths, transition_params):
    return from_tensorflow(linear_chain.log_norm, inputs, sequence_lengths, transition_params)


def crf_multitag_sequence_score(inputs, tag_bitmap, sequence_lengths, transition_params):
    return crf_log_norm(crf_filtered_inputs(inputs, tag_bitmap), sequence_lengths, transition_params)


def crf_log_likelihood(inputs, tag_indices, sequence_lengths, transition_params=None):
    if transition_params is None:
        transition_params = tf.random.normal((inputs.shape[-1],) * 2)
    found = from_tensorflow(linear_chain.log_likelihood, inputs, tag_indices, sequence_lengths, transition_params)
    return found, transition_params


def crf_decode(potentials, transition_params, sequence_length):
    return from_tensorflow(linear_chain.decode, potentials, sequence_length, transition_params)


def crf_constrained_decode(potentials, tag_bitmap, transition_params, sequence_length):
    return crf_decode(crf_filtered_inputs(potentials, tag_bitmap), transition_params, sequence_length)


def viterbi_decode(score, transition_params):
    labels, best = crf_decode(score[None], transition_params, np.array([len(score)]))
    return labels.numpy()[0].tolist(), best.numpy()[0]


def assert_allclose_according_to_type(a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, **half: float) -> None:
    a, b = np.asarray(a), np.asarray(b)
    if np.float16 in (a.dtype, b.dtype):
        rtol, atol = half.get("half_rtol", 1e-3), half.get("half_atol", 1e-3)
    np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


@pytest.fixture(params=["float32", "mixed_float16"])
def run_with_mixed_precision_policy(request):
    keras.mixed_precision.set_global_policy(request.param)
    yield
    keras.mixed_precision.set_global_policy("float32")


@pytest.fixture(params=["eager", "graph"])
def maybe_run_functions_eagerly(request):
    tf.config.run_functions_eagerly(request.param == "eager")
    yield
    tf.config.run_functions_eagerly(False)


def _module(name: str, **names: Any) -> ModuleType:
    module = sys.modules[name] = ModuleType(name)
    module.__path__ = []  # type: ignore[attr-defined]
    for key, value in names.items():
        setattr(module, key, value)
    return module


_FUNCTIONS = {name: value for name, value in globals().items() if name.startswith("crf_") or name == "viterbi_decode"}
_utils = _module(
    "tensorflow_addons.utils.test_utils", assert_allclose_according_to_type=assert_allclose_according_to_type
)
_module("tensorflow_addons.utils", test_utils=_utils)
_text = _module("tensorflow_addons.text", **_FUNCTIONS)
_module("tensorflow_addons.text.crf", **_FUNCTIONS)
_module("tensorflow_addons.text.crf_wrapper", CRFModelWrapper=linear_chain.CRFModel)
_module("tensorflow_addons.layers")
_module("tensorflow_addons.layers.crf", CRF=linear_chain.FourOutputs)
_module("tensorflow_addons", text=_text)
