import pytest

from keras_slstm.printable import printable


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("plain $x$ été 日本 👩\u200d🚀", "plain $x$ été 日本 👩\u200d🚀"),
        ("two\nlines\r\n", r"two\nlines\r\n"),
        ("a\tb", r"a\tb"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("a\u2028b\u2029c\x85d", r"a\u2028b\u2029c\x85d"),
        ("\ud800", r"\ud800"),
        ("\u202egnp", r"\u202egnp"),
        ("", ""),
    ],
)
def test_one_line_without_control_characters(text, written):
    assert printable(text) == written
    assert len(written.splitlines()) <= 1
