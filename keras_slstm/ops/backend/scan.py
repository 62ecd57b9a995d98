"""A loop over time on every backend: the primitive behind the equations and kernels of this package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_slstm.ops.export_mode import in_export_mode
from keras_slstm.types import Tensor, Tensors

Step = Callable[[Tensors, Tensors], Tensors]


def scan(
    step: Step, initial: Tensors, inputs: Tensors, reverse: bool = False, num_stacked: int | None = None
) -> Tensors:
    """Run `state = step(state, inputs at time t)` over time and return the states.

    Unlike `keras.ops.scan`, it stacks only the requested tensors, and on TensorFlow it keeps the state out of tensor
    arrays. It is differentiable on every backend, except under XLA on TensorFlow with an unknown number of steps:
    kernels that train there define their own gradient.

    Args:
        step: Maps a state and the inputs at one time to the next state, with the same shapes and dtypes.
        initial: The state before the first step.
        inputs: Tensors `(time, ...)`.
        reverse: Whether to run from the last time to the first. The result is in the order of time either way.
        num_stacked: How many tensors of the state, counted from the first, are returned for every time. Of the others,
            only the last value is returned. Default: all are returned for every time.

    Returns:
        For each stacked tensor of the state, `(time, *its shape)`; for each of the others, its last value.
    """
    run = {"tensorflow": _tensorflow, "jax": _jax, "torch": _torch}[keras.backend.backend()]
    if run is _tensorflow and in_export_mode():
        run = _tensorflow_for_export
    return run(step, tuple(initial), tuple(inputs), reverse, len(initial) if num_stacked is None else num_stacked)


def _tensorflow(step: Step, initial: Tensors, inputs: Tensors, reverse: bool, num_stacked: int) -> Tensors:
    import tensorflow as tf

    time = inputs[0].shape[0]
    if time == 0:
        return _no_step(initial, num_stacked)
    steps = time  # a static bound lets XLA differentiate the loop
    if time is None:
        time = tf.shape(inputs[0])[0]
        # XLA evaluates the body's reads even if the loop takes no step: give them one row to read.
        spare = tf.cast(time == 0, tf.int32)
        inputs = tuple(tf.pad(x, [[0, spare]] + [[0, 0]] * (len(x.shape) - 1)) for x in inputs)
    # An empty array has no element shape to stack: keep at least one element, which an empty loop does not change.
    stacks = tuple(tf.TensorArray(x.dtype, tf.maximum(time, 1)).write(0, x) for x in initial[:num_stacked])

    def body(count: Tensor, state: Tensors, stacks: Tensors) -> Tensors:
        t = time - 1 - count if reverse else count
        state = step(state, tuple(x[t] for x in inputs))  # slices, because unstacking into an array would copy
        for x, first in zip(state, initial):
            x.set_shape(first.shape)  # a reshape of unknown length loses the shape
        return count + 1, state, tuple(stack.write(t, x) for stack, x in zip(stacks, state))

    _, state, stacks = tf.while_loop(
        lambda count, *_: count < time, body, (0, initial, stacks), maximum_iterations=steps
    )
    return (*(stack.stack()[:time] for stack in stacks), *state[num_stacked:])


def _tensorflow_for_export(step: Step, initial: Tensors, inputs: Tensors, reverse: bool, num_stacked: int) -> Tensors:
    """Write the stacks as plain tensors: 20 to 80% slower, but every converter supports them."""
    import tensorflow as tf

    time = tf.shape(inputs[0])[0]
    stacks = tuple(tf.zeros(tf.concat([[time], tf.shape(x)], axis=0), x.dtype) for x in initial[:num_stacked])

    def body(count: Tensor, state: Tensors, stacks: Tensors) -> Tensors:
        t = time - 1 - count if reverse else count
        state = step(state, tuple(tf.gather(x, t) for x in inputs))
        for x, first in zip(state, initial):
            x.set_shape(first.shape)
        place = tf.reshape(t, (1, 1))
        written = (tf.tensor_scatter_nd_update(s, place, tf.expand_dims(x, 0)) for s, x in zip(stacks, state))
        return count + 1, state, tuple(written)

    _, state, stacks = tf.while_loop(lambda count, *_: count < time, body, (0, initial, stacks))
    return (*stacks, *state[num_stacked:])


def _jax(step: Step, initial: Tensors, inputs: Tensors, reverse: bool, num_stacked: int) -> Tensors:
    import jax

    def body(state: Tensors, inputs_now: Tensors) -> tuple[Tensors, Tensors]:
        state = step(state, inputs_now)
        return state, state[:num_stacked]

    flip = reverse and in_export_mode()  # jax2onnx supports no reverse loop
    if flip:
        inputs = tuple(ops.flip(x, axis=0) for x in inputs)
    state, stacked = jax.lax.scan(body, initial, inputs, reverse=reverse and not flip)
    return (*(ops.flip(x, axis=0) if flip else x for x in stacked), *state[num_stacked:])


def _torch(step: Step, initial: Tensors, inputs: Tensors, reverse: bool, num_stacked: int) -> Tensors:
    state, history = initial, []
    time = inputs[0].shape[0]
    _check_length(time)
    if time == 0:
        return _no_step(initial, num_stacked)
    for t in reversed(range(time)) if reverse else range(time):
        state = step(state, tuple(x[t] for x in inputs))
        history.append(state[:num_stacked])
    if reverse:
        history.reverse()
    return (*(ops.stack(list(column)) for column in zip(*history)), *state[num_stacked:])


def _check_length(time: Any) -> None:
    """Raise ValueError if PyTorch is exporting a loop: it would fix the number of steps to that of its example."""
    import torch

    traced = torch.jit.is_tracing() and (in_export_mode() or torch.onnx.is_in_onnx_export())  # type: ignore[no-untyped-call]
    if traced or isinstance(time, torch.SymInt):
        raise ValueError(
            "PyTorch cannot export a loop over time for any number of words. Pass an `input_signature` of a fixed "
            "length, or load the model with KERAS_BACKEND=tensorflow and export it there."
        )


def _no_step(initial: Tensors, num_stacked: int) -> Tensors:
    """Return the result of a loop without steps."""
    return (*(ops.expand_dims(initial[i], 0)[:0] for i in range(num_stacked)), *initial[num_stacked:])
