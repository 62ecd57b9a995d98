"""Makes the page of benchmarks: measures all that it shows, one benchmark after the other.

    python -m benchmarks                                # most of a day on two cores
    python -m benchmarks --only encoders-jax crf-torch  # by the names that --list prints
    python -m benchmarks --peers PEERS                  # also other authors' S-LSTMs: see `benchmarks/peers.py`

Nothing else may run on the machine. A complete measurement replaces the one in `benchmarks/results`; after an
interruption, the same command continues. At the end, the page is written with all tables filled in. Tables under "GPU"
need a machine with one: there, run `benchmarks.encoders` with and without `--masked`.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers import AUTHORS, PORT, TORCH_BILSTM
from benchmarks.tables import RESULTS, ROOT, fill
from keras_slstm.files import complete_file

BACKENDS = ("tensorflow", "jax", "torch")
SLSTMS = ("S-LSTM", "S-LSTM, all words", "BiLSTM")  # at all lengths
OTHER_SLSTMS = {"tensorflow": (AUTHORS,), "jax": (), "torch": (TORCH_BILSTM, PORT)}


@dataclass(frozen=True)
class Measurement:
    """One or more runs of a benchmark that write to the same folder or file.

    Attributes:
        name: The folder or file of the results.
        module: The module in `benchmarks`.
        backend: The Keras backend.
        options: The options of the command, without `--output`.
        further: The options of another run, which adds to the file of the first.
    """

    name: str
    module: str
    backend: str
    options: tuple[str, ...] = ()
    further: tuple[str, ...] | None = None

    def commands(self, folder: Path) -> list[list[str]]:
        """Return the commands that write the results to a folder."""
        start, output = [sys.executable, "-m", f"benchmarks.{self.module}"], ["--output", str(folder / self.name)]
        return [[*start, *options, *output] for options in (self.options, self.further) if options is not None]


def measurements(peers: Path | None = None) -> list[Measurement]:
    """Return all measurements of the page, with other authors' S-LSTMs if their folder is given."""
    found = []
    foreign = ("--peers", str(peers.resolve())) if peers else ()
    for backend in BACKENDS:
        lengths = ("--lengths", "16", "32", "64")
        found.append(Measurement(f"encoders-{backend}", "encoders", backend, lengths))
        compared = ("--encoders", *SLSTMS, *(OTHER_SLSTMS[backend] if peers else ()))
        found.append(Measurement(f"slstm-{backend}", "encoders", backend, (*compared, "--no-memory", *foreign)))
        found += [Measurement(f"{each}-{backend}", each, backend) for each in ("depth", "crf")]
        found.append(Measurement(f"long-texts-{backend}", "long_texts", backend))
    found += [Measurement(f"subilstm-{backend}", "subilstm", backend) for backend in ("tensorflow", "jax")]
    half = ("--dtype", "mixed_bfloat16", "--lengths", "64", "--batches", "32", "--encoders", "S-LSTM", "--no-memory")
    found.append(Measurement("encoders-tensorflow-bfloat16", "encoders", "tensorflow", half))
    found.append(Measurement("latency-tensorflow", "latency", "tensorflow"))
    huge_pages = ("--backends", "jax", "--huge-pages")
    found.append(Measurement("scaling.json", "scaling", "tensorflow", further=huge_pages))  # starts all backends itself
    large = ("--lines", "39000000", "--ways", "streamed", "--steps", "600")
    found.append(Measurement("streaming.jsonl", "streaming", "tensorflow", further=large))
    return found


def run(measurement: Measurement, folder: Path) -> None:
    """Measure, and replace the recorded results.

    Args:
        measurement: What to run.
        folder: Keeps unfinished results.

    Raises:
        subprocess.CalledProcessError: If the benchmark fails.
    """
    done = folder / f"{measurement.name}.done"
    if done.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    new, recorded = folder / measurement.name, RESULTS / measurement.name
    if new.is_file():  # benchmarks add to a file, but continue in a folder
        new.unlink()
    for command in measurement.commands(folder):
        print(f"KERAS_BACKEND={measurement.backend} {shlex.join(command)}", flush=True)
        subprocess.run(command, check=True, env={**os.environ, "KERAS_BACKEND": measurement.backend}, cwd=ROOT)
    if new.is_dir():
        copied = recorded.with_name(f".{measurement.name}")
        shutil.copytree(new, copied, dirs_exist_ok=True)
        shutil.rmtree(recorded, ignore_errors=True)
        copied.rename(recorded)
    else:
        with complete_file(recorded) as path:
            shutil.copyfile(new, path)
    done.touch()


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="measurements (default: all)")
    parser.add_argument("--list", action="store_true", help="print the commands, and run nothing")
    parser.add_argument("--peers", type=Path, help="folder with the repositories that `benchmarks.peers` names")
    parser.add_argument("--folder", type=Path, default=ROOT / "runs" / "benchmarks", help="for unfinished results")
    args = parser.parse_args()
    found = {measurement.name: measurement for measurement in measurements(args.peers)}
    if unknown := set(args.only or []) - set(found):
        parser.error(f"--only: {', '.join(sorted(unknown))} is none of {', '.join(found)}")
    for name in args.only or found:
        if args.list:
            for command in found[name].commands(args.folder):
                print(f"{name}: KERAS_BACKEND={found[name].backend} {shlex.join(command)}")
        else:
            run(found[name], args.folder)
    if not args.list:
        page = args.folder / "benchmarks.md"
        page.write_text(fill((ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")), encoding="utf-8")
        print(page)


if __name__ == "__main__":
    main()
