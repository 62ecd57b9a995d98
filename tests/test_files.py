"""Atomic file writes."""

from __future__ import annotations

import pytest

from keras_slstm.files import complete_file

pytestmark = pytest.mark.backends("torch")  # uses no tensors


def test_two_writers_of_a_file_do_not_mix(tmp_path):
    path = tmp_path / "best.keras"
    with complete_file(path) as slow:
        slow.write_text("slow")
        with complete_file(path) as fast:  # as of a process with the same number in another container
            fast.write_text("fast")
        assert path.read_text() == "fast"
    assert path.read_text() == "slow"
    assert list(tmp_path.iterdir()) == [path]
