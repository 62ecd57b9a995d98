"""The test files and layers of other CRFs, the stand-ins for their packages, and the tests that do not apply here."""

from __future__ import annotations

import os
import re
import urllib.request
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path

from tests.processes import run_python

# The folder of the fetched files.
FOLDER = Path(os.environ.get("KERAS_SLSTM_FOREIGN_TESTS", Path.home() / ".cache" / "keras_slstm" / "foreign_tests"))


@dataclass(frozen=True)
class ForeignFile:
    """A file of another CRF.

    Attributes:
        name: Name of the library.
        repository: Its repository on GitHub.
        commit: The commit of the file.
        path: The file.
    """

    name: str
    repository: str
    commit: str
    path: str

    @property
    def url(self) -> str:
        return f"https://raw.githubusercontent.com/{self.repository}/{self.commit}/{self.path}"

    def file(self, folder: Path = FOLDER) -> Path:
        return folder / self.repository / self.commit / self.path

    def fetch(self, folder: Path = FOLDER) -> Path:
        """Download the file, if it is not there."""
        file = self.file(folder)
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            with urllib.request.urlopen(self.url) as response:
                content = response.read()
            part = file.with_suffix(".part")
            part.write_bytes(content)
            part.replace(file)
        return file


@dataclass(frozen=True)
class Suite(ForeignFile):
    """A test file of another CRF.

    Attributes:
        adapter: The module that stands in for the library.
        backend: The backend that the tests need.
        not_applicable: Patterns of test names, with the reason why they are left out.
    """

    adapter: str
    backend: str
    not_applicable: dict[str, str] = field(default_factory=dict)

    def reason(self, test: str) -> str | None:
        """The reason why a test does not apply, or None."""
        return next((why for pattern, why in self.not_applicable.items() if re.search(pattern, test)), None)

    def run(self, report: Path, folder: Path = FOLDER) -> dict[str, str]:
        """Run the tests in a process of their own: "passed", "skipped", "failed" or "error" for each."""
        done = run_python(
            *("-m", "pytest", "-q", "-p", self.adapter, "-p", "no:cacheprovider", "--noconftest", "-o", "addopts="),
            f"--junit-xml={report}",
            f"--rootdir={self.file(folder).parent}",
            str(self.file(folder)),
            KERAS_BACKEND=self.backend,
        )
        if not report.exists():
            raise RuntimeError(f"The tests of {self.name} did not run:\n{done.stdout}\n{done.stderr}")
        outcomes = {}
        for case in ET.parse(report).iter("testcase"):
            name = f"{case.get('classname', '').split('.')[-1]}.{case.get('name')}"
            found = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
            outcomes[name] = {"failure": "failed"}.get(found[0], found[0]) if found else "passed"
        return outcomes


_SCRIPT = "TorchScript compiles the code of pytorch-crf itself"
SUITES = [
    Suite(
        "pytorch-crf",
        "kmkurn/pytorch-crf",
        "623e3402d00a2728e99d6e8486010d67c754267b",
        "tests/test_crf.py",
        "tests.conformance.pytorch_crf",
        "torch",
        {"TorchScript": _SCRIPT},
    ),
    Suite(
        "AllenNLP",
        "allenai/allennlp",
        "80fb6061e568cb9d6ab5d45b661e86eb61b92c82",
        "tests/modules/conditional_random_field_test.py",
        "tests.conformance.allennlp",
        "torch",
    ),
]
# Layers of Keras 2 that make weights for `foreign_weights`.
LAYERS = [
    ForeignFile("DeLFT", "kermitt2/delft", "1e8e64a5a496ce602644c3193a75bf96674200b1", "delft/utilities/crf_layer.py"),
    ForeignFile(
        "keras-contrib",
        "keras-team/keras-contrib",
        "3fc5ef709e061416f4bc8a92ca3750c824b5d2b0",
        "keras_contrib/layers/crf.py",
    ),
    ForeignFile("tf2crf", "xuxingya/tf2crf", "348e63799f51ac59dae13fd5100f67ee620d5eaf", "tf2crf/crf.py"),
    ForeignFile(
        "keras-crf", "luozhouyang/keras-crf", "bb72535e779ed5cd45957a617ce03f17a92e6cbe", "keras_crf/crf_model.py"
    ),
]
