"""Tables of several runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from keras_slstm.metrics.summaries import mean_and_spread
from keras_slstm.printable import printable

# Table columns: name in the results, heading, factor. A column is shown if any run has it.
COLUMNS = (
    ("development_accuracy", "development", 100),
    ("test_accuracy", "test", 100),
    ("development_pearson", "development", 100),
    ("test_pearson", "test", 100),
    ("development_f1", "development F1", 100),
    ("test_f1", "test F1", 100),
    ("development_bleu", "development BLEU", 1),
    ("test_bleu", "test BLEU", 1),
    ("mean_depth", "mean depth", 1),
    ("texts_a_second", "texts per second", 1),
)


def print_summary(results: Sequence[dict[str, Any]]) -> None:
    """Print mean and standard deviation of each data set and variant over folds and seeds, and the overall mean."""
    rows = defaultdict(list)
    for result in results:
        rows[result["data"], result.get("variant") or ""].append(result)
    columns = [column for column in COLUMNS if any(column[0] in result for result in results)]
    print(f"\n{'data':30} {'runs':>4}" + "".join(f" {head:>16}" for _, head, _ in columns))
    means: dict[str, list[float]] = defaultdict(list)
    for (data, variant), runs in rows.items():
        cells = []
        for name, _, scale in columns:
            if all(name in run for run in runs):
                mean, spread = mean_and_spread(scale * run[name] for run in runs)
                means[name].append(mean)
                cells.append(f"{mean:6.2f} ± {spread:4.2f}")
            else:
                cells.append("")
        print(f"{printable(f'{data} {variant}'.strip()):30} {len(runs):4}" + "".join(f" {cell:>16}" for cell in cells))
    if len(rows) > 1 and len({variant for _, variant in rows}) == 1:
        complete = [means[name] if len(means[name]) == len(rows) else [] for name, *_ in columns]
        cells = [f"{mean_and_spread(values)[0]:6.2f}" if values else "" for values in complete]
        print(f"{'mean':30} {len(results):4}" + "".join(f" {cell:>16}" for cell in cells))
