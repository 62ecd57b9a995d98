"""Predicts how much of its speed each of many processes keeps, from measured steps and a network that is stated.

    python -m benchmarks.scaling_model                                       # 10 gigabits a second, 50 microseconds
    python -m benchmarks.scaling_model --gigabits 1 --microseconds 200

A step of n processes is predicted as the slowest of n steps, drawn from those that one process took, and the exchange
of all gradients by a ring: each process sends 2 (n - 1) / n of the gradients, in 2 (n - 1) messages, after the backward
pass. The gradients are those of the encoder and of 10,000 word vectors, in float32. The efficiency is the step of one
process divided by that of n, each with its own batch. Real programs exchange some gradients during the backward pass,
and gain; several processes on one machine share its memory, and lose. The last lines compare the prediction for two
processes with the measurement of `benchmarks.scaling`, where both processes share a machine.
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
BYTES = 4  # of a float32
ENOUGH = 0.8  # the efficiency below which more workers are called a waste


class Network(NamedTuple):
    """The connection between the processes.

    Attributes:
        gigabits: The rate at which a process sends, in gigabits a second.
        microseconds: The time from sending a message to its arrival.
    """

    gigabits: float = 10.0
    microseconds: float = 50.0


class Measured(NamedTuple):
    """A training step of one process.

    Attributes:
        encoder: Name of the encoder.
        batch, length: Sentences and words of the step.
        seconds: Its median time.
        parameters: Parameters of the encoder and of the word vectors.
    """

    encoder: str
    batch: int
    length: int
    seconds: float
    parameters: int


def exchange_seconds(gradient_bytes: float, workers: int, network: Network) -> float:
    """The time of a ring in which every process gets the sum of all gradients."""
    messages = 2 * (workers - 1)
    return messages / workers * gradient_bytes * 8 / (network.gigabits * 1e9) + messages * network.microseconds * 1e-6


def slowest_seconds(seconds: Sequence[float], workers: int) -> float:
    """The expected maximum of so many draws, with replacement, from measured times."""
    count = len(seconds)
    below = [(rank / count) ** workers for rank in range(count + 1)]
    return sum(value * (below[rank + 1] - below[rank]) for rank, value in enumerate(sorted(seconds)))


def efficiency(measured: Measured, workers: int, network: Network, spread: Sequence[float]) -> float:
    """The step of one process divided by that of many.

    Args:
        measured: The step of one process.
        workers: Number of processes.
        network: The connection between them.
        spread: Times of single steps, divided by their mean: how much steps vary.
    """
    computed = measured.seconds * slowest_seconds(spread, workers)
    return measured.seconds / (computed + exchange_seconds(BYTES * measured.parameters, workers, network))


def bottleneck(measured: Measured, network: Network, spread: Sequence[float]) -> str:
    """From how many workers on the efficiency is below 80%, and whether they wait or exchange for longer."""
    for workers in range(2, WORKERS[-1] + 1):
        if efficiency(measured, workers, network, spread) < ENOUGH:
            waiting = measured.seconds * (slowest_seconds(spread, workers) - 1)
            exchange = exchange_seconds(BYTES * measured.parameters, workers, network)
            return f"{workers}: {'exchange' if exchange > waiting else 'the slowest step'}"
    return f"above {WORKERS[-1]}"


def measured_steps() -> list[Measured]:
    """The training steps that `benchmarks.encoders`, `subilstm` and `depth` recorded on JAX."""
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
    """The steps of the single process of `benchmarks.scaling` on JAX, divided by their mean."""
    seconds = next(run["seconds"]["1"] for run in _read("scaling.json") if run["backend"] == "jax")
    return [value / statistics.fmean(seconds) for value in seconds]


def table(network: Network) -> str:
    """Predicted efficiencies, by encoder and number of workers."""
    columns = [f"{workers} workers" for workers in WORKERS]
    names = ["encoder", "batch x words", "ms a step", "MB of gradients", *columns, f"below {ENOUGH:.0%} from"]
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
    """The prediction for two processes, without any time for the exchange, beside the measured one."""
    lines = [
        "| backend | one process, ms | the slowest of two, ms | measured for two, ms | exchange and shared memory |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for run in _read("scaling.json"):
        alone, together = run["seconds"]["1"], statistics.fmean(run["seconds"]["2"])
        slowest = slowest_seconds(alone, 2)
        values = [1e3 * value for value in (statistics.fmean(alone), slowest, together)]
        cells = [run["backend"], *(f"{value:.0f}" for value in values), f"{1 - slowest / together:.0%} of the step"]
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
    parser.add_argument("--gigabits", type=float, default=Network().gigabits, help="a second (default: %(default)s)")
    parser.add_argument(
        "--microseconds", type=float, default=Network().microseconds, help="of a message (default: %(default)s)"
    )
    given = parser.parse_args()
    print(table(Network(given.gigabits, given.microseconds)), check(), sep="\n\n")


if __name__ == "__main__":
    main()
