"""The search of a translation model (`Seq2Seq`) as a separate model, so that Keras compiles it."""

from __future__ import annotations

from typing import Any, NamedTuple

from keras import ops

from keras_slstm.models.part_model import PartModel
from keras_slstm.ops.beam_search import Ids, beam_search
from keras_slstm.text.subword_vectorizer import END_ID, START_ID
from keras_slstm.text.vocabulary import PADDING_ID
from keras_slstm.types import Tensor
from keras_slstm.validation import check_integer, check_non_negative, check_optional_integer


class Search(NamedTuple):
    """Options of the search; see `Seq2Seq.translate`."""

    beam: int
    length_penalty: float
    max_length: int | None

    def check(self) -> None:
        """Raise ValueError if an option is out of range."""
        check_integer("beam", self.beam, 1)
        check_optional_integer("max_length", self.max_length, 1)
        check_non_negative("length_penalty", self.length_penalty)


class Searches:
    """The searches of a model, each compiled once.

    Keras must not track them as parts of the model, because each of them contains the model.
    """

    def __init__(self, model: Any):
        self._model = model
        self._made: dict[Search, SearchModel] = {}

    def get(self, search: Search) -> SearchModel:
        """Return the model that searches with these options."""
        if search not in self._made:
            search.check()
            self._made[search] = SearchModel(self._model, search)
        return self._made[search]

    def clear(self) -> None:
        """Drop all searches."""
        self._made.clear()


class SearchModel(PartModel):
    """Maps source ids, `(batch, time)`, to the best translations, `(batch, longest)`, and their scores."""

    def __init__(self, model: Any, search: Search):
        super().__init__(model, name="search")
        self.search = search

    def call(self, source: Tensor) -> tuple[Tensor, Tensor]:
        model, search = self.model, self.search
        vectors, states, mask = model.encode(source)
        memory = model.decoder.remember(vectors, mask)

        def step(last: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
            x, states = model.decoder.step(model.target_embedding(last), states, memory)
            return ops.log_softmax(model.head(x), axis=-1), states

        if search.max_length is None:
            lengths = ops.sum(ops.cast(mask, "int32"), axis=1)
            limits, longest = 2 * lengths + 10, 2 * ops.shape(source)[1] + 10
        else:
            limits, longest = ops.full((ops.shape(source)[0],), search.max_length, dtype="int32"), search.max_length
        return beam_search(
            step,
            model.decoder.first_states(ops.shape(source)[0], states),
            limits,
            longest,
            Ids(model.head.units, PADDING_ID, START_ID, END_ID),
            search.beam,
            search.length_penalty,
            model.head.compute_dtype,
        )
