"""TFDS builder of the reviews in sixteen domains of Liu, Qiu and Huang."""

from __future__ import annotations

from pathlib import Path

import tensorflow_datasets as tfds

from keras_slstm.datasets.builders.original_files import (
    Examples,
    Files,
    OriginalFilesBuilder,
    Originals,
    check_count,
    published_lines,
)
from keras_slstm.errors import DataError

SOURCE = "https://raw.githubusercontent.com/ccsasuke/man/7ac8140b0bb561ac256cea439116b0d59bed5684/data/fdu-mtl"
# The domains in the order of the papers' tables, and the lines of their training files.
TRAINING_LINES = {
    "books": 1600,
    "electronics": 1598,
    "dvd": 1600,
    "kitchen_housewares": 1600,
    "apparel": 1600,
    "camera_photo": 1597,
    "health_personal_care": 1600,
    "music": 1600,
    "toys_games": 1600,
    "video": 1600,
    "baby": 1500,
    "magazines": 1570,
    "software": 1515,
    "sports_outdoors": 1600,
    "imdb": 1600,
    "mr": 1600,
}
DOMAINS = tuple(TRAINING_LINES)
POLARITIES = {"0": "neg", "1": "pos"}
FILES = {
    f"{domain}.{part}": f"{'MR' if domain == 'mr' else domain}.task.{part}"
    for domain in DOMAINS
    for part in ("train", "test")
}


class FduMtl(OriginalFilesBuilder):
    """Reviews of sixteen domains (FDU-MTL, "Amazon-16"): a configuration for each, and `all` of them together.

    A domain has 1,400 training reviews (some slightly fewer), 200 for development and 400 for testing. The files have
    no development part; the last 200 lines of the training file serve as one, which gives the sizes in the papers. The
    feature `domain` names the domain of a review.

    The texts are tokenised and lower-cased. They contain characters, such as U+0085, at which `str.splitlines` would
    split them.
    """

    BUILDER_CONFIGS = [
        tfds.core.BuilderConfig(name="all", description="All sixteen domains."),
        *(tfds.core.BuilderConfig(name=domain, description=f"The domain {domain}.") for domain in DOMAINS),
    ]
    TRAINING_LINES = TRAINING_LINES  # of each domain, including the development part
    DEVELOPMENT_LINES = 200
    TEST_LINES = 400
    LABELS = tuple(POLARITIES.values())
    ORIGINALS = (
        Originals(
            names=FILES,
            folders=("fdu_mtl", "fdu-mtl"),
            source={role: f"{SOURCE}/{name}" for role, name in FILES.items()},
        ),
    )

    @property
    def _domains(self) -> tuple[str, ...]:
        config = self.builder_config.name
        return DOMAINS if config == "all" else (config,)

    def _originals(self) -> tuple[Originals, ...]:
        (every,) = self.ORIGINALS
        names = {role: name for role, name in every.names.items() if role.partition(".")[0] in self._domains}
        return (Originals(names, every.folders, every.source),)

    def _features(self) -> dict[str, tfds.features.FeatureConnector]:
        return super()._features() | {"domain": tfds.features.ClassLabel(names=list(DOMAINS))}

    def _read(self, files: Files) -> dict[str, Examples]:
        splits: dict[str, Examples] = {"train": {}, "validation": {}, "test": {}}
        for domain in self._domains:
            training = self._read_file(files[f"{domain}.train"], domain, self.TRAINING_LINES[domain])
            test = self._read_file(files[f"{domain}.test"], domain, self.TEST_LINES)
            for index, example in enumerate(training):
                split = "train" if index < len(training) - self.DEVELOPMENT_LINES else "validation"
                splits[split][f"{domain}_{index}"] = example
            splits["test"] |= {f"{domain}_{index}": example for index, example in enumerate(test)}
        return splits

    def _read_file(self, path: Path, domain: str, expected: int) -> list[dict[str, str]]:
        examples = []
        for number, line in enumerate(published_lines(path), start=1):
            polarity, _, text = line.partition("\t")
            if polarity not in POLARITIES or not text.strip():
                raise DataError(path, number, f"expected the label 0 or 1, a tab and a text, found {line[:60]!r}")
            examples.append({"text": text.strip(), "label": POLARITIES[polarity], "domain": domain})
        check_count(path, len(examples), len(examples), expected, "reviews")
        return examples
