"""A recursion over time, on whichever backend Keras runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

Tensor = Any
State = tuple[Tensor, ...]


def accumulate(step: Callable[[State, State], State], initial: State, inputs: State, reverse: bool = False) -> State:
    """The states of a recursion after every step: `state = step(state, inputs at time t)`.

    `keras.ops.scan` on TensorFlow would send the state through arrays as well. The gradient of the loop is not what
    compiles everywhere (XLA on TensorFlow has none): recursions that are differentiated have it written by hand.

    Args:
        step: From a state and the inputs of one time to the next state, of the same shapes and dtypes.
        initial: The state before the first step.
        inputs: Tensors `(time, ...)`, time at least 1.
        reverse: Whether to go from the last time to the first. The states stay in the order of time.

    Returns:
        For each tensor of the state, `(time, *its shape)`.
    """
    run = {"tensorflow": _tensorflow, "jax": _jax, "torch": _torch}[keras.backend.backend()]
    return run(step, tuple(initial), tuple(inputs), reverse)


def _tensorflow(step: Callable, initial: State, inputs: State, reverse: bool) -> State:
    import tensorflow as tf

    time = inputs[0].shape[0] or tf.shape(inputs[0])[0]
    read = [tf.TensorArray(x.dtype, time, element_shape=x.shape[1:]).unstack(x) for x in inputs]
    write = tuple(tf.TensorArray(x.dtype, time, element_shape=x.shape) for x in initial)

    def body(count: Tensor, state: State, write: State) -> tuple:
        t = time - 1 - count if reverse else count
        state = step(state, tuple(array.read(t) for array in read))
        return count + 1, state, tuple(array.write(t, x) for array, x in zip(write, state))

    _, _, write = tf.while_loop(lambda count, *_: count < time, body, (0, initial, write))
    return tuple(array.stack() for array in write)


def _jax(step: Callable, initial: State, inputs: State, reverse: bool) -> State:
    import jax

    def body(state: State, at_time: State) -> tuple[State, State]:
        state = step(state, at_time)
        return state, state

    return jax.lax.scan(body, initial, inputs, reverse=reverse)[1]


def _torch(step: Callable, initial: State, inputs: State, reverse: bool) -> State:
    state, states = initial, []
    time = inputs[0].shape[0]
    for t in reversed(range(time)) if reverse else range(time):
        state = step(state, tuple(x[t] for x in inputs))
        states.append(state)
    if reverse:
        states.reverse()
    return tuple(ops.stack(list(column)) for column in zip(*states))
