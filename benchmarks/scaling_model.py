"""Predicts the efficiency of training in many processes, from measured steps and an assumed network.

    python -m benchmarks.scaling_model                                       # 10 Gbit/s, 50 microseconds
    python -m benchmarks.scaling_model --gigabits 1 --microseconds 200

The predicted step time of n processes is the slowest of n steps, drawn from the measured steps of one process, plus a
ring all-reduce: each process sends 2 (n - 1) / n of the gradients, in 2 (n - 1) messages, after the backward pass. The
gradients are those of the encoder and of 10,000 word vectors, in float32. The efficiency is the step time of one
process divided by that of n, each with its own batch. Real programs are faster if they exchange gradients during the
backward pass, and slower if several processes on one machine share its memory. The last lines compare the prediction
for two processes with the measurement of `benchmarks.scaling`, where both processes share a machine.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras_slstm
from benchmarks.encoders import encoders

RESULTS = Path(__file__).parent / "results"
WORKERS = (2, 8, 32, 64, 128, 256)
VOCABULARY = 10_000
BYTES = 4  # per float32
ENOUGH = 0.8  # the lowest efficiency that counts as good


class Network(NamedTuple):
    """The connection between the processes.

    Attributes:
        gigabits: The bandwidth of a process, in gigabits per second.
        microseconds: The latency of a message.
    """

    gigabits: float = 10.0
    microseconds: float = 50.0


class Measured(NamedTuple):
    """A training step of one process.

    Attributes:
        encoder: Name of the encoder.
        batch, length: Number of sentences, and of words per sentence.
        seconds: Median time of the step.
        parameters: Parameters of the encoder and of the word vectors.
    """

    encoder: str
    batch: int
    length: int
    seconds: float
    parameters: int


def exchange_seconds(gradient_bytes: float, workers: int, network: Network) -> float:
    """Return the time of a ring all-reduce of the gradients."""
    messages = 2 * (workers - 1)
    return messages / workers * gradient_bytes * 8 / (network.gigabits * 1e9) + messages * network.microseconds * 1e-6


def slowest_seconds(seconds: Sequence[float], workers: int) -> float:
    """Return the expected maximum of `workers` draws, with replacement, from measured times."""
    count = len(seconds)
    below = [(rank / count) ** workers for rank in range(count + 1)]
    return sum(value * (below[rank + 1] - below[rank]) for rank, value in enumerate(sorted(seconds)))


def efficiency(measured: Measured, workers: int, network: Network, spread: Sequence[float]) -> float:
    """Return the step time of one process divided by that of many.

    Args:
        measured: The step of one process.
        workers: Number of processes.
        network: The connection between them.
        spread: Times of single steps, divided by their mean.
    """
    computed = measured.seconds * slowest_seconds(spread, workers)
    return measured.seconds / (computed + exchange_seconds(BYTES * measured.parameters, workers, network))


def bottleneck(measured: Measured, network: Network, spread: Sequence[float]) -> str:
    """Return the smallest number of workers with an efficiency below 80%, and the larger of the two causes."""
    for workers in range(2, WORKERS[-1] + 1):
        if efficiency(measured, workers, network, spread) < ENOUGH:
            waiting = measured.seconds * (slowest_seconds(spread, workers) - 1)
            exchange = exchange_seconds(BYTES * measured.parameters, workers, network)
            return f"{workers}: {'exchange' if exchange > waiting else 'the slowest step'}"
    return f"above {WORKERS[-1]}"


def measured_steps() -> list[Measured]:
    """Return the training steps that `benchmarks.encoders`, `subilstm` and `depth` recorded on JAX."""
    found = []
    recorded = _read("encoders-jax/encoders.json")
    for row in recorded["rows"]:
        if (row["kind"], row["batch"], row["length"]) == ("training", 32, 32) and row["encoder"] in _OURS:
            found.append(Measured(row["encoder"], 32, 32, row["seconds"], _parameters(row["encoder"])))
    recorded = _read("subilstm-jax/subilstm.json")
    for row in recorded["rows"]:
        if (row["encoder"], row["length"]) == ("SuBiLSTM", 32):
            batch = recorded["settings"]["batch"]
            found.append(Measured("SuBiLSTM", batch, 32, row["seconds"], _parameters("SuBiLSTM")))
    recorded = _read("depth-jax/depth.json")
    settings = recorded["settings"]
    for row in recorded["rows"]:
        if (row["kind"], row["depth"]) == ("training", "3"):
            name = f"Depth-adaptive GRN, mean depth 3, {settings['units']} units"
            parameters = _grn_parameters(settings["units"], settings["max_depth"])
            found.append(Measured(name, settings["batch"], settings["length"], row["seconds"], parameters))
    return found


def spread() -> list[float]:
    """Return the step times of one process of `benchmarks.scaling` on JAX, divided by their mean."""
    seconds = next(run["seconds"]["1"] for run in _read("scaling.json") if run["backend"] == "jax")
    return [value / statistics.fmean(seconds) for value in seconds]


def table(network: Network) -> str:
    """Return a table of predicted efficiencies, by encoder and number of workers."""
    columns = [f"{workers} workers" for workers in WORKERS]
    names = ["encoder", "batch x words", "ms per step", "MB of gradients", *columns, f"below {ENOUGH:.0%} from"]
    lines = [f"| {' | '.join(names)} |", f"| --- | ---: |{' ---: |' * (len(names) - 3)} --- |"]
    steps = spread()
    for measured in measured_steps():
        cells = [
            measured.encoder,
            f"{measured.batch} x {measured.length}",
            f"{1e3 * measured.seconds:.0f}",
            f"{BYTES * measured.parameters / 1e6:.1f}",
            *(f"{efficiency(measured, workers, network, steps):.0%}" for workers in WORKERS),
            bottleneck(measured, network, steps),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def check() -> str:
    """Return a table that compares the prediction for two processes, without the exchange, with the measurement."""
    lines = [
        "| backend | memory allocator | one process, ms | the slowest of two, ms | measured for two, ms | "
        "exchange and shared memory |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for run in _read("scaling.json"):
        alone, together = run["seconds"]["1"], statistics.fmean(run["seconds"]["2"])
        slowest = slowest_seconds(alone, 2)
        values = [1e3 * value for value in (statistics.fmean(alone), slowest, together)]
        cells = [run["backend"], run["allocator"], *(f"{value:.0f}" for value in values)]
        cells.append(f"{1 - slowest / together:.0%} of the step")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


_OURS = ("S-LSTM", "BiLSTM", "CAS-LSTM", "Bi-CAS-LSTM")


@functools.cache
def _parameters(encoder: str, units: int = 300, steps: int = 9) -> int:
    layer = encoders(units, steps)[encoder]()
    layer.build((None, None, units))
    return layer.count_params() + VOCABULARY * units


@functools.cache
def _grn_parameters(units: int, max_depth: int) -> int:
    layer = keras_slstm.DepthAdaptiveGRN(units, max_depth=max_depth)
    layer.build((None, None, units))
    return layer.count_params() + VOCABULARY * units


def _read(name: str) -> Any:
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling_model", description=__doc__.partition("\n")[0])
    parser.add_argument("--gigabits", type=float, default=Network().gigabits, help="bandwidth (default: %(default)s)")
    parser.add_argument(
        "--microseconds", type=float, default=Network().microseconds, help="latency of a message (default: %(default)s)"
    )
    given = parser.parse_args()
    print(table(Network(given.gigabits, given.microseconds)), check(), sep="\n\n")


if __name__ == "__main__":
    main()
