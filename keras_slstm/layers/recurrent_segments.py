"""The loop of a recurrent layer in segments with carried states, for gradients that need little memory."""

from __future__ import annotations

from typing import Any

from keras import ops

from keras_slstm.ops.backend.segments import scan_segments
from keras_slstm.ops.backend.traceable import pad
from keras_slstm.ops.seeds import RepeatedSeeds
from keras_slstm.types import Tensor, Tensors


def loop_in_segments(
    layer: Any, sequences: Tensor, initial_state: Any, mask: Tensor | None, training: bool
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Return what `layer.loop` returns, computed in segments of at most `layer.segment_length` words.

    Args:
        layer: A `MaskedRNN`.
        sequences, initial_state, mask, training: As in `inner_loop` of `keras.layers.RNN`.
    """
    time = ops.shape(sequences)[1]
    count = -(-time // layer.segment_length)
    if isinstance(count, int) and count == 1:
        return layer.loop(layer.loop_weights(), sequences, initial_state, mask, training)  # type: ignore[no-any-return]
    length = -(-time // count)  # segments of about equal length need the least padding
    more = count * length - time
    if not isinstance(more, int) or more:
        # The padding is read last and does not change the state.
        sides = (more, 0) if layer.go_backwards else (0, more)
        mask = ops.ones_like(sequences[..., 0], dtype="bool") if mask is None else mask
        sequences, mask = pad(sequences, ((0, 0), sides, (0, 0))), pad(mask, ((0, 0), sides))

    def cut(x: Tensor) -> Tensor:
        x = ops.reshape(x, (ops.shape(x)[0], count, length, *x.shape[2:]))
        x = ops.transpose(x, (1, 0, *range(2, len(x.shape))))
        return ops.flip(x, axis=0) if layer.go_backwards else x

    inputs = (cut(sequences),) if mask is None else (cut(sequences), cut(ops.cast(mask, sequences.dtype)))
    repeated = RepeatedSeeds(layer.seed_generator)  # all words have the same dropout

    def segment(weights: Any, state: Tensors, now: Tensors) -> Tensors:
        word_mask = ops.cast(now[1], "bool") if len(now) > 1 else None
        with repeated.again():
            last, outputs, states = layer.loop(weights, now[0], list(state[1:]), word_mask, training)
        return *((outputs,) if layer.return_sequences else ()), last, *states

    first = tuple(ops.cast(state, layer.compute_dtype) for state in initial_state)
    like = ops.zeros((ops.shape(sequences)[0], length, layer.units), dtype=layer.compute_dtype)
    outputs = (like,) if layer.return_sequences else ()
    found = scan_segments(segment, layer.loop_weights(), (ops.zeros_like(first[0]), *first), inputs, outputs)
    repeated.finish()
    if not layer.return_sequences:
        return found[0], like, list(found[1:])  # Keras ignores these outputs
    every, last, *states = found
    every = ops.reshape(ops.transpose(every, (1, 0, 2, 3)), (-1, count * length, layer.units))
    return last, every[:, :time], states
