"""Reading blocks of tab-separated files equals reading them line by line."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_slstm.datasets.column_blocks import is_tab_separated, tab_separated_blocks
from keras_slstm.datasets.readers import text_columns
from keras_slstm.datasets.records import iterate_columns
from keras_slstm.errors import DataError

pytestmark = pytest.mark.backends("torch")  # no tensors

_LINES = st.sampled_from(
    ["a\tx\t1", "b\t\t2", "é c\ty\t3", "", "\t\t", " \tx\ty", "d\tx", "e\tx\ty\tz", "f\tx\t4\r", "g\tx\t "]
)


def _found(path, read):
    """The rows and the warnings, or the error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            rows = read(path)
        except DataError as error:
            return str(error)
    return rows, [str(warning.message) for warning in caught]


def _in_blocks(size, on_error):
    def read(path):
        rows = []
        for _, lines, columns in tab_separated_blocks(path, text_columns(), on_error, size):
            assert len(lines) <= size
            rows += [(line, list(values)) for line, *values in zip(lines, *columns, strict=True)]
        if not rows:
            raise DataError(path, 1, "the file contains no examples")
        return rows

    return read


@given(lines=st.lists(_LINES, max_size=12), size=st.integers(1, 4), on_error=st.sampled_from(["raise", "skip"]))
@settings(max_examples=200, deadline=None)
def test_rows_warnings_and_errors_equal_those_of_single_lines(tmp_path_factory, lines, size, on_error):
    path = tmp_path_factory.getbasetemp() / "blocks.tsv"
    path.write_bytes("\n".join(["text\tother\tlabel", *lines]).encode())
    expected = _found(path, lambda path: list(iterate_columns(path, text_columns(), on_error)))
    assert _found(path, _in_blocks(size, on_error)) == expected


def test_an_error_names_the_line_that_is_not_utf_8(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_bytes(b"text\tlabel\na\tx\n\xff\tx\nb\ty\n")
    with pytest.raises(DataError, match=r"a\.tsv:3: not UTF-8"):
        _in_blocks(4, "raise")(path)
    with pytest.warns(UserWarning, match="left out: 1"):
        assert _in_blocks(4, "skip")(path) == [(2, ["a", "x"]), (4, ["b", "y"])]


def test_parts_share_the_blocks(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("text\tlabel\n" + "".join(f"t{i}\tx\n" for i in range(10)))
    parts = [list(tab_separated_blocks(path, text_columns(), "raise", 2, part, 3)) for part in range(3)]
    assert [[number for number, *_ in part] for part in parts] == [[0, 3], [1, 4], [2]]
    assert sorted(line for part in parts for _, lines, _ in part for line in lines) == list(range(2, 12))


def test_only_tab_separated_files_are_read_in_blocks(tmp_path):
    for name, separator, expected in (("a.tsv", "\t", True), ("b.tsv", ",", False), ("c.txt", "\t", False)):
        (tmp_path / name).write_text(f"text{separator}label\na{separator}b\n")
        assert is_tab_separated(tmp_path / name, text_columns()) is expected
