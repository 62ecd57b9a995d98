"""Cost of depths: the depth-adaptive GRN beside the same transition at full depth.

    KERAS_BACKEND=tensorflow python -m benchmarks.depth --output runs/depth-tensorflow

measures the transition alone (without sequential module and head) with depths imposed, for each mean depth: *full* is
the plain transition, `max_depth` times for all words, in the fastest of the backend's modes; ratios are taken round by
round. In every sentence at least one word goes through all layers.

    python -m benchmarks.depth --results runs/results.jsonl --data imdb_reviews

draws Figure 3 of Liu et al. (2020), accuracy and speed against the largest depth, from runs of

    python examples/classify_text.py --dataset imdb_reviews --encoder depth_adaptive_grn --speed --variants \
        max_depth=1 max_depth=2 max_depth=3 max_depth=4 max_depth=5 max_depth=6 max_depth=7 max_depth=8 max_depth=9

and of the same with `--encoder full_depth_grn`.
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
from keras_slstm.metrics.summaries import mean_and_spread
from keras_slstm.ops.kernels.depth_skipping import depth_adaptive_grn
from keras_slstm.training.results import conditions, read_results


class Transition(TransitionArguments, keras.layers.Layer):
    """x U + b, and the transition: `(batch, time, units + 1)`, of which the last feature is the depth, to h and g."""

    def __init__(self, units: int, max_depth: int, adaptive: bool) -> None:
        super().__init__()
        self.units, self.max_depth, self.adaptive = units, max_depth, adaptive
        self.set_weight_arguments(
            kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal", bias_initializer="zeros"
        )

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
    """Random depths, `(batch, length)`, with this mean over the words, and one word of each sentence at the largest.

    The others are drawn from `p_j` proportional to `exp(t j)`.
    """
    least = (max_depth + length - 1) / length
    if not least <= mean <= max_depth:
        raise ValueError(f"The mean depth of {length} words lies between {least:g} and {max_depth}, but got {mean:g}.")
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
    """Markdown: milliseconds, and how many times as fast as the best full depth."""
    columns = list(dict.fromkeys((row["kind"], row["mode"]) for row in rows))
    lines = ["| mean depth | " + " | ".join(f"{kind}, {mode}" for kind, mode in columns) + " |"]
    lines.append("| --- |" + " ---: |" * len(columns))
    for name in dict.fromkeys(row["depth"] for row in rows):
        found = {(row["kind"], row["mode"]): row for row in rows if row["depth"] == name}
        cells = [f"{found[c]['seconds'] * 1e3:.0f} ms ({found[c]['speed_up']:.2f} x)" for c in columns]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw_costs(rows: list[dict[str, Any]], path: Path) -> None:
    """The time against the mean depth, as a share of that of the best full depth."""
    figure = require("matplotlib.figure", "plots").Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    for kind, mode in dict.fromkeys((row["kind"], row["mode"]) for row in rows):
        chosen = [r for r in rows if (r["kind"], r["mode"]) == (kind, mode) and r["depth"] != "full"]
        axes.plot([r["mean"] for r in chosen], [1 / r["speed_up"] for r in chosen], marker="o", label=f"{kind}, {mode}")
    axes.axhline(1, color="0.5", linestyle="--", label="full depth, the best way")
    axes.set(xlabel="mean depth of the words", ylabel="time / time at full depth", ylim=0)
    axes.grid(alpha=0.3)
    axes.legend()
    with complete_file(path) as unfinished:
        figure.savefig(unfinished, dpi=120)


def draw_figure_3(results: list[dict[str, Any]], data: str, path: Path) -> None:
    """Accuracy and texts a second against the largest depth, from runs of `examples/classify_text.py`.

    Runs that differ in anything but largest depth, seed and fold would make a line of different things: that is an
    error.
    """
    figure = require("matplotlib.figure", "plots").Figure(figsize=(7, 4), layout="constrained")
    left = figure.add_subplot()
    right = left.twinx()
    for encoder, colour in (("full_depth_grn", "tab:red"), ("depth_adaptive_grn", "tab:blue")):
        found: dict[int, dict[Any, dict[str, Any]]] = {}
        kinds = set()
        for run in results:
            settings = dict(run.get("settings", {}))
            options = dict(settings.get("encoder_options", {}))
            if run["data"] == data and settings.get("encoder") == encoder and "texts_a_second" in run:
                depth = options.pop("max_depth", settings["max_depth"])
                found.setdefault(depth, {})[run["seed"], run.get("fold")] = run
                alike = {k: v for k, v in settings.items() if k not in ("seed", "data", "max_depth")}
                kinds.add(json.dumps({**alike, "encoder_options": options}, sort_keys=True))
        if len(kinds) > 1:
            raise ValueError(f"The runs of {encoder} on {data!r} have different settings: {'; '.join(sorted(kinds))}.")
        if not found:
            raise ValueError(f"There is no run of {encoder} on {data!r} with --speed.")
        for axes, measure, style, factor in (
            (left, "test_accuracy", "-o", 100), (right, "texts_a_second", "--s", 1)
        ):  # fmt: skip
            values = [mean_and_spread(factor * run[measure] for run in found[d].values())[0] for d in sorted(found)]
            axes.plot(sorted(found), values, style, color=colour, markersize=4, label=f"{encoder}: {measure}")
    left.set(xlabel="largest depth", ylabel="test accuracy (solid)")
    right.set(ylabel="texts a second (dashed)", ylim=0)
    left.legend(handles=[*left.lines, *right.lines], fontsize="small")
    left.grid(alpha=0.3)
    with complete_file(path) as unfinished:
        figure.savefig(unfinished, dpi=120)


def main() -> None:
    """Measure, print, and write table and picture; or draw Figure 3."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--units", type=int, default=400)
    parser.add_argument("--max-depth", type=int, default=9)
    parser.add_argument("--means", type=float, nargs="+", help="(1.5, 2, 3 ... the largest depth)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--output", type=Path, default=Path("runs", f"depth-{timing.BACKEND}"))
    parser.add_argument("--results", type=Path, help="draw Figure 3 from this file instead")
    parser.add_argument("--data", default="imdb_reviews", help="the data set of Figure 3")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    if args.results:
        picture = args.output / f"{args.data.replace('/', '-')}-depths.png"
        draw_figure_3(read_results(args.results), args.data, picture)
        print(f"Wrote {picture}")
        return

    args.means = args.means or [1.5, *range(2, args.max_depth + 1)]
    settings = {name: vars(args)[name] for name in ("batch", "length", "units", "max_depth", "means", "rounds")}
    rows = [row for kind in ("inference", "training") for row in measure(args, kind)]
    write_json(args.output / "depth.json", {"conditions": conditions(), "settings": settings, "rows": rows})
    text = table(rows)
    (args.output / "depth.md").write_text(text + "\n", encoding="utf-8")
    draw_costs(rows, args.output / "depth.png")
    print(f"\n{json.dumps(settings)}, {timing.BACKEND}; in brackets: how many times as fast as full depth\n\n{text}")


if __name__ == "__main__":
    main()
