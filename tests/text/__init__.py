"""Tests of texts and batches. They do not depend on the backend, so one backend suffices."""

import pytest

pytestmark = [pytest.mark.backends("tensorflow")]
