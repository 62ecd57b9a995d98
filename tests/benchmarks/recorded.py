"""Recorded lines of a small study."""

from __future__ import annotations

import json

import numpy as np

from benchmarks import study as studies

FILE = """
question = "Is one better?"
command = "classify"
measure = "accuracy"
options = { preset = "small", updates = 2, manual-dir = "files" }
seeds = [0, 1, 2]
baseline = "two"
[data]
a = { dataset = "a" }
[search]
learning-rate = [0.1, 0.2]
[rows]
one = { encoder = "slstm" }
two = { encoder = "bilstm", fixed-vectors = true, encoder-option = ["x=1", "y=2"] }
[[claims]]
row = "one"
paper = "A paper"
says = "It is."
"""


def line(training, test=0.5, development=0.5, **more):
    rng = np.random.default_rng(training.seed)
    right = rng.permutation([1] * round(40 * test) + [0] * (40 - round(40 * test)))
    return {
        **training.key,
        "development_score": development, "test_score": test, "best_epoch": 2, "epochs": 3, "parameters": 1000,
        "settings": {
            "encoder": training.study.rows[training.row].get("encoder"),
            "units": 3, "learning_rate": training.value, "seed": training.seed,
        },
        "split": {"seed": 0}, "test_part": "x", "items": [[int(one), 1, 1] for one in right],
        "words": [3] * 10 + [8] * 30,
        "commit": "abc", "conditions": {"cores": 2},
        **more,
    }  # fmt: skip


def record(study, change=lambda line: {}, scores=(0.9, 0.5)):
    """Write the lines of a study; the second value is better on development data."""
    study.results.parent.mkdir(exist_ok=True)
    study.results.unlink(missing_ok=True)
    with open(study.results, "a", encoding="utf-8") as file:
        for _ in range(2):  # the second time with the chosen values
            known = {json.dumps(found) for found in read(study)}
            for training in list(studies.trainings(study)):
                if training.value is not None:
                    score = dict(zip(study.rows, scores))[training.row]
                    made = line(training, score, training.value)
                    text = json.dumps({**made, **change(made)})
                    if text not in known:
                        file.write(text + "\n")
            file.flush()


def read(study):
    return studies.lines_of(study)
