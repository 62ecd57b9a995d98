"""The test files and layers of other libraries, the stand-ins for them, and the tests that do not apply here."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path

from tests.__main__ import BACKENDS
from tests.processes import run_python

# The folder of the fetched files.
FOLDER = Path(os.environ.get("KERAS_SLSTM_FOREIGN_TESTS", Path.home() / ".cache" / "keras_slstm" / "foreign_tests"))


@dataclass(frozen=True)
class ForeignFile:
    """A file of another CRF library.

    Attributes:
        name: Name of the library.
        repository: Its repository on GitHub.
        commit: The commit of the file.
        path: The file.
        distribution: A source distribution of the package index that has the same file, as `name==version`.
    """

    name: str
    repository: str
    commit: str
    path: str
    distribution: str = ""

    @property
    def url(self) -> str:
        return f"https://raw.githubusercontent.com/{self.repository}/{self.commit}/{self.path}"

    def file(self, folder: Path = FOLDER) -> Path:
        return folder / self.repository / self.commit / self.path

    def fetch(self, folder: Path = FOLDER) -> Path:
        """Download the file if it is missing, from the package index if that has it."""
        file = self.file(folder)
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            content = self._from_index() if self.distribution else self._from_repository()
            part = file.with_suffix(".part")
            part.write_bytes(content)
            part.replace(file)
        return file

    def _from_repository(self) -> bytes:
        with urllib.request.urlopen(self.url) as response:
            return response.read()

    def _from_index(self) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
            subprocess.run([*pip, "--dest", folder, self.distribution], check=True)
            (archive,) = Path(folder).iterdir()
            with tarfile.open(archive) as files:
                member = files.extractfile(f"{archive.name.removesuffix('.tar.gz')}/{self.path}")
                assert member is not None
                return member.read()


@dataclass(frozen=True)
class Suite:
    """Test files of another library, and the module that replaces what they import.

    Attributes:
        name: Name of the library and of the tested part.
        adapter: The pytest plugin that stands in for the library.
        files: The test files: instances of `ForeignFile`, or installed modules.
        backends: The backends that the tests can run on.
        not_applicable: Patterns of test names, with the reason why they are excluded.
        elsewhere: The same, for backends other than TensorFlow.
    """

    name: str
    adapter: str
    files: tuple[ForeignFile | str, ...]
    backends: tuple[str, ...] = BACKENDS
    not_applicable: dict[str, str] = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)

    def paths(self) -> list[Path]:
        return [_installed(file) if isinstance(file, str) else file.file() for file in self.files]

    def missing(self) -> list[Path]:
        """Return the missing test files."""
        return [path for path in self.paths() if not path.exists()]

    def patterns(self, backend: str) -> dict[str, str]:
        return self.not_applicable if backend == "tensorflow" else {**self.not_applicable, **self.elsewhere}

    def reason(self, test: str, backend: str) -> str | None:
        """Return the reason why a test does not apply, or None."""
        return next((why for pattern, why in self.patterns(backend).items() if re.search(pattern, test)), None)

    def run(self, backend: str, report: Path) -> dict[str, str]:
        """Run the tests in a separate process, and return "passed", "skipped", "failed" or "error" for each."""
        done = run_python(
            *("-m", "pytest", "-q", "-p", f"tests.conformance.{self.adapter}", "-p", "no:cacheprovider"),
            *("--noconftest", "-o", "addopts=", f"--junit-xml={report}"),
            f"--rootdir={report.parent}",
            *self.paths(),
            KERAS_BACKEND=backend,
            limit=3600.0,  # JAX compiles for minutes
            folder=report.parent,  # some tests write files
        )
        if not report.exists():
            raise RuntimeError(f"The tests of {self.name} did not run:\n{done.stdout}\n{done.stderr}")
        outcomes = {}
        for case in ET.parse(report).iter("testcase"):
            name = f"{case.get('classname', '').split('.')[-1]}.{case.get('name')}"
            found = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
            outcomes[name] = {"failure": "failed"}.get(found[0], found[0]) if found else "passed"
        return outcomes


def _installed(module: str) -> Path:
    """Return the file of an installed module without importing it; its parent packages are imported."""
    spec = importlib.util.find_spec(module)
    return Path(module) if spec is None or spec.origin is None else Path(spec.origin)


def _files(name: str, repository: str, commit: str, *paths: str, distribution: str = "") -> tuple[ForeignFile, ...]:
    return tuple(ForeignFile(name, repository, commit, path, distribution) for path in paths)


_SAVED = "Keras 3 cannot save models in TensorFlow's format"
_ADDONS = "tensorflow-addons", "tensorflow/addons", "d208d752e98c310280938efa939117bf635a60a8"
_CONTRIB = "keras-contrib", "keras-team/keras-contrib", "3fc5ef709e061416f4bc8a92ca3750c824b5d2b0"
_TF2CRF = "tf2crf", "xuxingya/tf2crf", "348e63799f51ac59dae13fd5100f67ee620d5eaf"
_KERAS_CRF = "keras-crf", "luozhouyang/keras-crf", "bb72535e779ed5cd45957a617ce03f17a92e6cbe"
_KERAS3_CRF = "keras3-crf", "homfunc/keras3-crf", "f03e2f8a6dca7f50abbf592d8320afaaa82f2d87"
_KERAS3_TESTS = (
    *("backend_quick_smoke", "core_compat", "crf_marginals", "crf_ops", "dynamic_time_tf", "dynamic_time_training"),
    *("kops_core", "layers", "losses_api", "ragged", "smoke", "text", "tf_scan_repro"),
)
SUITES = [
    Suite(
        "pytorch-crf",
        "pytorch_crf",
        _files("pytorch-crf", "kmkurn/pytorch-crf", "623e3402d00a2728e99d6e8486010d67c754267b", "tests/test_crf.py"),
        not_applicable={"TorchScript": "TorchScript compiles the code of pytorch-crf itself"},
    ),
    Suite(
        "AllenNLP",
        "allennlp",
        _files(
            "AllenNLP",
            "allenai/allennlp",
            "80fb6061e568cb9d6ab5d45b661e86eb61b92c82",
            "tests/modules/conditional_random_field_test.py",
        ),
    ),
    Suite(
        "tensorflow-addons, functions",
        "addons",
        _files(*_ADDONS, "tensorflow_addons/text/tests/crf_test.py"),
        not_applicable={
            "decode_save_load": "the saved model refers to an internal class of tensorflow-addons",
            "decode_forward_mask": "tests an internal decoding step of tensorflow-addons",
        },
        elsewhere={"tf_function": "runs in a TensorFlow graph"},
    ),
    Suite(
        "tensorflow-addons, layer",
        "addons",
        _files(*_ADDONS, "tensorflow_addons/layers/tests/crf_test.py"),
        ("tensorflow",),
        {"left_padding": "tensorflow-addons refuses padding on the left, which works here", "serialization": _SAVED},
    ),
    Suite(
        "tensorflow-addons, wrapper",
        "addons",
        _files(*_ADDONS, "tensorflow_addons/text/tests/crf_wrapper_test.py"),
        not_applicable={"serialization": _SAVED},
    ),
    Suite("keras-contrib", "keras_contrib", _files(*_CONTRIB, "tests/keras_contrib/layers/test_crf.py")),
    Suite(
        "keras-crf",
        "keras_crf",
        _files(*_KERAS_CRF, "tests/crf_model_test.py", distribution="keras-crf==0.3.0"),
    ),
    Suite(
        "tf2crf",
        "tf2crf",
        _files(*_TF2CRF, "tests/test.py"),
        ("tensorflow",),
        {
            "inference": "Keras 3 does not accept a list of numbers as a batch",
            "mixed_precison": "imports a module that TensorFlow removed",
            "save_model": _SAVED,
        },
    ),
    Suite(
        "keras3-crf",
        "keras3_crf",
        _files(*_KERAS3_CRF, *(f"tests/test_{name}.py" for name in _KERAS3_TESTS)),
        not_applicable={"compatibility": "the test skips itself: it compares with an unpublished package"},
    ),
    Suite(
        "Keras, LSTM",
        "keras_lstm",
        ("keras.src.layers.rnn.lstm_test",),
        not_applicable={"masking": "outputs at masked positions are 0 here; Keras repeats the previous output"},
    ),
    Suite(
        "Keras, Bidirectional",
        "keras_lstm",
        ("keras.src.layers.rnn.bidirectional_test",),
        not_applicable={"cudnn|fused_(lstm|gru_eligibility)": "cuDNN supports only LSTM and GRU"},
    ),
]
# Layers of Keras 2 that create weights for `foreign_weights`.
LAYERS = [
    ForeignFile("DeLFT", "kermitt2/delft", "1e8e64a5a496ce602644c3193a75bf96674200b1", "delft/utilities/crf_layer.py"),
    ForeignFile(*_CONTRIB, "keras_contrib/layers/crf.py"),
    ForeignFile(*_TF2CRF, "tf2crf/crf.py"),
    ForeignFile(*_KERAS_CRF, "keras_crf/crf_model.py"),
    # Releases differ from the last commits: this CRF has boundary scores.
    ForeignFile("tf2crf 0.1.32", "xuxingya/tf2crf", "0.1.32", "tf2crf/crf.py", "tf2crf==0.1.32"),
    ForeignFile("keras-crf 0.3.0", "luozhouyang/keras-crf", "0.3.0", "keras_crf/crf_model.py", "keras-crf==0.3.0"),
]
