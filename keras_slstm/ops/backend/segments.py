"""A loop whose gradient stores only the state before each segment, and recomputes one segment at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
from keras import ops

from keras_slstm.ops.backend.eager import is_differentiated, torch_compiles
from keras_slstm.ops.backend.precision import accumulation_dtype
from keras_slstm.ops.backend.scan import scan
from keras_slstm.types import Tensor, Tensors

Segment = Callable[[Any, Tensors, Tensors], Tensors]


def scan_segments(segment: Segment, constants: Any, initial: Tensors, inputs: Tensors, like: Tensors = ()) -> Tensors:
    """Run `(*outputs, *state) = segment(constants, state, inputs of one segment)` over segments.

    Unlike that of `scan`, its gradient needs only the memory of the states between the segments and of one segment, and
    takes the time of another forward pass.

    Args:
        segment: A function that reads no tensor with a gradient other than its arguments, and draws the same random
            numbers whenever it is called.
        constants: Nested tensors, the same for all segments; they may hold None and numbers.
        initial: The state before the first segment, floating.
        inputs: Floating tensors `(segments, ...)`.
        like: For each output, a tensor of its shape and dtype.

    Returns:
        The outputs of all segments, `(segments, ...)` each, then the state after the last segment.
    """
    tensors, put_back = _differentiable(constants)
    dtypes = [keras.backend.standardize_dtype(x.dtype) for x in tensors]
    # Their gradients are added up segment by segment, in at least float32.
    wide = tuple(ops.cast(x, accumulation_dtype(dtype)) for x, dtype in zip(tensors, dtypes, strict=True))

    def narrow(constants: Tensors, state: Tensors, now: Tensors) -> Tensors:
        found = [ops.cast(x, dtype) for x, dtype in zip(constants, dtypes, strict=True)]
        return tuple(segment(put_back(found), state, now))

    run = {"tensorflow": _tensorflow, "jax": _jax, "torch": _torch}[keras.backend.backend()]
    return run(narrow, wide, tuple(initial), tuple(inputs), tuple(like))


def repeat(step: Callable[[Any, Any], Any], constants: Any, state: Any, times: int) -> Any:
    """Run `state = step(constants, state)` several times. The gradient stores the states and recomputes the steps.

    Args:
        step: As `segment` of `scan_segments`.
        constants, state: Nested tensors; they may hold None.
        times: The number of steps, at least 1.

    Returns:
        The last state.
    """
    tensors, put_back = _differentiable(state)

    def segment(constants: Any, state: Tensors, now: Tensors) -> Tensors:
        return _differentiable(step(constants, put_back(state)))[0]

    return put_back(scan_segments(segment, constants, tensors, (ops.zeros((times, 1), dtype=tensors[0].dtype),)))


def _differentiable(nested: Any) -> tuple[Tensors, Callable[[Sequence[Tensor]], Any]]:
    """Return the floating tensors of a structure, and a function that puts others in their places."""
    leaves = keras.tree.flatten(nested)
    places = [i for i, x in enumerate(leaves) if ops.is_tensor(x) and keras.backend.is_float_dtype(x.dtype)]

    def put_back(tensors: Sequence[Tensor]) -> Any:
        replaced = dict(zip(places, tensors, strict=True))
        return keras.tree.pack_sequence_as(nested, [replaced.get(i, x) for i, x in enumerate(leaves)])

    return tuple(leaves[i] for i in places), put_back


def _tensorflow(segment: Segment, constants: Tensors, initial: Tensors, inputs: Tensors, like: Tensors) -> Tensors:
    import tensorflow as tf

    states, outputs = len(initial), len(like)

    def parts(tensors: Tensors, *sizes: int) -> list[Tensors]:
        found = []
        for size in sizes:
            found.append(tuple(tensors[:size]))
            tensors = tensors[size:]
        return [*found, tuple(tensors)]

    @tf.custom_gradient
    def run(*tensors: Tensor) -> Any:
        constants_now, first, rows = parts(tensors, len(constants), states)

        def forward(carried: Tensors, now: Tensors) -> Tensors:
            state = carried[states + outputs :]
            return *state, *segment(constants_now, state, now)

        found = scan(forward, (*first, *like, *first), rows, num_stacked=states + outputs)
        starts, found = found[:states], found[states:]

        def gradient(*upstream: Tensor) -> Tensors:
            d_outputs, d_last = parts(upstream, outputs)

            def back(carried: Tensors, now: Tensors) -> Tensors:
                _, d_state, d_constants = parts(carried, len(rows), states)
                d_now, start, inputs_now = parts(now, outputs, states)
                # One segment after the other, or TensorFlow would recompute several before they are needed.
                with tf.control_dependencies((*d_state, *d_constants)), tf.GradientTape() as tape:
                    arguments = tf.nest.map_structure(tf.identity, (constants_now, start, inputs_now))
                    tape.watch(arguments)
                    result = segment(*arguments)
                by_constants, by_state, by_inputs = tape.gradient(
                    result, arguments, output_gradients=(*d_now, *d_state), unconnected_gradients="zero"
                )
                return *by_inputs, *by_state, *(x + y for x, y in zip(d_constants, by_constants, strict=True))

            zeros = (*(tf.zeros_like(x[0]) for x in rows), *d_last, *(tf.zeros_like(x) for x in constants_now))
            back_inputs = (*d_outputs, *starts, *rows)
            d_inputs, d_first, d_constants = parts(
                scan(back, zeros, back_inputs, reverse=True, num_stacked=len(rows)), len(rows), states
            )
            return *d_constants, *d_first, *d_inputs

        return found, gradient

    return tuple(run(*constants, *initial, *inputs))


def _jax(segment: Segment, constants: Tensors, initial: Tensors, inputs: Tensors, like: Tensors) -> Tensors:
    import jax

    def body(state: Tensors, now: Tensors) -> tuple[Tensors, Tensors]:
        found = segment(constants, state, now)
        return found[len(like) :], found[: len(like)]

    state, outputs = jax.lax.scan(jax.checkpoint(body, prevent_cse=False), initial, inputs)
    return *outputs, *state


def _torch(segment: Segment, constants: Tensors, initial: Tensors, inputs: Tensors, like: Tensors) -> Tensors:
    def run(*tensors: Tensor) -> Tensors:
        held, before = tensors[: len(constants)], tensors[len(constants) : len(constants) + len(initial)]
        # No output may be an input itself: its gradient would replace that of the input.
        return tuple(x.view_as(x) for x in segment(held, before, tensors[len(constants) + len(initial) :]))

    recomputed = _recomputed_by_torch(run)
    state, history = initial, []
    for t in range(inputs[0].shape[0]):
        found = recomputed(*constants, *state, *(x[t] for x in inputs))
        history.append(found[: len(like)])
        state = found[len(like) :]
    return *(ops.stack(list(column)) for column in zip(*history)), *state


def _recomputed_by_torch(run: Callable[..., Tensors]) -> Callable[..., Tensors]:
    """Return a function that computes the same as `run`, and again for its gradient."""
    if torch_compiles():  # the compiler itself chooses what to compute again
        return run
    import torch

    # Not `torch.utils.checkpoint`: it does not free what the closures of `keras.ops.custom_gradient` hold.
    class Recomputed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *tensors: Tensor) -> Tensors:
            ctx.save_for_backward(*tensors)
            return run(*tensors)

        @staticmethod
        def backward(ctx: Any, *upstream: Tensor) -> Tensors:
            again, needed = is_differentiated(), ctx.needs_input_grad
            # For a second derivative, they must still depend on the arguments.
            tensors = [
                x.view_as(x) if again else x.detach().requires_grad_(wanted)
                for x, wanted in zip(ctx.saved_tensors, needed, strict=True)
            ]
            with torch.enable_grad():
                found = run(*tensors)
            pairs = [(x, d) for x, d in zip(found, upstream, strict=True) if x.requires_grad]
            wanted = [x for x in tensors if x.requires_grad]
            results, d_results = zip(*pairs)
            gradients = iter(torch.autograd.grad(results, wanted, d_results, create_graph=again, allow_unused=True))
            return tuple(next(gradients) if x.requires_grad else None for x in tensors)

    return Recomputed.apply  # type: ignore[no-any-return]
