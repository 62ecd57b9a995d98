"""The checks that every public layer must pass; each of `CHECKS` is applied to a `LayerCase`.

`tests/layers/cases.py` holds the table of cases; `tests/test_layer_checks.py` shows that the checks can fail.
A check raises `AssertionError`, or skips if the backend does not support it.
"""

from __future__ import annotations

import functools
import inspect
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import ops

from tests.backend import BACKEND, MODES, default_cotangent, dtype_policy, to_numpy
from tests.backend import outputs as outputs_of
from tests.compile_check import check_torch_compile
from tests.device_check import check_device
from tests.input_checks import check_bfloat16, check_empty, check_input_dtypes, check_mask_values
from tests.layer_case import BATCH, FEATURES, SHORT, TIME, LayerCase, assert_close, build, randomize, sentences

# Construction and shapes


def check_config(case: LayerCase) -> None:
    """The config contains every argument, survives JSON, and recreates a layer that computes the same."""
    layer = case.make()
    config = layer.get_config()
    if type(layer).__module__.startswith("keras_slstm") or "tests" in type(layer).__module__:
        named = inspect.signature(type(layer).__init__).parameters.values()
        arguments = {p.name for p in named if p.kind is p.POSITIONAL_OR_KEYWORD} - {"self"}
        assert arguments <= set(config), f"not in the config: {sorted(arguments - set(config))}"
    serialized = json.loads(json.dumps(keras.saving.serialize_keras_object(layer)))
    twins = type(layer).from_config(layer.get_config()), keras.saving.deserialize_keras_object(serialized)
    for twin in twins:
        assert type(twin) is type(layer)
        assert twin.get_config() == config
    for one in (layer, *twins):
        build(one)
        randomize(one)
    expected = case.run(layer, sentences()).outputs
    for twin in twins:
        assert_close(case.run(twin, sentences()).outputs, expected)


def check_shapes(case: LayerCase) -> None:
    """Symbolic shapes, dtypes and masks match the real outputs, for static and unknown time."""
    layer = case.built()
    x, mask = sentences(), np.ones((BATCH, TIME), bool)
    mask[0, :2] = False
    computed = [np.asarray(y) for y in case.run(layer, x, mask).outputs]
    for time in (TIME, None):
        symbolic = keras.Input((time, FEATURES))
        outputs = keras.tree.flatten(layer(symbolic, **case.call_kwargs))
        for kind, spec, y in zip(case.outputs, outputs, computed, strict=True):
            expected = (None, time, *y.shape[2:]) if kind == "sequence" else (None, *y.shape[1:])
            assert tuple(spec.shape) == expected
            assert keras.backend.standardize_dtype(spec.dtype) == y.dtype
        model = keras.Model(symbolic, outputs)
        assert_close(outputs_of(model, x), case.run(layer, x).outputs)
    if not case.call_kwargs:
        shapes = layer.compute_output_shape(x.shape)
        shapes = [shapes] if len(case.outputs) == 1 else list(shapes)
        assert [tuple(shape) for shape in shapes] == [y.shape for y in computed]
    if not type(layer).__module__.startswith("keras."):  # Keras' wrappers no longer pass masks on
        tensors = ops.convert_to_tensor(x), ops.convert_to_tensor(mask)
        masks = layer.compute_mask(*tensors)
        masks = masks if isinstance(masks, list | tuple) else [masks]
        if not case.call_kwargs:
            assert [m is not None for m in masks] == [kind == "sequence" for kind in case.outputs]
        nothing = layer.compute_mask(tensors[0], None)
        assert all(m is None for m in (nothing if isinstance(nothing, list | tuple) else [nothing]))


# Masks


def _padded(filler: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the same sentences without padding, and padded on the left, the right and both sides, with their mask."""
    bare = sentences(time=SHORT)
    x = np.full((BATCH, TIME, FEATURES), filler, "float32")
    mask = np.zeros((BATCH, TIME), bool)
    for row, start in enumerate((2, 0, 1)):
        x[row, start : start + SHORT] = bare[row]
        mask[row, start : start + SHORT] = True
    return bare, x, mask


def _padding_changes_nothing(case: LayerCase, filler: float) -> None:
    layer = case.built()
    bare, x, mask = _padded(filler)
    expected = case.run(layer, bare)
    cotangents = []
    for kind, y in zip(case.outputs, expected.outputs, strict=True):
        cotangent = default_cotangent(y.shape)
        if kind == "sequence":
            cotangent = np.zeros((BATCH, TIME, *y.shape[2:]))
            cotangent[case.output_mask(layer, x, mask)] = default_cotangent(y.shape).reshape(-1, *y.shape[2:])
        cotangents.append(cotangent)
    found = case.run(layer, x, mask, cotangents=cotangents)
    unmasked = case.unmasked(layer, x, mask, found.outputs)
    assert_close([a.reshape(b.shape) for a, b in zip(unmasked, expected.outputs)], expected.outputs)
    for kind, y in zip(case.outputs, found.outputs):
        if kind == "sequence":
            assert not np.any(y[~case.output_mask(layer, x, mask)]), "outputs at masked positions are not 0"
    assert not np.any(found.input_gradient[~mask]), "padding has a gradient"
    assert_close(found.input_gradient[mask].reshape(bare.shape), expected.input_gradient)
    assert_close(found.weight_gradients, expected.weight_gradients, atol=1e-4)
    everywhere = case.run(layer, bare, np.ones(bare.shape[:2], bool))
    assert_close(everywhere.outputs, expected.outputs)


def check_padding(case: LayerCase) -> None:
    """Padding on either side changes no output or gradient, and its own gradient is exactly zero."""
    _padding_changes_nothing(case, filler=50.0)


def check_nan_padding(case: LayerCase) -> None:
    """The same holds with NaN in the padding."""
    _padding_changes_nothing(case, filler=float("nan"))


def check_interior_mask(case: LayerCase) -> None:
    """A masked word inside a sentence has no effect, or cuts the sentence, as the case says."""
    layer = case.built()
    x, hole = sentences(), 2
    mask = np.ones((BATCH, TIME), bool)
    mask[:, [hole, -1]] = False
    other = x.copy()
    other[:, hole] = 50.0
    found, same = case.run(layer, x, mask), case.run(layer, other, mask)
    assert_close(found.outputs, same.outputs, rtol=0, atol=1e-6)
    assert not np.any(found.input_gradient[:, hole])
    compact = np.delete(x, [hole, TIME - 1], axis=1)
    expected = case.run(layer, compact).outputs
    unmasked = [a.reshape(b.shape) for a, b in zip(case.unmasked(layer, x, mask, found.outputs), expected)]
    if case.interior == "join":
        assert_close(unmasked, expected)
    else:
        assert case.interior == "cut"
        assert all(np.max(np.abs(a - b)) > 1e-4 for a, b in zip(unmasked, expected) if np.any(b)), "no cut"


def check_empty_row(case: LayerCase) -> None:
    """A row that is only padding has zero outputs and gradients, and does not affect other rows."""
    layer = case.built()
    x = sentences()
    mask = np.ones((BATCH, TIME), bool)
    mask[0, 4:] = False
    mask[1] = False
    others = [0, 2]
    full = mask.copy()
    full[1] = True
    cotangents = [default_cotangent(y.shape) for y in case.run(layer, x, full).outputs]
    found = case.run(layer, x, mask, cotangents=cotangents)
    for cotangent in cotangents:  # the row that is full here must not add to the gradients
        cotangent[1] = 0
    expected = case.run(layer, x, full, cotangents=cotangents)
    assert_close([y[others] for y in found.outputs], [y[others] for y in expected.outputs])
    for array in (*found.outputs, found.input_gradient, *found.weight_gradients.values()):
        assert np.all(np.isfinite(array))
    if case.empty_row == "finite":
        return
    assert case.empty_row == "zero"
    for y in found.outputs:
        assert not np.any(y[1]), f"an empty row gives {y[1]}"
    assert not np.any(found.input_gradient[1])
    assert_close(found.input_gradient[others], expected.input_gradient[others])
    assert_close(found.weight_gradients, expected.weight_gradients, atol=1e-4)


# Dtypes, gradients, compilation


def check_precision(case: LayerCase) -> None:
    """Each dtype policy is obeyed, and gives the results of float32 within its precision."""
    x, mask = sentences(), np.ones((BATCH, TIME), bool)
    mask[0, 4:] = False
    mask[1] = False
    reference = case.built()
    expected = case.run(reference, x, mask)
    for policy, tolerance in (("float64", 1e-5), ("mixed_float16", 0.02), ("mixed_bfloat16", 0.1)):
        layer = case.built(policy)
        with dtype_policy(policy):
            found = case.run(layer, x, mask)
        assert {v.dtype for v in layer.trainable_variables} <= {layer.variable_dtype}
        for dtype, wanted in zip(found.dtypes, expected.dtypes, strict=True):
            assert dtype == (layer.compute_dtype if "float" in wanted else wanted), f"{policy}: {dtype}"
        assert_close(found.outputs, expected.outputs, rtol=tolerance, atol=tolerance)
        assert all(np.all(np.isfinite(d)) for d in found.weight_gradients.values())
        assert np.all(np.isfinite(found.input_gradient))


def check_float64(case: LayerCase) -> None:
    """Under float64, no intermediate value is rounded to float32, which cannot resolve a change of 1e-10."""
    x, mask = sentences(), np.ones((BATCH, TIME), bool)
    mask[0, 4:] = False
    layer = case.built("float64")
    with dtype_policy("float64"):
        inputs = [x.astype("float64") * (1 + change) for change in (0.0, 1e-10)]
        before, after = (case.run(layer, x, mask) for x in inputs)
    for y, z in zip(before.outputs, after.outputs, strict=True):
        nonzero = (z != 0) & (y != 0)
        change = np.abs(z - y)[nonzero]
        assert np.mean(np.float32(z[nonzero]) != z[nonzero]) > 0.9, "the outputs are float32 numbers"
        assert np.mean(change > 0) > 0.9, "a change of 1e-10 is lost"
        assert np.all(change < 1e-8), f"a change of 1e-10 becomes {change.max()}"


def check_gradients(case: LayerCase) -> None:
    """Every trainable weight has a gradient; eager and compiled outputs and gradients are equal."""
    layer = case.built()
    x, mask = sentences(), np.ones((BATCH, TIME), bool)
    mask[0, 4:] = False
    expected = case.run(layer, x, mask, mode="eager")
    assert np.all(np.any(expected.input_gradient[mask], axis=-1)) or not layer.trainable_variables
    for path, gradient in expected.weight_gradients.items():
        assert np.any(gradient), f"no gradient reaches {path}"
    for mode in MODES[1:]:
        found = case.run(layer, x, mask, mode=mode)
        assert_close(found.outputs, expected.outputs)
        assert_close(found.input_gradient, expected.input_gradient)
        assert_close(found.weight_gradients, expected.weight_gradients, atol=1e-4)


def check_rematerialisation(case: LayerCase) -> None:
    """Outputs and gradients are the same inside `keras.RematScope`."""
    x, mask = sentences(), np.ones((BATCH, TIME), bool)
    mask[0, 4:] = False
    expected = case.run(case.built(), x, mask)
    with keras.RematScope(mode="full"):
        found = case.run(case.built(), x, mask)
    assert_close(found.outputs, expected.outputs)
    assert_close(found.input_gradient, expected.input_gradient)
    assert_close(found.weight_gradients, expected.weight_gradients, atol=1e-4)


def check_dropout(case: LayerCase) -> None:
    """Dropout is drawn from the seed, again in each call, and only in training."""
    layer, x = case.make(), ops.convert_to_tensor(sentences())

    def outputs(layer: keras.Layer, training: bool) -> np.ndarray:
        build(layer)
        randomize(layer)
        return to_numpy(keras.tree.flatten(layer(x, training=training))[0])

    if not case.stochastic:
        if "training" in inspect.signature(layer.call).parameters:
            assert_close(outputs(layer, training=True), outputs(layer, training=False))
        return
    first, second, plain = outputs(layer, True), outputs(layer, True), outputs(layer, False)
    assert np.any(first != second), "each call must draw a new mask"
    assert np.any(first != plain)
    assert_close(outputs(case.make(), True), first)
    assert_close(outputs(case.make(), False), plain)


# In a model


def token_ids() -> np.ndarray:
    """Return ids with padding on either side, and equally many words in both halves of the batch.

    Keras averages over the words of each replica.
    """
    ids = np.random.default_rng(0).integers(1, 9, size=(4, TIME))
    ids[0, :2] = 0
    ids[2, 4:] = 0
    return ids


def text_model(case: LayerCase, head: bool) -> keras.Model:
    """Embedding (which masks id 0), the layer and, with `head`, a score per sentence or word."""
    ids = keras.Input((None,), dtype="int32")
    words = keras.layers.Embedding(9, FEATURES, mask_zero=True)(ids)
    outputs = case.make()(words, **case.call_kwargs)
    if head:
        outputs = keras.layers.Dense(1)(keras.tree.flatten(outputs)[0])
    return keras.Model(ids, outputs)


def _fit(case: LayerCase) -> tuple[list[float], list[np.ndarray]]:
    """Train the layer, or an embedding below a layer without weights, and return losses and weights."""
    keras.utils.set_random_seed(0)
    model = text_model(case, head=True)
    randomize(model)
    _, embedding, layer, *head = model.layers
    embedding.trainable = not layer.trainable_weights
    for other in head:
        other.trainable = False
    # MirroredStrategy cannot train with XLA; JAX always uses it.
    model.compile(keras.optimizers.SGD(0.05), loss="mse", jit_compile=BACKEND == "jax")
    shape = (4, TIME, 1) if case.outputs[0] == "sequence" else (4, 1)
    y = 1.0 + default_cotangent(shape)
    history = model.fit(token_ids(), y, batch_size=4, epochs=6, shuffle=False, verbose=0)
    return history.history["loss"], model.get_weights()


_fit_on_one_device = functools.cache(_fit)


def check_training(case: LayerCase) -> None:
    """The loss falls in every step of a short training."""
    losses, _ = _fit_on_one_device(case)
    assert np.all(np.diff(losses) < 0), f"the loss does not fall: {losses}"


def check_two_replicas(case: LayerCase) -> None:
    """Two replicas of MirroredStrategy learn the same weights as one device."""
    if BACKEND != "tensorflow":
        pytest.skip("MirroredStrategy is TensorFlow's")
    import tensorflow as tf

    if case.stochastic:
        pytest.skip("replicas draw their own dropout")
    _, expected = _fit_on_one_device(case)
    # The default collective operations mix up several strategies in one process.
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"], tf.distribute.ReductionToOneDevice())
    with strategy.scope():
        _, found = _fit(case)
    assert_close(found, expected)


def check_saving(case: LayerCase) -> None:
    """A `.keras` file gives the predictions of the saved model."""
    model = text_model(case, head=False)
    randomize(model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        model.save(path)
        loaded = keras.saving.load_model(path)
    assert_close(predict(loaded, token_ids()), predict(model, token_ids()))


def check_export(case: LayerCase) -> None:
    """An exported SavedModel gives the predictions of the model, for any batch size and length."""
    if BACKEND == "torch":
        pytest.skip("Keras exports no SavedModel from the torch backend")
    import tensorflow as tf

    model = text_model(case, head=False)
    randomize(model)
    with tempfile.TemporaryDirectory() as folder:
        model.export(folder, verbose=False)
        served = tf.saved_model.load(folder)
        for ids in (token_ids(), token_ids()[:3, 2:]):
            found = [np.asarray(y) for y in keras.tree.flatten(served.serve(tf.constant(ids, "int32")))]
            assert_close(found, predict(model, ids))


def predict(model: keras.Model, ids: np.ndarray) -> list[np.ndarray]:
    """Return all outputs of a `text_model`."""
    return outputs_of(model, ids.astype("int32"))


CHECKS: dict[str, Callable[[LayerCase], None]] = {
    check.__name__.removeprefix("check_"): check
    for check in (
        check_config,
        check_shapes,
        check_padding,
        check_nan_padding,
        check_interior_mask,
        check_empty_row,
        check_empty,
        check_mask_values,
        check_input_dtypes,
        check_bfloat16,
        check_precision,
        check_float64,
        check_gradients,
        check_rematerialisation,
        check_torch_compile,
        check_device,
        check_dropout,
        check_training,
        check_two_replicas,
        check_saving,
        check_export,
    )
}
SLOW_CHECKS: tuple[str, ...] = ("precision", "rematerialisation", "torch_compile", "training", "two_replicas")
SLOW_CHECKS += ("mask_values", "input_dtypes", "bfloat16")
if BACKEND == "jax":  # JAX compiles each operation for each shape and dtype
    SLOW_CHECKS += ("empty", "shapes", "export", "nan_padding", "saving", "float64")


def apply(name: str, case: LayerCase) -> None:
    """Apply the named check, unless the case is exempt from it."""
    if name in case.exempt:
        pytest.skip(case.exempt[name])
    CHECKS[name](case)
