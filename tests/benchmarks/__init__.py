"""Tests of tables and figures. They do not depend on the backend, so one backend is enough."""

import pytest

pytestmark = [pytest.mark.backends("tensorflow")]
