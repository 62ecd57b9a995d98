"""The loop of `suffix_recurrence` on TensorFlow without XLA: the state grows by a row with every word, and so no row is
computed in vain, whatever the length of the sentences, known or not.
"""

from __future__ import annotations

from typing import Any

import keras

from keras_slstm.ops.recurrent_cells import Recurrence, RecurrentCell
from keras_slstm.types import Tensor, Tensors

# What is not kept is computed again for so many words at a time.
SEGMENT = 8


def is_possible() -> bool:
    """Whether what is called now runs on TensorFlow and is not compiled by XLA, which wants to know all shapes."""
    if keras.backend.backend() != "tensorflow":
        return False
    import tensorflow as tf

    try:
        from tensorflow.python.ops.control_flow_util import GraphOrParentsInXlaContext
    except ImportError:  # it is not public, but the only way to know
        return False
    return not GraphOrParentsInXlaContext(tf.compat.v1.get_default_graph())


def _is_recorded() -> bool:
    """Whether a gradient tape looks on. If none does, a gradient can still be asked for, of a whole function."""
    try:
        from tensorflow.python.eager.record import could_possibly_record
    except ImportError:  # likewise
        return True
    return could_possibly_record()


def forward(cell: RecurrentCell, recurrence: Recurrence, growing: bool, keep: bool) -> tuple[Tensors, Any]:
    """As that of `row_blocks`, for `growing` rows."""
    import tensorflow as tf

    time = tf.shape(recurrence.projected)[0]
    firsts = _array(recurrence, time, rows=False)
    state = tuple(_no_rows(recurrence) for _ in range(cell.states))
    if keep and _is_recorded():
        state, firsts, kept = _read(cell, recurrence, 0, time, state, firsts, keep=True)
        return (firsts.stack(), state[0]), kept

    def one_segment(segment: Tensor, state: Tensors, firsts: Any, starts: Tensors) -> tuple:
        starts = tuple(array.write(segment, x) for array, x in zip(starts, state))
        start = segment * SEGMENT
        state, firsts, _ = _read(cell, recurrence, start, _stop(start, time), state, firsts, keep=False)
        return segment + 1, state, firsts, starts

    starts = tuple(_array(recurrence, _segments(time)) for _ in range(cell.states))
    _, state, firsts, starts = tf.while_loop(
        lambda segment, *_: segment < _segments(time),
        one_segment,
        (0, state, firsts, starts),
        _shapes(recurrence, (0, state, firsts, starts)),
    )
    # As tensors, not arrays, which a gradient cannot hold that is written into a SavedModel.
    return (firsts.stack(), state[0]), tuple(array.concat() for array in starts)


def backward(
    cell: RecurrentCell,
    recurrence: Recurrence,
    growing: bool,
    kept: Any,
    d_of_first: Tensor,
    d_of_all: Tensor,
) -> dict[str, Tensor]:
    """As that of `row_blocks`."""
    import tensorflow as tf

    time = tf.shape(recurrence.projected)[0]
    d_state = (d_of_all, *[tf.zeros_like(d_of_all)] * (cell.states - 1))
    sums = (
        tf.TensorArray(recurrence.projected.dtype, time, element_shape=recurrence.projected.shape[1:]),
        *recurrence.no_gradients(),
    )
    if isinstance(kept[0], tf.TensorArray):
        _, sums = _read_back(cell, recurrence, 0, time, kept, d_of_first, d_state, sums)
    else:

        def one_segment(segment: Tensor, d_state: Tensors, sums: Tensors) -> tuple:
            start = segment * SEGMENT  # and as many rows; those of the segments before stand before them
            before = segment * (segment - 1) // 2 * SEGMENT
            state = tuple(x[before : before + start] for x in kept)
            stop = _stop(start, time)
            _, _, inside = _read(cell, recurrence, start, stop, state, _array(recurrence, time, rows=False), keep=True)
            d_state, sums = _read_back(cell, recurrence, start, stop, inside, d_of_first, d_state, sums)
            return segment - 1, d_state, sums

        initial = (_segments(time) - 1, d_state, sums)
        # One segment after the other: what is computed again does not wait for the gradient, and would all be there
        # before it is needed.
        _, _, sums = tf.while_loop(
            lambda segment, *_: segment >= 0,
            one_segment,
            initial,
            _shapes(recurrence, initial),
            parallel_iterations=1,
        )
    return recurrence.name_gradients(sums[0].stack(), sums[1:])


def _read(
    cell: RecurrentCell, recurrence: Recurrence, start: Any, stop: Any, state: Tensors, firsts: Any, keep: bool
) -> tuple[Tensors, Any, Tensors]:
    """The words from `start` to `stop`: the state after them, h of row 0 after each (written into the array `firsts`),
    and, to `keep`, arrays of what the way back needs of each.
    """
    import tensorflow as tf

    def one_word(t: Tensor, state: Tensors, firsts: Any, kept: Tensors) -> tuple:
        before = tuple(tf.pad(x, [[0, 1], [0, 0], [0, 0]]) for x in state)  # the row that begins here
        state, inside = recurrence.advance(cell, recurrence.projected[t], before, _active(recurrence, t))
        kept = tuple(array.write(t - start, x) for array, x in zip(kept, (*before, *inside)))
        return t + 1, state, firsts.write(t, state[0][0]), kept

    kept = tuple(_array(recurrence, stop - start) for _ in range(cell.states + cell.kept if keep else 0))
    initial = (tf.convert_to_tensor(start), state, firsts, kept)
    _, *result = tf.while_loop(lambda t, *_: t < stop, one_word, initial, _shapes(recurrence, initial))
    return tuple(result)


def _read_back(
    cell: RecurrentCell,
    recurrence: Recurrence,
    start: Any,
    stop: Any,
    kept: Tensors,
    d_of_first: Tensor,
    d_state: Tensors,
    sums: Tensors,
) -> tuple[Tensors, Tensors]:
    """The gradient of the state before `start` from that after `stop`, and `sums` with what these words add."""
    import tensorflow as tf

    transposed_kernel = tf.transpose(recurrence.recurrent_kernel)

    def one_word(t: Tensor, d_state: Tensors, sums: Tensors) -> tuple:
        d_h, *d_rest = d_state
        d_h = tf.concat([d_h[:1] + d_of_first[t][None], d_h[1:]], axis=0)
        inside = tuple(array.read(t - start) for array in kept)
        before, inside = inside[: cell.states], inside[cell.states :]
        products, d_state = recurrence.retreat(
            cell, transposed_kernel, (d_h, *d_rest), before, inside, _active(recurrence, t)
        )
        d_projected, of_weights = recurrence.add_gradients(sums[1:], before, products)
        return t - 1, tuple(x[:t] for x in d_state), (sums[0].write(t, d_projected), *of_weights)

    initial = (stop - 1, d_state, sums)
    _, d_state, sums = tf.while_loop(lambda t, *_: t >= start, one_word, initial, _shapes(recurrence, initial))
    return d_state, sums


def _active(recurrence: Recurrence, t: Tensor) -> Tensor | None:
    """In which sentences word t is real, `(1, batch, 1)` bool; None if in all."""
    import tensorflow as tf

    return None if recurrence.mask is None else tf.cast(recurrence.mask[t], "bool")[None]


def _row_shape(recurrence: Recurrence) -> list[int | None]:
    return [None, recurrence.projected.shape[1], recurrence.units]


def _no_rows(recurrence: Recurrence) -> Tensor:
    import tensorflow as tf

    return tf.zeros([0, tf.shape(recurrence.projected)[1], recurrence.units], recurrence.projected.dtype)


def _array(recurrence: Recurrence, size: Tensor, rows: bool = True) -> Any:
    """An array over words of states, which have any number of rows, or are one row."""
    import tensorflow as tf

    shape = _row_shape(recurrence)[0 if rows else 1 :]
    return tf.TensorArray(
        recurrence.projected.dtype, size, element_shape=shape, infer_shape=False, clear_after_read=False
    )


def _shapes(recurrence: Recurrence, variables: Any) -> Any:
    """The shapes that the variables of a loop keep: tensors of rank 3 are states, which grow and shrink."""
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
