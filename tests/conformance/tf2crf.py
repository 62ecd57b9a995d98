"""Stands in for `tf2crf`: a pytest plugin."""

from __future__ import annotations

import sys
from types import ModuleType

from tests.conformance.linear_chain import FourOutputs, ModelWithDiceLoss, ModelWithLoss


def CRF(units=None, **kwargs):
    """Without `units`, the inputs are label scores, of nine labels in the tests."""
    return FourOutputs(units or 9, use_kernel=units is not None, use_boundary=False, **kwargs)


module = sys.modules["tf2crf"] = ModuleType("tf2crf")
module.CRF = CRF
module.ModelWithCRFLoss = ModelWithLoss
module.ModelWithCRFLossDSCLoss = ModelWithDiceLoss
