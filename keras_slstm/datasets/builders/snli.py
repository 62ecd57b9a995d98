"""The Stanford Natural Language Inference corpus as a TFDS data set."""

from __future__ import annotations

import tensorflow_datasets as tfds

from keras_slstm.datasets.builders._inference import InferencePairs
from keras_slstm.datasets.builders._manual import Originals


class Snli(InferencePairs):
    """SNLI: whether the premise entails the hypothesis, contradicts it, or neither (`neutral`).

    | configuration | train | validation | test |
    | --- | --- | --- | --- |
    | `full` | 549,367 | 9,842 | 9,824 |
    | `subset` | what `train_subset.tsv` holds | 9,842 | 9,824 |

    Read are the published JSON lines (`snli_1.0_train.jsonl` ...), from which the pairs without a gold label are left
    out, or `train.tsv`, `dev.tsv` and `test.tsv` with label, premise and hypothesis in columns and no quoting. The
    configuration `subset` has a training part of your own choice in that form.

    TFDS itself has a set named `snli`, in which pairs without a label have the label -1. This one is therefore named
    `snli_original` in TFDS; `load_pair_corpus("snli")` takes it.

    Example:

    ```python
    builder = Snli(data_dir="~/tensorflow_datasets")
    builder.download_and_prepare(download_config=tfds.download.DownloadConfig(manual_dir="~/snli_1.0"))
    pairs = builder.as_dataset(split="train")
    ```
    """

    name = "snli_original"
    BUILDER_CONFIGS = [
        tfds.core.BuilderConfig(name="full", description="All pairs."),
        tfds.core.BuilderConfig(name="subset", description="A part of the training pairs: those of train_subset.tsv."),
    ]
    PAIRS = {"train": 549_367, "validation": 9842, "test": 9824}
    ORIGINALS = (
        Originals(
            names={split: f"snli_1.0_{part}.jsonl" for split, part in
                   (("train", "train"), ("validation", "dev"), ("test", "test"))},
            folders=("snli", "snli_1.0"),
            source="https://nlp.stanford.edu/projects/snli/snli_1.0.zip",
        ),
        Originals(names={"train": "train.tsv", "validation": "dev.tsv", "test": "test.tsv"}, folders=("snli",)),
    )  # fmt: skip
    SUBSET = (
        Originals(
            names={"train": "train_subset.tsv", "validation": "dev.tsv", "test": "test.tsv"},
            folders=("snli",),
            remark="Each line holds label, premise and hypothesis, separated by tabs.",
        ),
    )
    DESCRIPTION = "Pairs of a premise and a hypothesis, by what the one says about the other (SNLI 1.0)."
    HOMEPAGE = "https://nlp.stanford.edu/projects/snli/"
    CITATION = """@inproceedings{bowman-etal-2015-large,
  title = {A large annotated corpus for learning natural language inference},
  author = {Bowman, Samuel R. and Angeli, Gabor and Potts, Christopher and Manning, Christopher D.},
  booktitle = {Proceedings of EMNLP},
  year = {2015},
}"""

    @property
    def _is_subset(self) -> bool:
        return self.builder_config.name == "subset"

    def _originals(self) -> tuple[Originals, ...]:
        return self.SUBSET if self._is_subset else self.ORIGINALS

    def _pairs_of(self, split: str) -> int | None:
        return None if self._is_subset and split == "train" else self.PAIRS[split]
