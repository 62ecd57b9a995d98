"""Data whose training examples all have the same label."""

from __future__ import annotations

import pytest

from keras_slstm.cli.main import main

HEADERS = {"classify": "text\tlabel", "match": "text_a\ttext_b\tlabel", "search": "text\tlabel"}


@pytest.mark.parametrize(
    ("command", "streamed"),
    [("classify", False), ("classify", True), ("match", False), ("match", True), ("search", False)],
)
def test_the_error_names_the_file_and_the_label(command, streamed, tmp_path, capsys):
    file = tmp_path / "mails.tsv"
    texts = ["a first text", "a second one"][: HEADERS[command].count("\t")]
    file.write_text("\n".join([HEADERS[command], *["\t".join([*texts, "spam"])] * 12]) + "\n", encoding="utf-8")
    options = ["--task", "classification"] if command == "search" else []
    if streamed:
        options += ["--stream", "--dev-data", str(file), "--test-data", str(file)]
    assert main([command, "--data", str(file), "--output", str(tmp_path / "run"), *options]) == 2
    error = f"{file}: every training example has the label 'spam': two labels are needed"
    assert capsys.readouterr().err.strip() == error
