"""The scripts know nothing of backends: they run on the one that starts the fastest."""

import pytest

pytestmark = [pytest.mark.backends("torch")]
