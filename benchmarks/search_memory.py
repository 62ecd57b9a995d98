"""Measures whether the memory of a long search stays constant: `python -m benchmarks.search_memory`.

A random search runs 50 trials, each in its own process as usual, with a tiny model on a small part of the generated
corpus. The benchmark records the resident memory of the searching process after every trial. It takes some minutes.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # hide TensorFlow's log messages

from keras_slstm.datasets.corpus import Corpus, load_corpus
from keras_slstm.tuning import ClassificationHyperModel, Search

MEGABYTE = 1e6
EARLY = 5  # trials, after which all one-time loading is done


class Watched(Search):
    """Records the memory after each trial."""

    def __init__(self, *args: Any, **kwargs: Any):
        self.megabytes: list[float] = []
        super().__init__(*args, **kwargs)

    def on_trial_end(self, trial: Any) -> None:
        super().on_trial_end(trial)
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        self.megabytes.append(pages * os.sysconf("SC_PAGE_SIZE") / MEGABYTE)


def main() -> None:
    """Search, and print the memory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=50)
    trials = parser.parse_args().trials
    corpus = load_corpus("travel_desk")
    train, validation, test = (part.take(range(32)) for part in (corpus.train, corpus.validation, corpus.test))
    hypermodel = ClassificationHyperModel(
        Corpus(corpus.name, train, validation, test, corpus.label_names),
        ["cnn", "slstm"],
        values={"units": [4, 8], "embedding_dim": [4], "slstm/steps": [1, 2], "batch_size": [16]},
    )
    with tempfile.TemporaryDirectory() as folder:
        search = Watched(hypermodel, Path(folder, "search"), max_trials=trials, epochs=1)
        search.search()
    early, late = search.megabytes[EARLY - 1], search.megabytes[-1]
    print(f"after {EARLY} trials {early:.0f} MB, after {len(search.megabytes)} {late:.0f} MB: {late / early:.2f} times")


if __name__ == "__main__":
    main()
