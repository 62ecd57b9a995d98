"""The Multi-Genre Natural Language Inference corpus as a TFDS data set."""

from __future__ import annotations

import tensorflow_datasets as tfds

from keras_slstm.datasets.builders._inference import InferencePairs
from keras_slstm.datasets.builders._manual import Originals

PARTS = {"matched": 9815, "mismatched": 9832}


class MultiNli(InferencePairs):
    """MultiNLI: 392,702 training pairs of a premise and a hypothesis, from ten genres; three labels.

    | configuration | train | test |
    | --- | --- | --- |
    | `matched`: genres of the training part | 392,702 | 9,815 |
    | `mismatched`: other genres | 392,702 | 9,832 |
    | `matched_only`, `mismatched_only` | | 9,815 / 9,832 |

    The labels of the real test parts are not published. What is the split `test` here is the development part that the
    configuration is named after, which is what most papers report; choose models by pairs that you draw from the
    training part (as `load_pair_corpus` does). The configurations `..._only` are for testing a model that was trained
    on other pairs, such as those of SNLI.

    Read are the published JSON lines (`multinli_1.0_train.jsonl` ...), or `train.tsv`, `dev_matched.tsv` and
    `dev_mismatched.tsv` with label, premise and hypothesis in columns and no quoting.

    TFDS itself has a set named `multi_nli`. This one is therefore named `multi_nli_original` in TFDS;
    `load_pair_corpus("multi_nli/matched")` takes it.

    Example:

    ```python
    builder = MultiNli(config="matched", data_dir="~/tensorflow_datasets")
    builder.download_and_prepare(download_config=tfds.download.DownloadConfig(manual_dir="~/multinli_1.0"))
    pairs = builder.as_dataset(split="train")
    ```
    """

    name = "multi_nli_original"
    BUILDER_CONFIGS = [
        tfds.core.BuilderConfig(name=name, description=description)
        for name, description in (
            ("matched", "Tested on the genres of the training part."),
            ("mismatched", "Tested on other genres."),
            ("matched_only", "The matched development part alone."),
            ("mismatched_only", "The mismatched development part alone."),
        )
    ]
    TRAINING_PAIRS = 392_702
    TEST_PAIRS = PARTS
    FORMS = (
        ("multinli_1.0_{}.jsonl", "https://cims.nyu.edu/~sbowman/multinli/multinli_1.0.zip"),
        ("{}.tsv", None),
    )
    ORIGINALS = tuple(
        Originals(
            names={part: form.format(part) for part in ("train", "dev_matched", "dev_mismatched")},
            folders=("multi_nli", "multinli", "multinli_1.0"),
            source=source,
        )
        for form, source in FORMS
    )
    DESCRIPTION = "Pairs of a premise and a hypothesis of several genres, by what the one says about the other."
    HOMEPAGE = "https://cims.nyu.edu/~sbowman/multinli/"
    CITATION = """@inproceedings{williams-etal-2018-broad,
  title = {A Broad-Coverage Challenge Corpus for Sentence Understanding through Inference},
  author = {Williams, Adina and Nangia, Nikita and Bowman, Samuel},
  booktitle = {Proceedings of NAACL-HLT},
  year = {2018},
}"""

    @property
    def _part(self) -> str:
        return self.builder_config.name.removesuffix("_only")

    def _originals(self) -> tuple[Originals, ...]:
        roles = {"train": "train", "test": f"dev_{self._part}"}
        if self.builder_config.name.endswith("_only"):
            del roles["train"]
        return tuple(
            Originals({role: each.names[part] for role, part in roles.items()}, each.folders, each.source)
            for each in self.ORIGINALS
        )

    def _pairs_of(self, split: str) -> int:
        return self.TRAINING_PAIRS if split == "train" else self.TEST_PAIRS[self._part]
