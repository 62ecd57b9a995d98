"""Compares the time of the depth-adaptive GRN with that of the same transition at full depth.

    KERAS_BACKEND=tensorflow python -m benchmarks.depth --output runs/depth-tensorflow

The benchmark measures only the transition (without the sequential module and the head), with given depths, for each
mean depth. *Full* is the plain transition, applied `max_depth` times to all words, in the fastest mode of the backend.
Ratios are taken within each round. In every sentence, at least one word goes through all layers.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
from keras import ops

from benchmarks import timing
from keras_slstm.extras import require
from keras_slstm.files import complete_file, write_json
from keras_slstm.layers.transition_weights import TransitionArguments
from keras_slstm.ops.kernels.depth_skipping import depth_adaptive_grn
from keras_slstm.training.results import conditions


class Transition(TransitionArguments, keras.layers.Layer):
    """Computes x U + b and the transition. Maps `(batch, time, units + 1)`, with the depth as last feature, to h, g."""

    def __init__(self, units: int, max_depth: int, adaptive: bool) -> None:
        super().__init__()
        self.units, self.max_depth, self.adaptive = units, max_depth, adaptive
        initializers = {"kernel": "glorot_uniform", "recurrent": "orthogonal", "bias": "zeros"}
        self.set_weight_arguments({f"{weight}_initializer": name for weight, name in initializers.items()})

    def build(self, input_shape: tuple) -> None:
        self.add_transition_weights(input_shape[-1] - 1, self.units)
        self.built = True

    def call(self, inputs: Any, training: bool = False) -> Any:
        x, depths = inputs[..., :-1], ops.cast(inputs[..., -1], "int32")
        h0 = x[..., : self.units]
        weights = self.transition_weights()
        adaptive = depths if self.adaptive else None
        h, g, _ = depth_adaptive_grn(weights, x, None, h0, adaptive, self.max_depth, training=training)
        return ops.concatenate([h, g], axis=1)


def impose(batch: int, length: int, max_depth: int, mean: float) -> np.ndarray:
    """Draw depths `(batch, length)` with this mean over the words. One word of each sentence has the largest depth.

    The depths of the others are drawn from `p_j` proportional to `exp(t j)`.
    """
    least = (max_depth + length - 1) / length
    if not least <= mean <= max_depth:
        raise ValueError(f"The mean depth of {length} words must be between {least:g} and {max_depth}, got {mean:g}.")
    if mean == max_depth:
        return np.full((batch, length), max_depth)
    rng = np.random.default_rng(0)
    numbers = np.arange(1, max_depth + 1)
    wanted = (mean * length - max_depth) / (length - 1)
    low, high = -20.0, 20.0
    for _ in range(100):
        t = (low + high) / 2
        p = np.exp(t * (numbers - numbers.mean()))
        p /= p.sum()
        low, high = (t, high) if p @ numbers < wanted else (low, t)
    depths = rng.choice(numbers, size=(batch, length), p=p)
    depths[np.arange(batch), rng.integers(length, size=batch)] = max_depth
    return depths


def measure(args: argparse.Namespace, kind: str) -> list[dict[str, Any]]:
    """Time full depth and every mean depth in all modes, for inference or training."""
    step = timing.training_step if kind == "training" else timing.inference
    features = np.random.default_rng(0).normal(size=(args.batch, args.length, args.units)).astype("float32")
    run: dict[tuple[str, str], timing.Step] = {}
    means = {}
    for mode in timing.MODES:
        for mean in [None, *args.means]:
            depths = impose(args.batch, args.length, args.max_depth, args.max_depth if mean is None else mean)
            x = np.concatenate([features, depths[..., None].astype("float32")], axis=-1)
            layer = Transition(args.units, args.max_depth, adaptive=mean is not None)
            layer.build(x.shape)
            name = "full" if mean is None else f"{mean:g}"
            means[name] = float(depths.mean())
            run[name, mode] = step(layer, timing.tensor(x, "float32"), mode)
    seconds = timing.in_turn(run, args.rounds)
    best = min((seconds["full", mode] for mode in timing.MODES), key=statistics.median)
    rows = []
    for (name, mode), taken in seconds.items():
        speed_up = 1 / timing.median_ratio(taken, best)
        median = statistics.median(taken)
        print(
            f"{kind:9} {mode:5} {name:>5} mean {means[name]:.2f} {median * 1e3:8.1f} ms {speed_up:6.2f} x", flush=True
        )
        rows.append(
            {
                "kind": kind,
                "mode": mode,
                "depth": name,
                "mean": means[name],
                "seconds": median,
                "fastest": min(taken),
                "slowest": max(taken),
                "speed_up": speed_up,
            }
        )
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Return a Markdown table of milliseconds and the speed-up over the fastest full depth."""
    columns = list(dict.fromkeys((row["kind"], row["mode"]) for row in rows))
    lines = ["| mean depth | " + " | ".join(f"{kind}, {mode}" for kind, mode in columns) + " |"]
    lines.append("| --- |" + " ---: |" * len(columns))
    for name in dict.fromkeys(row["depth"] for row in rows):
        found = {(row["kind"], row["mode"]): row for row in rows if row["depth"] == name}
        cells = [f"{found[c]['seconds'] * 1e3:.0f} ms ({found[c]['speed_up']:.2f} x)" for c in columns]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw_costs(rows: list[dict[str, Any]], path: Path) -> None:
    """Plot the time against the mean depth, as a share of the time of the fastest full depth."""
    figure = require("matplotlib.figure", "plots").Figure(figsize=(8, 4), layout="constrained")
    axes = figure.add_subplot()
    for kind, mode in dict.fromkeys((row["kind"], row["mode"]) for row in rows):
        chosen = [r for r in rows if (r["kind"], r["mode"]) == (kind, mode) and r["depth"] != "full"]
        axes.plot([r["mean"] for r in chosen], [1 / r["speed_up"] for r in chosen], marker="o", label=f"{kind}, {mode}")
    axes.axhline(1, color="0.5", linestyle="--", label="full depth, fastest mode")
    axes.set(xlabel="mean depth of the words", ylabel="time / time at full depth", ylim=0)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", frameon=False)
    with complete_file(path) as unfinished:
        figure.savefig(unfinished, dpi=120)


def main() -> None:
    """Measure, print, and write the table and the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--units", type=int, default=400)
    parser.add_argument("--max-depth", type=int, default=9)
    parser.add_argument("--means", type=float, nargs="+", help="mean depths (default: 1.5, 2, 3 ... the largest depth)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--output", type=Path, default=Path("runs", f"depth-{timing.BACKEND}"))
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    args.means = args.means or [1.5, *range(2, args.max_depth + 1)]
    settings = {name: vars(args)[name] for name in ("batch", "length", "units", "max_depth", "means", "rounds")}
    rows = [row for kind in ("inference", "training") for row in measure(args, kind)]
    write_json(args.output / "depth.json", {"conditions": conditions(), "settings": settings, "rows": rows})
    text = table(rows)
    (args.output / "depth.md").write_text(text + "\n", encoding="utf-8")
    draw_costs(rows, args.output / "depth.png")
    print(f"\n{json.dumps(settings)}, {timing.BACKEND}; in brackets: speed-up over full depth\n\n{text}")


if __name__ == "__main__":
    main()
