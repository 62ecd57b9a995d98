"""Runs random configurations of the public layers: `python -m tests.fuzz --seed 0 --cases 10000`.

The installed backends take turns: case `i` runs on backend `i % 3`, so seed and number identify a case. `--case 1234`
runs one case again, `--backend torch` all cases on one backend. Every case checks that

- outputs and gradients are finite, even with NaN or large numbers in the padding;
- outputs at masked positions and gradients of padding are exactly zero;
- dtypes and shapes are as the layer promises;
- outputs do not depend on the content of the padding, nor on more padding on either side;
- a layer recreated from its config computes the same.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import traceback
from dataclasses import dataclass
from typing import Any

from tests.__main__ import BACKENDS

FEATURES = 4
BLOCK = 200  # cases per process, because JAX keeps compiled code in memory
LENGTHS = (0, 1, 2, 3, 5, 8, 17, 64, 300, 2000)
LENGTH_SHARES = (0.05, 0.1, 0.1, 0.15, 0.2, 0.2, 0.1, 0.06, 0.03, 0.01)
POLICIES = ("float32", "float64", "mixed_float16", "mixed_bfloat16")
POLICY_SHARES = (0.55, 0.15, 0.15, 0.15)
TOLERANCES = {"float32": 2e-4, "float64": 1e-10, "mixed_float16": 0.03, "mixed_bfloat16": 0.2}
MASKS = ("none", "right", "left", "both", "holes", "empty row", "empty")


@dataclass(frozen=True)
class Case:
    """One random configuration, which depends only on the seed and the number."""

    seed: int
    number: int
    name: str
    options: dict[str, Any]
    policy: str
    batch: int
    time: int
    mask: str
    filler: float
    training: bool

    def __str__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return (
            f"{self.name}({options}), {self.policy}, batch {self.batch}, time {self.time}, mask {self.mask!r}, "
            f"{self.filler} in the padding"
            f"{', training' if self.training else ''}"
        )


def draw(seed: int, number: int) -> Case:
    """Draw the case of this number."""
    import numpy as np

    rng = np.random.default_rng([seed, number])
    name = str(rng.choice(list(LAYERS)))
    options: dict[str, Any] = {}
    for option, values in LAYERS[name].items():
        options[option] = values[int(rng.integers(len(values)))]
    time = int(rng.choice(LENGTHS, p=LENGTH_SHARES))
    if name == "SuBiLSTM":
        time = min(time, 64)  # its cost grows with the square of the length
    return Case(
        seed=seed,
        number=number,
        name=name,
        options=options,
        policy=str(rng.choice(POLICIES, p=POLICY_SHARES)),
        batch=int(rng.integers(1, 4)),
        time=time,
        mask=str(rng.choice(MASKS)),
        filler=float(rng.choice([np.nan, 50.0])),
        training=bool(rng.random() < 0.25),
    )


_YES_NO = [False, True]
_RATES = [0.0, 0.0, 0.3]
LAYERS: dict[str, dict[str, list[Any]]] = {
    "MaskedGlobalMaxPooling1D": {},
    "MaskedGlobalAveragePooling1D": {},
    "AttentionPooling": {"units": [None, 1, 5]},
    "NormalizedLSTM": {
        "units": [1, 3, 5],
        "dropout": _RATES,
        "recurrent_dropout": _RATES,
        "return_sequences": _YES_NO,
        "return_state": _YES_NO,
        "go_backwards": _YES_NO,
    },
    "MinGRU": {
        "units": [1, 3, 5],
        "dropout": _RATES,
        "return_sequences": _YES_NO,
        "return_state": _YES_NO,
        "go_backwards": _YES_NO,
    },
    "CASLSTM": {
        "units": [1, 3, 5],
        "num_layers": [1, 2, 3],
        "lam": [None, 0.0, 0.5, 1.0, "trainable"],
        "peephole": _YES_NO,
        "dropout": _RATES,
        "layer_dropout": _RATES,
        "recurrent_dropout": _RATES,
        "return_sequences": _YES_NO,
        "return_state": _YES_NO,
        "go_backwards": _YES_NO,
    },
    "SLSTM": {
        "units": [1, 3, 5],
        "steps": [1, 2, 3],
        "window": [1, 2, 3],
        "sentence_nodes": [0, 1, 2],
        "boundary_words": _YES_NO,
        "initial": ["learned", "zeros", "projection"],
        "dropout": _RATES,
        "recurrent_dropout": _RATES,
        "return_sequences": _YES_NO,
        "return_state": _YES_NO,
    },
    "SuBiLSTM": {
        "units": [1, 3],
        "tied": _YES_NO,
        "combine": ["max", "mean", "concat", "gate"],
        "cell": ["lstm", "gru"],
        "max_context": [None, 0, 1, 3],
        "dropout": _RATES,
        "recurrent_dropout": _RATES,
        "rematerialize": _YES_NO,
        "return_sequences": _YES_NO,
    },
    "DepthAdaptiveGRN": {
        "units": [2, 4],
        "max_depth": [1, 2, 5],
        "selection": ["gumbel", "hard", "soft", "full"],
        "sequential": [None, "bilstm", "sinusoidal", "learned"],
        "depth_units": [1, 4],
        "dropout": _RATES,
        "recurrent_dropout": _RATES,
        "return_sequences": _YES_NO,
        "return_state": _YES_NO,
        "return_depths": _YES_NO,
    },
    "CRF": {"units": [2, 3, 5], "use_kernel": [True], "use_boundary": _YES_NO, "pairwise": _YES_NO},
    "CharCNN": {"filters": [1, 5], "kernel_size": [1, 2, 3]},
    "CharBiLSTM": {"units": [1, 3]},
}


def make(case: Case) -> Any:
    """Create the unbuilt layer of a case, with input `(batch, time, FEATURES)`."""
    import keras_slstm
    from tests.layer_case import Spelled
    from tests.layers.partition import Partition

    options = dict(case.options)
    if options.get("peephole"):
        options["lam"] = None
    if options.get("sequential") == "learned":
        options["max_length"] = 3
    if any(options.get(name) for name in ("dropout", "layer_dropout", "recurrent_dropout")):
        options["seed"] = 7
    if case.name == "CRF":
        return Partition(**options)
    layer = getattr(keras_slstm, case.name)(**options)
    return Spelled(layer) if case.name.startswith("Char") else layer


def draw_mask(case: Case, rng: Any) -> Any:
    """Draw a mask `(batch, time)`, or None."""
    import numpy as np

    if case.mask == "none":
        return None
    mask = np.ones((case.batch, case.time), bool)
    for row in mask:
        start, end = sorted(int(n) for n in rng.integers(0, case.time + 1, 2))
        if case.mask in ("left", "both"):
            row[:start] = False
        if case.mask in ("right", "both"):
            row[end:] = False
        if case.mask == "holes":
            row[:] = rng.random(case.time) < 0.6
    if case.mask == "empty row":
        mask[int(rng.integers(case.batch))] = False
    if case.mask == "empty":
        mask[:] = False
    return mask


def check(case: Case) -> None:
    """Run a case and raise AssertionError if a promise is broken."""
    import keras
    import numpy as np

    from tests.backend import dtype_policy
    from tests.layer_case import randomize

    keras.utils.set_random_seed(case.number)
    rng = np.random.default_rng([case.seed, case.number, 1])
    x = rng.normal(size=(case.batch, case.time, FEATURES)).astype("float32")
    mask = draw_mask(case, rng)
    if mask is not None:
        x[~mask] = case.filler
    with dtype_policy(case.policy):
        layer = make(case)
        layer.build((None, None, FEATURES))
        randomize(layer)
        try:
            found = _run(layer, x, mask, case)
        except _refusals():
            if case.time and (mask is None or mask.any()):
                raise
            return  # a layer may refuse empty sentences with a clear error
        _check_outputs(case, layer, x, mask, found)
        if not case.training:
            _check_more_padding(case, layer, x, mask, found)
            twin = type(layer).from_config(layer.get_config())
            twin.build((None, None, FEATURES))
            randomize(twin)
            _compare(case, _run(twin, x, mask, case).outputs, found.outputs, "the layer made from the config differs")


def _refusals() -> tuple[type[Exception], ...]:
    """Return the types of errors for invalid arguments."""
    import keras

    if keras.backend.backend() != "tensorflow":
        return (ValueError,)
    import tensorflow as tf

    return ValueError, tf.errors.InvalidArgumentError


def _run(layer: Any, x: Any, mask: Any, case: Case) -> Any:
    import inspect

    from tests.backend import evaluate

    options = {"training": True} if case.training and "training" in inspect.signature(layer.call).parameters else {}
    return evaluate(layer, x, mask, **options)


def _sequences(case: Case, layer: Any) -> list[bool]:
    """Return for each output whether it has a time dimension."""
    shapes = layer.compute_output_shape((case.batch, None, FEATURES))
    shapes = [shapes] if shapes and not isinstance(shapes[0], tuple | list) else shapes
    return [len(shape) > 1 and shape[1] is None for shape in shapes]


def _check_outputs(case: Case, layer: Any, x: Any, mask: Any, found: Any) -> None:
    import numpy as np

    shapes = layer.compute_output_shape(x.shape)
    shapes = [shapes] if shapes and not isinstance(shapes[0], tuple | list) else shapes
    assert [tuple(s) for s in shapes] == [y.shape for y in found.outputs], f"{shapes} was promised"
    for y, dtype, sequence in zip(found.outputs, found.dtypes, _sequences(case, layer), strict=True):
        assert np.all(np.isfinite(y)), "an output is not finite"
        if "float" in dtype and case.name != "CRF":
            assert dtype == layer.compute_dtype, f"an output is {dtype}, not {layer.compute_dtype}"
        if mask is not None and sequence and "float" in dtype:
            assert not np.any(y[~_output_mask(layer, x, mask)]), "an output at a masked position is not 0"
    for name, gradient in {"the input": found.input_gradient, **found.weight_gradients}.items():
        assert np.all(np.isfinite(gradient)), f"the gradient of {name} is not finite"
    if mask is not None:
        assert not np.any(found.input_gradient[~mask]), "padding has a gradient"


def _output_mask(layer: Any, x: Any, mask: Any) -> Any:
    """Return the mask of the output, which a layer that reads backwards reverses."""
    from keras import ops

    from tests.backend import to_numpy

    found = layer.compute_mask(ops.convert_to_tensor(x), ops.convert_to_tensor(mask))
    found = found[0] if isinstance(found, list | tuple) else found
    return mask if found is None else to_numpy(found)


def _check_more_padding(case: Case, layer: Any, x: Any, mask: Any, found: Any) -> None:
    import numpy as np

    full = np.ones(x.shape[:2], bool) if mask is None else mask
    x_more = np.pad(np.nan_to_num(x, nan=7.0), ((0, 0), (2, 3), (0, 0)), constant_values=9.0)
    mask_more = np.pad(full, ((0, 0), (2, 3)))
    more = _run(layer, x_more, mask_more, case)
    pairs = []
    for y, z, sequence in zip(found.outputs, more.outputs, _sequences(case, layer), strict=True):
        if sequence:
            y = y[_output_mask(layer, x, full)]
            z = z[_output_mask(layer, x_more, mask_more)]
        pairs.append((z, y))
    _compare(case, [z for z, _ in pairs], [y for _, y in pairs], "padding changes an output")


def _compare(case: Case, found: Any, expected: Any, message: str) -> None:
    import numpy as np

    tolerance = TOLERANCES[case.policy]
    chosen = case.options.get("selection") in ("gumbel", "hard", "soft")
    if chosen and case.policy.startswith("mixed"):
        return  # rounding may change a depth
    for y, z in zip(found, expected, strict=True):
        np.testing.assert_allclose(y, z, rtol=tolerance, atol=tolerance, err_msg=message)


def run(seed: int, numbers: list[int]) -> int:
    """Run cases on this backend, report the failures, and return their number."""
    import keras

    backend, failures = keras.backend.backend(), 0
    for number in numbers:
        case = draw(seed, number)
        try:
            check(case)
        except Exception as error:
            failures += 1
            reason = str(error).strip().replace("\n", " ")[:300] or traceback.format_exc().splitlines()[-2].strip()
            print(f"FAILED on {backend}: {case}: {type(error).__name__}: {reason}", flush=True)
            print(f"  KERAS_BACKEND={backend} python -m tests.fuzz --seed {seed} --case {number}", flush=True)
    print(f"{backend}: {len(numbers)} cases, {failures} failures", flush=True)
    return failures


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=300, help="number of cases (300)")
    parser.add_argument("--start", type=int, default=0, help="number of the first case (0)")
    parser.add_argument("--case", type=int, help="run only this case, on the backend KERAS_BACKEND or its own")
    parser.add_argument("--backend", choices=BACKENDS, help="run all cases on this backend")
    args = parser.parse_args(arguments)
    numbers = [args.case] if args.case is not None else [*range(args.start, args.start + args.cases)]
    backend = args.backend or (args.case is not None and os.environ.get("KERAS_BACKEND"))
    if backend:
        return _elsewhere(backend, args.seed, numbers)
    shares = {name: [n for n in numbers if BACKENDS[n % 3] == name] for name in BACKENDS}
    return max([_elsewhere(name, args.seed, share) for name, share in shares.items() if share], default=0)


def _elsewhere(backend: str, seed: int, numbers: list[int]) -> int:
    """Run cases in processes with this backend, and return 1 if one fails."""
    worst = 0
    for start in range(0, len(numbers), BLOCK):
        block = numbers[start : start + BLOCK]
        code = f"import sys; from tests import fuzz; sys.exit(fuzz.run({seed}, {block}) > 0)"
        environment = {**os.environ, "KERAS_BACKEND": backend}
        worst = max(worst, abs(subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode))
    return worst


if __name__ == "__main__":
    sys.exit(main())
