"""Beam search as a pure tensor function: one loop, which compiles on TensorFlow and JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from keras import ops

from keras_slstm.ops.backend.traceable import amax
from keras_slstm.ops.export_mode import in_export_mode
from keras_slstm.types import Tensor, Tensors

# (last ids `(rows,)`, state) -> (log-probabilities of all ids `(rows, vocabulary)`, new state)
Step = Callable[[Tensor, list[Tensor]], tuple[Tensor, list[Tensor]]]


class Ids(NamedTuple):
    """The size of a vocabulary, and its special ids.

    Attributes:
        size: Number of ids.
        padding: Follows the end id. It never occurs in a sequence.
        start: Precedes the first id. It never occurs again.
        end: Ends a sequence.
    """

    size: int
    padding: int = 0
    start: int = 1
    end: int = 2


def beam_search(
    step: Step,
    state: list[Tensor],
    limits: Tensor,
    longest: int | Tensor,
    ids: Ids,
    beam: int = 1,
    length_penalty: float = 1.0,
    dtype: str = "float32",
) -> tuple[Tensor, Tensor]:
    """Find the best sequence of ids for each row of a batch.

    The score of a sequence is its log-probability divided by `length ** length_penalty`; the length includes the end
    id. Each step extends the unfinished sequences of the beam by one id and keeps the `beam` highest-scoring sequences
    among these and the finished ones. A sequence that reaches the limit of its row is finished. A row is done when no
    unfinished sequence can still beat its best finished one: log-probabilities only fall. Rows do not affect each
    other. A beam of 1 takes the most probable id in every step.

    Args:
        step: Returns the log-probabilities of the next id, in `dtype`. It is called on `batch * beam` rows; the rows
            of one sentence are adjacent.
        state: The tensors that `step` passes from one id to the next, `(batch, ...)`.
        limits: The maximum number of ids of each row, `(batch,)` integers of at least 1.
        longest: The output length, at least the largest limit.
        ids: The vocabulary.
        beam: The number of sequences kept for each row.
        length_penalty: 0 compares sums of log-probabilities, which favours short sequences; 1 compares their means.
        dtype: The dtype of log-probabilities and scores.

    Returns:
        The sequences, `(batch, longest)` int32, with the end id (unless the limit was reached) and then padding, and
        their scores, `(batch,)`.
    """
    batch = ops.shape(limits)[0]
    first_rows = ops.reshape(ops.arange(batch, dtype="int32") * beam, (-1, 1))
    limits = ops.expand_dims(ops.cast(limits, dtype), 1)
    times = ops.arange(longest, dtype="int32")
    vocabulary = ops.arange(ids.size, dtype="int32")
    is_padding = vocabulary == ids.padding
    never = ops.logical_or(is_padding, vocabulary == ids.start)
    # Exported ONNX models turn infinity into NaN.
    minus_infinity = ops.full((), -1e30 if in_export_mode() else -float("inf"), dtype=dtype)
    # Only padding follows a finished sequence, with log-probability 0.
    after_end = ops.where(is_padding, ops.zeros((), dtype=dtype), minus_infinity)

    def scores(totals: Tensor, lengths: Tensor) -> Tensor:
        return totals / lengths**length_penalty

    def is_unfinished(
        time: Tensor, sequences: Tensor, last: Tensor, totals: Tensor, lengths: Tensor, ended: Tensor, *state: Tensor
    ) -> Tensor:
        return ops.logical_not(ops.all(ended))

    def body(
        time: Tensor, sequences: Tensor, last: Tensor, totals: Tensor, lengths: Tensor, ended: Tensor, *state: Tensor
    ) -> Tensors:
        log_probabilities, new_state = step(last, list(state))
        log_probabilities = ops.where(never, minus_infinity, log_probabilities)
        log_probabilities = ops.reshape(log_probabilities, (-1, beam, ids.size))
        totals = ops.expand_dims(totals, -1) + ops.where(ops.expand_dims(ended, -1), after_end, log_probabilities)
        lengths = ops.where(ended, lengths, lengths + 1)
        candidates = ops.reshape(scores(totals, ops.expand_dims(lengths, -1)), (-1, beam * ids.size))

        best, chosen = ops.top_k(candidates, beam)
        chosen = ops.cast(chosen, "int32")
        rows = ops.reshape(first_rows + chosen // ids.size, (-1,))
        last = ops.reshape(chosen % ids.size, (-1,))
        totals = ops.take(ops.reshape(totals, (-1,)), first_rows * ids.size + chosen)
        lengths, ended = (ops.reshape(ops.take(ops.reshape(x, (-1,)), rows), (-1, beam)) for x in (lengths, ended))
        sequences = ops.where(times == time, ops.expand_dims(last, 1), ops.take(sequences, rows, axis=0))
        new_state = [ops.take(x, rows, axis=0) for x in new_state]

        ended = ended | (ops.reshape(last, (-1, beam)) == ids.end) | (lengths >= limits)
        best_ended = amax(ops.where(ended, best, minus_infinity), axis=1)
        attainable = amax(ops.where(ended, minus_infinity, scores(totals, limits)), axis=1)
        ended = ended | ops.expand_dims(best_ended >= attainable, 1)
        return time + 1, sequences, last, totals, lengths, ended, *new_state

    lengths = ops.zeros((batch, beam), dtype=dtype)
    beginning = (
        ops.zeros((), dtype="int32"),
        ops.full((batch * beam, longest), ids.padding, dtype="int32"),
        ops.full((batch * beam,), ids.start, dtype="int32"),
        ops.where(ops.arange(beam) == 0, lengths, minus_infinity),  # only the empty sequence
        lengths,
        ops.zeros((batch, beam), dtype="bool"),
        *(ops.repeat(x, beam, axis=0) for x in state),
    )
    _, sequences, _, totals, lengths, *_ = ops.while_loop(is_unfinished, body, beginning)
    best = ops.reshape(sequences, (batch, beam, -1))[:, 0]  # sorted by score
    return best, scores(totals, lengths)[:, 0]
