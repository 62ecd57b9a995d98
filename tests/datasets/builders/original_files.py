"""Helpers for tests of builders that read original files: block the network, write small files, prepare, read."""

from __future__ import annotations

import gzip
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest


def refuse_network(monkeypatch: pytest.MonkeyPatch) -> None:
    import tensorflow_datasets as tfds

    def refuse(*args, **kwargs):
        raise urllib.error.URLError("no network")

    def fail(*args, **kwargs):
        raise AssertionError("a download was started")  # TFDS would retry it for minutes

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    monkeypatch.setattr(tfds.download.DownloadManager, "download_and_extract", fail)


def write(path: Path, lines: list[str], encoding: str = "utf-8") -> Path:
    """Write lines, gzip-compressed if the name ends in .gz."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = "".join(line + "\n" for line in lines).encode(encoding)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def prepare(builder_class: type, data_dir: Path, manual_dir: Path | None, config: str | None = None) -> Any:
    import tensorflow_datasets as tfds

    builder = builder_class(config=config, data_dir=data_dir)
    builder.download_and_prepare(
        download_config=tfds.download.DownloadConfig(manual_dir=manual_dir), file_format="array_record"
    )
    return builder


def rows(builder: Any, split: str, *columns: str) -> list[tuple[str, ...]]:
    """Return the sorted rows of a split: the label's name, then the columns."""
    names = builder.info.features["label"].names
    source = builder.as_data_source(split=split)
    return sorted((names[row["label"]], *(row[column].decode() for column in columns or ("text",))) for row in source)
