"""Histograms of the vertical gates of a trained CAS-LSTM: Figure 4 of Choi, Kim and Lee (ACML 2019)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_slstm.layers.cas_lstm import CASLSTM, VerticalGates
from keras_slstm.models.part_model import PartModel
from keras_slstm.models.seq2seq import Seq2Seq
from keras_slstm.models.text_classifier import TextClassifier
from keras_slstm.text.text_vectorizer import pad
from keras_slstm.validation import check_integer


class LayerHistograms(NamedTuple):
    """Counts of one layer l, `(bins,)` each, over equal parts of [0, 1].

    Attributes:
        gates: Counts of the vertical forget gate g^l, over all units and words (a and b of the figure).
        ranges: Counts of the range (maximum minus minimum) of these values in a word, over all words (c and d).
        differences: Counts of |g^l - o^{l-1}|, over all units and words: the difference from the output gate of the
            layer below, which acts on the same cell (e and f).
    """

    gates: np.ndarray
    ranges: np.ndarray
    differences: np.ndarray


class GateHistograms:
    """Counts the values of vertical gates.

    Args:
        bins: Number of equal parts of [0, 1].

    Attributes:
        layers: The counts of layers 2, 3, ..., by layer number.
        words: Number of words counted; in a bidirectional model, each word counts twice.

    Example:

    ```python
    histograms = GateHistograms()
    for gates, mask in read_gates(model, texts):
        histograms.add(gates, mask)
    histograms.layers[2].gates
    ```
    """

    def __init__(self, bins: int = 50):
        self.bins = check_integer("bins", bins, 1)
        self.words = 0
        self.layers: dict[int, LayerHistograms] = {}
        self._sums: dict[int, np.ndarray] = {}
        self._counts: dict[int, np.ndarray] = {}

    def add(self, gates: Sequence[VerticalGates], mask: Any = None) -> None:
        """Count the gates of a batch.

        Args:
            gates: The result of `CASLSTM.vertical_gates`: g and o, `(batch, time, units)`, for each layer from 2 on.
            mask: `(batch, time)` bool, True at words, in the order of the gates. None: all positions are words.
        """
        for layer, pair in enumerate(gates, start=2):
            g, o = (ops.convert_to_numpy(ops.cast(gate, "float32")) for gate in pair)
            if mask is not None:
                g, o = (gate[ops.convert_to_numpy(mask)] for gate in (g, o))
            g, o = (gate.reshape(-1, gate.shape[-1]) for gate in (g, o))  # (words, units)
            values = g, g.max(axis=-1, initial=0) - g.min(axis=-1, initial=1), np.abs(g - o)
            if layer not in self.layers:
                self.layers[layer] = LayerHistograms(*(np.zeros(self.bins, np.int64) for _ in values))
                self._sums[layer], self._counts[layer] = np.zeros(3), np.zeros(3)
            for counts, found in zip(self.layers[layer], values):
                counts += np.histogram(found, self.bins, range=(0.0, 1.0))[0]
            self._sums[layer] += [found.sum(dtype=np.float64) for found in values]
            self._counts[layer] += [found.size for found in values]
            self.words += len(g) if layer == 2 else 0

    def means(self, layer: int) -> LayerHistograms:
        """The mean gate, range and difference of a layer."""
        return LayerHistograms(*(self._sums[layer] / np.maximum(self._counts[layer], 1)))


def read_gates(
    model: keras.Model, texts: Sequence[str], batch_size: int = 32
) -> Iterator[tuple[list[VerticalGates], Any]]:
    """Yield the vertical gates of every CAS-LSTM in a text model, batch by batch.

    Args:
        model: A model of this package that contains a `CASLSTM` of at least two layers: a classifier of sentences or of
            pairs (whose encoder reads the texts one by one), or a `Seq2Seq`.
        texts: A list of texts.
        batch_size: Texts per batch.

    Yields:
        For each batch and each `CASLSTM` (two if bidirectional), the result of its `vertical_gates` and the mask in the
        same order of time.

    Raises:
        ValueError: If the model has no such layer, or is not a text model.
    """
    layers = [layer for layer in model._flatten_layers() if isinstance(layer, CASLSTM) and layer.num_layers > 1]
    if not layers:
        raise ValueError(f"{model.name} has no vertical gates: its encoder is not a CASLSTM of two layers or more.")
    if not isinstance(model, (TextClassifier, Seq2Seq)):
        raise ValueError(f"{model.name} is not a text model of this package.")
    gate_model = _GateModel(model, layers)
    for start in range(0, len(texts), batch_size):
        yield from gate_model.predict_on_batch(_inputs(model, texts[start : start + batch_size]))


def _inputs(model: Any, texts: Sequence[str]) -> Any:
    """The inputs of the encoder of a model, for texts."""
    if isinstance(model, Seq2Seq):
        return pad(model.batches(texts).sources)  # with the end symbol
    (batch,) = model.sentence_batches(texts, batch_size=len(texts), shuffle=False)
    (inputs,) = batch
    return inputs


class _GateModel(PartModel):
    """Maps a batch to the gates and the mask of each call of a CAS-LSTM, in the same order of time."""

    def __init__(self, model: Any, layers: list[CASLSTM]):
        super().__init__(model, name="gates")
        self.cas_lstms = layers

    def call(self, inputs: Any) -> list[tuple[list[VerticalGates], Any]]:
        with _recorded_calls(self.cas_lstms) as calls:
            self.model.encode(inputs)
        return [
            (layer.vertical_gates(sequences, mask=mask), ops.flip(mask, axis=1) if layer.go_backwards else mask)
            for layer, sequences, mask in calls
        ]


@contextlib.contextmanager
def _recorded_calls(layers: list[CASLSTM]) -> Iterator[list[tuple[CASLSTM, Any, Any]]]:
    """Record each call of the layers: the layer, its input and its mask."""
    calls: list[tuple[CASLSTM, Any, Any]] = []

    def listen(layer: CASLSTM) -> None:
        call = layer.call

        def recording(
            sequences: Any, initial_state: Any = None, mask: Any = None, training: bool = False, **of_keras: Any
        ) -> Any:
            mask = of_keras.get("sequences_mask") if mask is None else mask
            calls.append((layer, sequences, mask))
            return call(sequences, initial_state=initial_state, mask=mask, training=training)

        layer.__dict__["call"] = recording  # Keras tracks `setattr`

    for layer in layers:
        listen(layer)
    try:
        yield calls
    finally:
        for layer in layers:
            del layer.__dict__["call"]
