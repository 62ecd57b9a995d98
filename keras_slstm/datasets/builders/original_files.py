"""Base class of the TFDS builders that read the original files of published data sets."""

from __future__ import annotations

import hashlib
import tomllib
import urllib.request
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import tensorflow_datasets as tfds

from keras_slstm.datasets.readers import PathLike
from keras_slstm.errors import DataError
from keras_slstm.text.lines import raw_lines

Files = dict[str, Path]  # the file of each role
DATA_SETS = tomllib.loads(resources.files(__package__).joinpath("data_sets.toml").read_text(encoding="utf-8"))
Examples = dict[str, dict[str, Any]]  # examples by key; TFDS shuffles a split by its keys


@dataclass(frozen=True)
class Originals:
    """The original files of a data set: their names and their source.

    Args:
        names: The file of each role, e.g. `{"train": "train_5500.label", "test": "TREC_10.label"}`. A name
            may begin with a folder of the archive: `"trees/train.txt"`.
        folders: Folders of `manual_dir` that are searched before `manual_dir` itself.
        source: URL of an archive with the files, or for each role the URL of its file or of an archive with it. None:
            the files cannot be downloaded directly.
        remark: A sentence on how to get the files, if the source is not enough.
    """

    names: Mapping[str, str]
    folders: Sequence[str]
    source: str | Mapping[str, str] | None = None
    remark: str = ""

    def find(self, folder: PathLike) -> Files:
        """Find the files, plain or with `.gz` appended, in the folder that has most of them."""
        places = [Path(folder).expanduser() / inside for inside in (*self.folders, "")]
        return max((self._files_in(place) for place in places), key=len)

    def missing(self, files: Files) -> list[str]:
        """The names of the files that were not found."""
        return [name for role, name in self.names.items() if role not in files]

    def how_to_get(self) -> str:
        """Say which files are needed, and where to put them."""
        folders = " or ".join(f"{folder}/" for folder in self.folders)
        lines = [
            f"Put {_enumerate(self.names.values())} (plain, or gzip-compressed and named .gz) into `manual_dir`, "
            f"or into a folder {folders} in it."
        ]
        if isinstance(self.source, str):
            lines.append(f"They are in the archive {self.source}")
        elif self.source:
            lines.append(f"They come from {_enumerate(self.source[role] for role in self.names)}")
        return "\n".join(lines + [self.remark] * bool(self.remark))

    def _files_in(self, place: Path) -> Files:
        files = {}
        for role, name in self.names.items():
            plain = place / name
            for path in (plain.with_name(plain.name + ".gz"), plain):
                if path.is_file():
                    files[role] = path
        return files


def originals_of(name: str, kind: str = "originals") -> tuple[Originals, ...]:
    """The original files of a data set, in order of preference, as `data_sets.toml` lists them."""
    found = []
    for entry in DATA_SETS[name][kind]:
        source = entry.get("source")
        if isinstance(source, str) and "{}" in source:
            source = {role: source.format(file) for role, file in entry["names"].items()}
        found.append(Originals(entry["names"], tuple(entry["folders"]), source, entry.get("remark", "")))
    return tuple(found)


class OriginalFilesBuilder(tfds.core.GeneratorBasedBuilder, skip_registration=True):  # type: ignore[call-arg]
    """Base class of the data sets that are read from original files.

    The files are taken from `manual_dir` if they are there, and downloaded otherwise. `data_sets.toml` lists them with
    the description of the data set (`ORIGINALS`, in order of preference: the first is downloaded), and a subclass
    implements `_read`. Data that was prepared from other files than those in `manual_dir` is rejected.
    """

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "First release."}
    ORIGINALS: tuple[Originals, ...] = ()
    LABELS: Sequence[str] = ()
    DESCRIPTION = ""
    HOMEPAGE = ""
    CITATION = ""
    SUPERVISED_KEYS = ("text", "label")

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        entry = DATA_SETS.get(cls.name, {})
        for key in ("description", "homepage", "citation"):
            setattr(cls, key.upper(), entry.get(key, ""))
        if "originals" in entry:
            cls.ORIGINALS = originals_of(cls.name)
        cls.MANUAL_DOWNLOAD_INSTRUCTIONS = _how_to_get(cls.ORIGINALS)

    @abstractmethod
    def _read(self, files: Files) -> dict[str, Examples]:
        """Read the examples of each split.

        Raises:
            DataError: If a file is malformed, or does not have the number of examples of the data set.
        """

    def _originals(self) -> tuple[Originals, ...]:
        """The files that the chosen configuration can be read from."""
        return self.ORIGINALS

    def _features(self) -> dict[str, Any]:
        return {"text": tfds.features.Text(), "label": tfds.features.ClassLabel(names=list(self.LABELS))}

    def _supervised_keys(self) -> tuple[Any, Any]:
        return self.SUPERVISED_KEYS

    def _info(self) -> tfds.core.DatasetInfo:
        return tfds.core.DatasetInfo(
            builder=self,
            description=self.DESCRIPTION,
            features=tfds.features.FeaturesDict(self._features()),
            supervised_keys=self._supervised_keys(),
            homepage=self.HOMEPAGE,
            citation=self.CITATION,
            metadata=tfds.core.MetadataDict(),
        )

    def download_and_prepare(
        self, *, download_config: tfds.download.DownloadConfig | None = None, **kwargs: Any
    ) -> None:
        """Prepare the data set, as every TFDS builder does.

        Raises:
            DataError: If a file is malformed.
            FileNotFoundError: If files are missing and cannot be downloaded; the message says where to put which files.
            ValueError: If the set was prepared from other files than those now in `manual_dir`.
        """
        config = download_config or tfds.download.DownloadConfig()
        reuse = self.data_path.exists() and not config.download_mode.overwrite_dataset
        files = self._find(config.manual_dir) if reuse and config.manual_dir else None
        if files and _fingerprint(files) != self.info.metadata.get("sha256"):
            raise ValueError(
                f"{self.data_path} was prepared from other files than those in {config.manual_dir}. "
                "Delete that folder, or prepare into another `data_dir`."
            )
        super().download_and_prepare(download_config=config, **kwargs)

    def _split_generators(self, dl_manager: tfds.download.DownloadManager) -> dict[str, Any]:
        try:
            manual_dir = dl_manager.manual_dir
        except AssertionError:  # raised by TFDS if the folder is missing or empty
            manual_dir = None
        files = (manual_dir and self._find(manual_dir)) or self._download(dl_manager, manual_dir)
        splits = self._read(files)
        self.info.metadata["sha256"] = _fingerprint(files)
        return {split: self._generate_examples(examples) for split, examples in splits.items()}

    def _generate_examples(self, examples: Examples) -> Iterator[tuple[str, dict[str, Any]]]:
        yield from examples.items()

    def _find(self, manual_dir: PathLike) -> Files | None:
        for originals in self._originals():
            files = originals.find(manual_dir)
            if not originals.missing(files):
                return files
        return None

    def _download(self, dl_manager: tfds.download.DownloadManager, manual_dir: PathLike | None) -> Files:
        originals = self._originals()[0]
        try:
            files = _download(originals, dl_manager)
        except Exception as error:  # no network, a proxy, a server that is down: the advice is the same for all
            found = originals.find(manual_dir) if manual_dir else {}
            missing = f" (missing: {_enumerate(originals.missing(found))})" if found else ""
            raise FileNotFoundError(
                f"The files of {self.name} are not in `manual_dir`{missing}, and could not be downloaded ({error}).\n"
                + _how_to_get(self._originals())
            ) from error
        if originals.missing(files):
            missing = _enumerate(originals.missing(files))
            raise FileNotFoundError(f"The archive {originals.source} does not contain {missing}.")
        return files


def published_lines(path: PathLike) -> list[str]:
    r"""Read the lines of a published file, which end at `\n` (or `\r\n`) and nowhere else.

    Each line may be in UTF-8 or in Windows-1252: some sets mix both in one file.

    Raises:
        DataError: If the file is empty, or a line is in neither encoding.
    """
    return [_decode(path, number, line) for number, line in raw_lines(path)]


def check_count(path: PathLike, line: int, found: int, expected: int, what: str) -> None:
    """Raise a `DataError` that names the last line, unless a file has the expected number of examples."""
    if found != expected:
        raise DataError(path, line, f"expected {expected:,} {what}, found {found:,}")


def _decode(path: PathLike, number: int, line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        pass
    try:
        return line.decode("cp1252")
    except UnicodeDecodeError as error:
        raise DataError(path, number, f"neither UTF-8 nor Windows-1252: byte {line[error.start]:#04x}") from error


def _download(originals: Originals, dl_manager: tfds.download.DownloadManager) -> Files:
    source = originals.source
    if source is None:
        raise FileNotFoundError("no URL is known")
    if isinstance(source, str):
        _reach(source)
        return originals.find(dl_manager.download_and_extract(source))
    _reach(next(iter(source.values())))  # all files are on one server
    paths = dl_manager.download_and_extract({role: source[role] for role in originals.names})
    files = {role: Path(path) for role, path in paths.items()}
    return {  # for an archive, the file inside it
        role: path / originals.names[role] if path.is_dir() else path for role, path in files.items()
    }


def _reach(address: str) -> None:
    """Fail at once on an offline machine, because TFDS retries a failing download for minutes."""
    urllib.request.urlopen(urllib.request.Request(address, method="HEAD"), timeout=30).close()


def _how_to_get(originals: Iterable[Originals]) -> str:
    return "\nOr: ".join(each.how_to_get() for each in originals)


def _enumerate(names: Iterable[str]) -> str:
    *first, last = names
    if len(first) > 8:
        return f"{first[0]}, {first[1]} ... {last} ({len(first) + 1} files)"
    return f"{', '.join(first)} and {last}" if first else last


def _fingerprint(files: Files) -> str:
    """A digest of the lines of all files, independent of encoding and compression."""
    digest = hashlib.sha256()
    for role, path in files.items():
        lines = [line.strip() for line in published_lines(path)]
        digest.update("\n".join([role, *lines, ""]).encode("utf-8"))
    return digest.hexdigest()
