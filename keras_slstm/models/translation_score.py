"""Scores of translations: BLEU (extra: `translation`) and the fraction of exact matches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import keras

from keras_slstm.extras import require


class TranslationScores(NamedTuple):
    """Scores of translations against references.

    Attributes:
        bleu: BLEU of the corpus by sacrebleu, 0 to 100.
        exact: The fraction of translations that equal the reference.
        signature: Describes how BLEU was computed, for publication.
    """

    bleu: float
    exact: float
    signature: str


def score_translations(translations: Sequence[str], references: Sequence[str]) -> TranslationScores:
    """Compare translations with one reference per translation.

    Raises:
        ImportError: If sacrebleu is not installed.
        ValueError: If the numbers of translations and references differ, or are 0.
    """
    if len(translations) != len(references) or not references:
        counts = f"{len(translations)} translations and {len(references)} references"
        raise ValueError(f"Pass one reference per translation, not {counts}.")
    metric = require("sacrebleu.metrics", "translation").BLEU()
    bleu = metric.corpus_score(list(translations), [list(references)]).score
    exact = sum(one == other for one, other in zip(translations, references)) / len(references)
    return TranslationScores(bleu, exact, str(metric.get_signature()))


class TranslationScore(keras.callbacks.Callback):
    """Translates development texts after each epoch, and adds `val_bleu` and `val_exact` to Keras' logs.

    The history and later callbacks in the list, such as that of a `TrainingRun`, receive both.

    Args:
        sources: The texts.
        references: Their translations.
        beam: Beam size. 1 is several times faster than the 5 or 10 used for final translations.
        batch_size: Texts per batch.

    Example:

    ```python
    score = TranslationScore(corpus.validation.sources, corpus.validation.targets)
    model.fit(corpus.train.sources, corpus.train.targets, epochs=5, callbacks=[score])
    ```
    """

    def __init__(self, sources: Sequence[str], references: Sequence[str], beam: int = 1, batch_size: int = 64):
        super().__init__()
        self.sources = sources
        self.references = references
        self.beam = beam
        self.batch_size = batch_size

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        logs = {} if logs is None else logs
        model = self.model  # on JAX, this access synchronises the weights
        found = model.translate(self.sources, beam=self.beam, batch_size=self.batch_size)
        logs["val_bleu"], logs["val_exact"], _ = score_translations(found, self.references)
