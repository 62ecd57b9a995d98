"""The loop of `suffix_rnn` on TensorFlow without XLA: the state grows by one row per word.

It computes no unneeded rows, even if the length of the sentences is unknown.
"""

from __future__ import annotations

from typing import Any

import keras

from keras_slstm.ops.kernels.recurrent_cells import Recurrence
from keras_slstm.ops.kernels.tensorflow_context import inside_xla, is_recording
from keras_slstm.types import Tensor, Tensors

# The number of words whose gates are recomputed together if they are not saved.
SEGMENT = 8


def is_possible() -> bool:
    """Whether TensorFlow runs the current function without XLA."""
    return keras.backend.backend() == "tensorflow" and not inside_xla()


def forward(recurrence: Recurrence, every: bool, save: bool) -> tuple[Tensors, Any]:
    """See `suffix_blocks`; `every` is True."""
    import tensorflow as tf

    time = tf.shape(recurrence.projected)[0]
    firsts = _array(recurrence, time, rows=False)
    state = tuple(_no_rows(recurrence) for _ in range(recurrence.cell.states))
    if save and is_recording():
        state, firsts, saved = _read(recurrence, 0, time, state, firsts, save=True)
        return (firsts.stack(), state[0]), saved

    def one_segment(segment: Tensor, state: Tensors, firsts: Any, starts: Tensors) -> tuple[Any, ...]:
        starts = tuple(array.write(segment, x) for array, x in zip(starts, state))
        start = segment * SEGMENT
        state, firsts, _ = _read(recurrence, start, _stop(start, time), state, firsts, save=False)
        return segment + 1, state, firsts, starts

    starts = tuple(_array(recurrence, _segments(time)) for _ in range(recurrence.cell.states))
    initial = (0, state, firsts, starts)
    _, state, firsts, starts = tf.while_loop(
        lambda segment, *_: segment < _segments(time), one_segment, initial, _shapes(recurrence, initial)
    )
    # Tensors, because the gradient in a SavedModel cannot use a TensorArray.
    return (firsts.stack(), state[0]), tuple(array.concat() for array in starts)


def backward(recurrence: Recurrence, every: bool, saved: Any, d_first: Tensor, d_all: Tensor) -> dict[str, Tensor]:
    """See `suffix_blocks`."""
    import tensorflow as tf

    time = tf.shape(recurrence.projected)[0]
    d_state = (d_all, *[tf.zeros_like(d_all)] * (recurrence.cell.states - 1))
    d_projected = tf.TensorArray(recurrence.projected.dtype, time, element_shape=recurrence.projected.shape[1:])
    sums = (d_projected, *recurrence.zero_weight_gradients())
    if isinstance(saved[0], tf.TensorArray):
        _, sums = _read_back(recurrence, 0, time, saved, d_first, d_state, sums)
    else:

        def one_segment(segment: Tensor, d_state: Tensors, sums: Tensors) -> tuple[Any, ...]:
            start = segment * SEGMENT  # also its number of rows, which follow those of earlier segments
            before = segment * (segment - 1) // 2 * SEGMENT
            state = tuple(x[before : before + start] for x in saved)
            stop = _stop(start, time)
            _, _, steps = _read(recurrence, start, stop, state, _array(recurrence, time, rows=False), save=True)
            d_state, sums = _read_back(recurrence, start, stop, steps, d_first, d_state, sums)
            return segment - 1, d_state, sums

        initial = (_segments(time) - 1, d_state, sums)
        # One segment at a time, or TensorFlow would compute the states of all segments before they are needed.
        _, _, sums = tf.while_loop(
            lambda segment, *_: segment >= 0,
            one_segment,
            initial,
            _shapes(recurrence, initial),
            parallel_iterations=1,
        )
    return recurrence.name_gradients(sums[0].stack(), sums[1:])


def _read(
    recurrence: Recurrence, start: Any, stop: Any, state: Tensors, firsts: Any, save: bool
) -> tuple[Tensors, Any, Tensors]:
    """Read the words from `start` to `stop`.

    Returns:
        The state after them, the array `firsts` with h of row 0 after each word, and, with `save`, arrays of the
        tensors that the gradient needs.
    """
    import tensorflow as tf

    def one_word(t: Tensor, state: Tensors, firsts: Any, saved: Tensors) -> tuple[Any, ...]:
        before = tuple(tf.pad(x, [[0, 1], [0, 0], [0, 0]]) for x in state)  # the row that starts here
        state, inside = recurrence.step(recurrence.projected[t], before, _mask(recurrence, t))
        saved = tuple(array.write(t - start, x) for array, x in zip(saved, (*before, *inside)))
        return t + 1, state, firsts.write(t, state[0][0]), saved

    count = recurrence.cell.states + recurrence.cell.saved if save else 0
    saved = tuple(_array(recurrence, stop - start) for _ in range(count))
    initial = (tf.convert_to_tensor(start), state, firsts, saved)
    _, *result = tf.while_loop(lambda t, *_: t < stop, one_word, initial, _shapes(recurrence, initial))
    return tuple(result)


def _read_back(
    recurrence: Recurrence,
    start: Any,
    stop: Any,
    saved: Tensors,
    d_first: Tensor,
    d_state: Tensors,
    sums: Tensors,
) -> tuple[Tensors, Tensors]:
    """Backpropagate from `stop` to `start`; return the gradient of the state before, and `sums` plus these words."""
    import tensorflow as tf

    transposed_kernel = tf.transpose(recurrence.recurrent_kernel)

    def one_word(t: Tensor, d_state: Tensors, sums: Tensors) -> tuple[Any, ...]:
        d_h, *d_rest = d_state
        d_h = tf.concat([d_h[:1] + d_first[t][None], d_h[1:]], axis=0)
        inside = tuple(array.read(t - start) for array in saved)
        before, inside = inside[: recurrence.cell.states], inside[recurrence.cell.states :]
        products, d_state = recurrence.step_gradient(
            transposed_kernel, (d_h, *d_rest), before, inside, _mask(recurrence, t)
        )
        d_projected, d_weights = recurrence.add_gradients(sums[1:], before, products)
        return t - 1, tuple(x[:t] for x in d_state), (sums[0].write(t, d_projected), *d_weights)

    initial = (stop - 1, d_state, sums)
    _, d_state, sums = tf.while_loop(lambda t, *_: t >= start, one_word, initial, _shapes(recurrence, initial))
    return d_state, sums


def _mask(recurrence: Recurrence, t: Tensor) -> Tensor | None:
    """Whether word t of each sentence is real, `(1, batch, 1)` bool; None if all are."""
    import tensorflow as tf

    return None if recurrence.mask_f is None else tf.cast(recurrence.mask_f[t], "bool")[None]


def _row_shape(recurrence: Recurrence) -> list[int | None]:
    return [None, recurrence.projected.shape[1], recurrence.units]


def _no_rows(recurrence: Recurrence) -> Tensor:
    import tensorflow as tf

    return tf.zeros([0, tf.shape(recurrence.projected)[1], recurrence.units], recurrence.projected.dtype)


def _array(recurrence: Recurrence, size: Tensor, rows: bool = True) -> Any:
    """Create a TensorArray of states with any number of rows, or of single rows."""
    import tensorflow as tf

    shape = _row_shape(recurrence)[0 if rows else 1 :]
    return tf.TensorArray(
        recurrence.projected.dtype, size, element_shape=shape, infer_shape=False, clear_after_read=False
    )


def _shapes(recurrence: Recurrence, variables: Any) -> Any:
    """The shape invariants of loop variables: tensors of rank 3 are states, which grow and shrink."""
    import tensorflow as tf

    def shape(x: Any) -> Any:
        if isinstance(x, tf.TensorArray):
            return None
        x = tf.convert_to_tensor(x)
        return tf.TensorSpec(_row_shape(recurrence) if len(x.shape) == 3 else x.shape, x.dtype)

    return tf.nest.map_structure(shape, variables)


def _segments(time: Tensor) -> Tensor:
    return (time + SEGMENT - 1) // SEGMENT


def _stop(start: Tensor, time: Tensor) -> Tensor:
    import tensorflow as tf

    return tf.minimum(start + SEGMENT, time)
