"""Times compiled calls in turn within one run, on the current Keras backend."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import numpy as np

BACKEND: str = keras.backend.backend()
# The ways to run a function: "graph" is tf.function, "xla" is jit_compile, "eager" is without compilation. PyTorch also
# has "compiled", torch.compile.
MODES = {"tensorflow": ("graph", "xla"), "jax": ("xla",), "torch": ("eager",)}[BACKEND]

SHORT = 0.01  # seconds; shorter steps are called `CALLS` times per turn
CALLS = 7

Step = Callable[[], None]


def tensor(array: np.ndarray, dtype: str) -> Any:
    """Return `array` as a tensor on the backend's default device."""
    return keras.ops.cast(keras.ops.convert_to_tensor(array), dtype)


def compiled(function: Callable[..., Any], mode: str, *arguments: Any) -> Step:
    """Return a call of `function(*arguments)`, in one of `MODES` or "compiled", that waits for the result."""
    if BACKEND == "tensorflow":
        import tensorflow as tf

        # A concrete function, because looking up the signature in Python takes longer than a small function.
        call = tf.function(function, jit_compile=mode == "xla").get_concrete_function(*arguments)
        asynchronous = bool(tf.config.list_logical_devices("GPU"))

        def step() -> None:
            call(*arguments)
            if asynchronous:
                tf.test.experimental.sync_devices()

        return step
    if BACKEND == "jax":
        import jax

        call = jax.jit(function)
        return lambda: jax.block_until_ready(call(*arguments))

    import torch

    if mode == "compiled":
        function = torch.compile(function, dynamic=False)

    def run() -> None:
        function(*arguments)
        if torch.cuda.is_available():
            torch.cuda.synchronize()

    return run


def _functional(layer: keras.Layer, mask: Any, training: bool) -> tuple[list[Any], Callable[..., Any]]:
    """Return the trainable weights of a layer, and its call as a function of `(weights, x)`, for JAX.

    It goes through `__call__`, because `stateless_call` bypasses the casts of mixed precision.
    """
    variables = layer.trainable_variables

    def call(weights: list[Any], x: Any) -> Any:
        with keras.StatelessScope(state_mapping=list(zip(variables, weights, strict=True))):
            return layer(x, **_of(mask), training=training)

    return [v.value for v in variables], call


def _of(mask: Any) -> dict[str, Any]:
    """Return the argument for a mask, which only some layers accept."""
    return {} if mask is None else {"mask": mask}


def clear() -> None:
    """Free what was compiled, which takes gigabytes for one size of inputs."""
    keras.backend.clear_session()
    if BACKEND == "torch":
        import torch

        torch.compiler.reset()  # by default, it compiles a function at most eight times
    gc.collect()


def inference(layer: keras.Layer, x: Any, mode: str, mask: Any = None) -> Step:
    """Return a step that computes the outputs of a built layer for the input `x` and its mask."""
    if BACKEND == "jax":
        weights, call = _functional(layer, mask, training=False)
        return compiled(call, mode, weights, x)
    if BACKEND == "torch":
        import torch

        def without_gradient(x: Any) -> Any:
            with torch.no_grad():
                return layer(x, **_of(mask))

        return compiled(without_gradient, mode, x)
    return compiled(lambda x: layer(x, **_of(mask)), mode, x)


def training_step(layer: keras.Layer, x: Any, mode: str, mask: Any = None) -> Step:
    """Return a step that computes the gradients of all weights and of the input, without an optimizer."""

    def loss(outputs: Any) -> Any:
        return keras.ops.sum(keras.ops.square(keras.ops.cast(outputs, "float32")))

    if BACKEND == "jax":
        weights, call = _functional(layer, mask, training=True)
        return gradient(lambda weights, x: loss(call(weights, x)), mode, weights, x)
    return gradient(lambda x: loss(layer(x, **_of(mask), training=True)), mode, x, variables=layer.trainable_variables)


def gradient(function: Callable[..., Any], mode: str, *arguments: Any, variables: Sequence[Any] = ()) -> Step:
    """Return a step for the gradient of a scalar function in its arguments and, except on JAX, in `variables`."""
    if BACKEND == "tensorflow":
        import tensorflow as tf

        def differentiate(*arguments: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(arguments)
                value = function(*arguments)
            return tape.gradient(value, [*arguments, *[v.value for v in variables]])

        return compiled(differentiate, mode, *arguments)
    if BACKEND == "jax":
        import jax

        return compiled(jax.grad(function, argnums=tuple(range(len(arguments)))), mode, *arguments)

    import torch

    if mode == "compiled":
        function = torch.compile(function, dynamic=False)  # its gradient is compiled with it

    def backward(*arguments: Any) -> Any:
        leaves = [x.detach().requires_grad_(True) for x in arguments]
        return torch.autograd.grad(function(*leaves), [*leaves, *[v.value for v in variables]])

    return compiled(backward, "eager", *arguments)


def matrix_products(
    products: list[tuple[int, int, int, int]], dtype: str, mode: str, backward: bool, join: bool = False
) -> Step:
    """Return a step that computes products `(rows, k) @ (k, columns)`: the floor of a layer that needs them.

    Each product is a separate compiled call, because a compiler would compute equal products only once. `in_turn`
    measures the overhead of the calls with empty calls in the same round, and subtracts it.

    Args:
        products: `(rows, k, columns, times)` of each product, which is computed `times` times.
        dtype: The dtype of the operands.
        mode: One of `MODES`.
        backward: Whether to run the two products of each product's gradient as well.
        join: Whether the gradient of the second operand is one product over all `times`, instead of one for each.
    """
    rng = np.random.default_rng(0)

    def operand(*shape: int) -> Any:
        return tensor(rng.normal(size=shape).astype("float32"), dtype)

    steps: list[tuple[Step, int]] = []
    for rows, k, columns, times in products:
        if times < 1:
            continue
        a, b, d = operand(rows, k), operand(k, columns), operand(rows, columns)
        steps.append((compiled(lambda a, b: a @ b, mode, a, b), times))
        if backward:
            steps.append((compiled(lambda d, b: d @ keras.ops.transpose(b), mode, d, b), times))
            if join:
                a, d, times = operand(times * rows, k), operand(times * rows, columns), 1
            steps.append((compiled(lambda a, d: keras.ops.transpose(a) @ d, mode, a, d), times))
    empty = compiled(lambda a: a, mode, tensor(np.zeros((1, 1), "float32"), dtype))
    calls = sum(times for _, times in steps)

    def overhead() -> None:
        for _ in range(calls):
            empty()

    def run() -> None:
        for step, times in steps:
            for _ in range(times):
                step()

    run.overhead = overhead  # type: ignore[attr-defined]
    return run


def in_turn(steps: Mapping[tuple[str, str], Step], rounds: int) -> dict[tuple[str, str], list[float]]:
    """Run all steps in turn, `rounds` times after a warm-up, and return the seconds of each step in each round.

    Steps are compared within a round, so that ratios do not change if the machine slows down. A step of less than ten
    milliseconds is called a few times per turn and the median is taken, because the other steps have filled the caches
    before its first call.
    """
    for step in steps.values():
        step()
        step()
    seconds: dict[tuple[str, str], list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            overhead = _seconds(step.overhead) if hasattr(step, "overhead") else 0.0
            seconds[name].append(_seconds(step) - overhead)
    return seconds


def _seconds(step: Step) -> float:
    taken = _timed(step)
    return taken if taken >= SHORT else statistics.median(_timed(step) for _ in range(CALLS))


def _timed(step: Step) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def median_ratio(seconds: list[float], reference: list[float]) -> float:
    """Return the median over the rounds of the ratio to the reference in the same round."""
    return statistics.median(a / b for a, b in zip(seconds, reference, strict=True))
