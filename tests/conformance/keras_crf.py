"""Stands in for `keras_crf`, the package of keras-crf: a pytest plugin."""

from __future__ import annotations

import sys
from types import ModuleType

from tests.conformance.linear_chain import CRFModel

module = sys.modules["keras_crf"] = ModuleType("keras_crf")
module.__path__ = []
module = sys.modules["keras_crf.crf_model"] = ModuleType("keras_crf.crf_model")
module.CRFModel = CRFModel
