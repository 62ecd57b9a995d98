"""Data sets are no tensors: one backend shows it all."""

import pytest

pytestmark = [pytest.mark.backends("tensorflow")]
