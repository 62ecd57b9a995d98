"""TFDS builders of the corpora that this package generates without a network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple
from typing import Any

import tensorflow_datasets as tfds

from keras_slstm.datasets import office_notes, travel_desk


class TravelDesk(tfds.core.GeneratorBasedBuilder):
    """Requests to a travel desk with intents and BIO slots."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "First release."}

    def _info(self) -> tfds.core.DatasetInfo:
        return tfds.core.DatasetInfo(
            builder=self,
            description="Generated requests to a travel desk. Most also mention, in the same words, something that "
            "is not asked for: word order, scope and references decide the intent.",
            features=tfds.features.FeaturesDict(
                {
                    "text": tfds.features.Text(),
                    "tokens": tfds.features.Sequence(tfds.features.Text()),
                    "tags": tfds.features.Sequence(tfds.features.ClassLabel(names=travel_desk.TAGS)),
                    "label": tfds.features.ClassLabel(names=travel_desk.INTENTS),
                }
            ),
            supervised_keys=("text", "label"),
        )

    def _split_generators(self, dl_manager: tfds.download.DownloadManager) -> dict[str, Any]:
        splits = travel_desk.generate_splits()
        return {name: self._generate_examples(requests) for name, requests in splits.items()}

    def _generate_examples(self, requests: list[travel_desk.Request]) -> Iterator[tuple[int, dict[str, Any]]]:
        for key, r in enumerate(requests):
            yield key, {"text": r.text, "tokens": r.tokens, "tags": r.tags, "label": r.intent}


class OfficeNotesConfig(tfds.core.BuilderConfig):
    """Configuration that chooses the language in which numbers are spelled out."""


class OfficeNotes(tfds.core.GeneratorBasedBuilder):
    """Notes in English and German, full of dates, times and amounts.

    In `to_figures` (the default), English spells numbers out and German uses figures; `to_words` is the reverse.
    """

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "First release."}
    BUILDER_CONFIGS = [
        OfficeNotesConfig(name="to_figures", description="English numbers in words, German ones in figures."),
        OfficeNotesConfig(name="to_words", description="English numbers in figures, German ones in words."),
    ]

    def _info(self) -> tfds.core.DatasetInfo:
        return tfds.core.DatasetInfo(
            builder=self,
            description="Generated notes about appointments, journeys and payments. A number has several forms in "
            "English and one form in German.",
            features=tfds.features.Translation(languages=("en", "de")),
            supervised_keys=("en", "de"),
        )

    def _split_generators(self, dl_manager: tfds.download.DownloadManager) -> dict[str, Any]:
        splits = office_notes.generate_splits(task=self.builder_config.name)
        return {name: self._generate_examples(notes) for name, notes in splits.items()}

    def _generate_examples(self, notes: list[office_notes.Note]) -> Iterator[tuple[int, dict[str, str]]]:
        for key, note in enumerate(notes):
            yield key, dict(zip(("en", "de"), astuple(note)))
