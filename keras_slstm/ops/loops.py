"""A loop over time for functions whose gradient is written by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
from keras import ops

Tensor = Any
# (state, what is read at this time) -> (state, what is written at this time)
Step = Callable[[tuple[Tensor, ...], dict[str, Tensor]], tuple[tuple[Tensor, ...], tuple[Tensor, ...]]]


def scan(
    step: Step,
    state: tuple[Tensor, ...],
    inputs: dict[str, Tensor],
    widths: Sequence[int],
    reverse: bool = False,
) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Carry a state through a sequence, as `keras.ops.scan` does, but with any number of outputs a step.

    It compiles on all backends. No gradient is meant to pass through it (under XLA, TensorFlow has none): it is the
    loop inside of functions that write their gradient themselves, with a second loop.

    Args:
        step: Takes the state and a dict of the inputs at one time; returns the new state and a tuple of outputs,
            `(batch, width)` each, in the dtype of the state.
        state: Tensors `(batch, ...)`.
        inputs: At least one tensor `(time, batch, ...)`, by name; all of one length, which is at least 1.
        widths: The width of each output.
        reverse: Whether to begin at the end. Outputs always stand where the inputs stand that they were made from.

    Returns:
        The last state, and the outputs, `(time, batch, width)` each.
    """
    return _SCANS[keras.backend.backend()](step, state, inputs, widths, reverse)


def _tensorflow(step, state, inputs, widths, reverse):
    import tensorflow as tf

    first = next(iter(inputs.values()))
    time = tf.shape(first)[0] if first.shape[0] is None else first.shape[0]
    writes = tuple(tf.TensorArray(state[0].dtype, time, element_shape=(first.shape[1], width)) for width in widths)

    def body(count, state, writes):
        now = time - 1 - count if reverse else count
        new_state, outputs = step(state, {name: tf.gather(x, now) for name, x in inputs.items()})
        for new, old in zip(new_state, state, strict=True):
            new.set_shape(old.shape)  # where the batch is known to one of the two only
        return count + 1, new_state, tuple(array.write(now, y) for array, y in zip(writes, outputs, strict=True))

    loop = tf.while_loop(lambda count, *_: count < time, body, (0, tuple(state), writes), parallel_iterations=32)
    return loop[1], tuple(array.stack() for array in loop[2])


def _jax(step, state, inputs, widths, reverse):
    import jax

    return jax.lax.scan(step, tuple(state), inputs, reverse=reverse)


def _torch(step, state, inputs, widths, reverse):
    steps = [dict(zip(inputs, slices)) for slices in zip(*(ops.unstack(x, axis=0) for x in inputs.values()))]
    outputs = []
    for inputs_now in reversed(steps) if reverse else steps:
        state, outputs_now = step(state, inputs_now)
        outputs.append(outputs_now)
    return state, tuple(ops.stack(y[::-1] if reverse else y, axis=0) for y in zip(*outputs))


_SCANS = {"tensorflow": _tensorflow, "jax": _jax, "torch": _torch}
