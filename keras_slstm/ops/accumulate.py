"""A recursion over time, on whichever backend Keras runs."""

from __future__ import annotations

from collections.abc import Callable

import keras
from keras import ops

from keras_slstm.types import Tensor, Tensors


def accumulate(
    step: Callable[[Tensors, Tensors], Tensors],
    initial: Tensors,
    inputs: Tensors,
    reverse: bool = False,
    kept: int | None = None,
) -> Tensors:
    """The states of a recursion after every step: `state = step(state, inputs at time t)`.

    Beside `keras.ops.scan`, it keeps what is asked for only, and does not send the state through arrays on
    TensorFlow. XLA finds no gradient of such a loop on TensorFlow: recursions that are differentiated have theirs
    written by hand.

    Args:
        step: From a state and the inputs of one time to the next state, of the same shapes and dtypes.
        initial: The state before the first step.
        inputs: Tensors `(time, ...)`.
        reverse: Whether to go from the last time to the first. What is kept stays in the order of time.
        kept: Of how many tensors of the state, the first ones, all values are kept. Default: of all.

    Returns:
        For each tensor of the state that is kept, `(time, *its shape)`; for the others the last value.
    """
    run = {"tensorflow": _tensorflow, "jax": _jax, "torch": _torch}[keras.backend.backend()]
    return run(step, tuple(initial), tuple(inputs), reverse, len(initial) if kept is None else kept)


def _tensorflow(step: Callable, initial: Tensors, inputs: Tensors, reverse: bool, kept: int) -> Tensors:
    import tensorflow as tf

    time = inputs[0].shape[0]
    if time == 0:
        return _nothing(initial, kept)
    if time is None:
        time = tf.shape(inputs[0])[0]
        # XLA reads from what is there even in a loop without a step.
        spare = tf.cast(time == 0, tf.int32)
        inputs = tuple(tf.pad(x, [[0, spare]] + [[0, 0]] * (len(x.shape) - 1)) for x in inputs)
    # An array of nothing has no shape: one place there is, which an empty loop leaves as it was.
    write = tuple(tf.TensorArray(x.dtype, tf.maximum(time, 1)).write(0, x) for x in initial[:kept])

    def body(count: Tensor, state: Tensors, write: Tensors) -> tuple:
        t = time - 1 - count if reverse else count
        state = step(state, tuple(x[t] for x in inputs))  # no copy, as an array of tensors would be
        for x, first in zip(state, initial):
            x.set_shape(first.shape)  # which a reshape of unknown length loses
        return count + 1, state, tuple(array.write(t, x) for array, x in zip(write, state))

    _, state, write = tf.while_loop(lambda count, *_: count < time, body, (0, initial, write))
    return (*(array.stack()[:time] for array in write), *state[kept:])


def _jax(step: Callable, initial: Tensors, inputs: Tensors, reverse: bool, kept: int) -> Tensors:
    import jax

    def body(state: Tensors, at_time: Tensors) -> tuple[Tensors, Tensors]:
        state = step(state, at_time)
        return state, state[:kept]

    state, states = jax.lax.scan(body, initial, inputs, reverse=reverse)
    return (*states, *state[kept:])


def _torch(step: Callable, initial: Tensors, inputs: Tensors, reverse: bool, kept: int) -> Tensors:
    state, states = initial, []
    time = inputs[0].shape[0]
    if time == 0:
        return _nothing(initial, kept)
    for t in reversed(range(time)) if reverse else range(time):
        state = step(state, tuple(x[t] for x in inputs))
        states.append(state[:kept])
    if reverse:
        states.reverse()
    return (*(ops.stack(list(column)) for column in zip(*states)), *state[kept:])


def _nothing(initial: Tensors, kept: int) -> Tensors:
    """The result of no step."""
    return (*(initial[i][None][:0] for i in range(kept)), *initial[kept:])
