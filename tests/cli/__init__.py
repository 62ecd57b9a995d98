"""Tests of the commands. They do not depend on the backend, so they run on the backend that starts fastest."""

import pytest

pytestmark = [pytest.mark.backends("torch")]
