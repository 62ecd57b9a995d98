"""A short hash of data, for the settings of a training run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def fingerprint(*columns: Iterable[str]) -> str:
    """A short hash of texts and labels. In the `settings` of a run, it prevents resuming with other data."""
    digest = hashlib.sha256()
    for column in columns:
        for value in column:
            digest.update(value.encode("utf-8", "surrogatepass") + b"\0")
        digest.update(b"\1")
    return digest.hexdigest()[:16]
