import contextlib
import json

import numpy as np
import pytest

from keras_slstm.training.progress import Progress, best_epoch, read_progress

pytestmark = pytest.mark.short_run("torch")

NAN, INF = float("nan"), float("inf")
WRITTEN = vars(Progress(2, 1, {"loss": [0.5, NAN]}, {"seed_generators": [[1, 2]]}, 3, [0.5]))


@pytest.mark.parametrize(
    ("scores", "mode", "best"),
    [
        ([], "max", 0),
        ([0.5, 0.7, 0.7], "max", 2),
        ([0.5, 0.7, 0.7], "min", 1),
        ([NAN, 0.5], "max", 2),
        ([NAN, 0.5], "min", 2),
        ([0.5, NAN], "max", 1),
        ([0.5, NAN], "min", 1),
        ([NAN, -INF], "max", 0),
        ([INF, 0.5, -INF], "max", 2),
        ([INF, 0.5, -INF], "min", 2),
        ([NAN, NAN], "min", 0),
    ],
)
def test_best_epoch(scores, mode, best):
    assert best_epoch(scores, mode) == best


def test_what_was_written_is_read():
    assert json.dumps(vars(read_progress(dict(WRITTEN)))) == json.dumps(WRITTEN)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": None}, '"epochs" must be a number, but is null'),
        ({"epochs": True}, '"epochs" must be a number, but is true'),
        ({"epochs": 0}, "epochs=0, best_epoch=1"),
        ({"step": -1}, "step=-1"),
        ({"history": []}, '"history" must be an object'),
        ({"history": {"loss": [None, 1.0]}}, 'for "loss"'),
        ({"history": {"loss": [1.0, 1.0, 1.0]}}, 'at most 2 numbers for "loss"'),
        ({"finished": 0}, '"finished" must be true or false'),
        ({"later": 1}, '"later" is unknown'),
    ],
)
def test_a_wrong_value_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        read_progress({**WRITTEN, **change})


def test_every_value_is_needed():
    for name in WRITTEN:
        with pytest.raises(ValueError, match=f'"{name}" is missing'):
            read_progress({key: value for key, value in WRITTEN.items() if key != name})


def test_damaged_files_raise_only_value_errors():
    """Thousands of damaged files: what is read is well-formed, or a ValueError says what is wrong."""
    rng = np.random.default_rng(0)
    odd = [None, True, -1, 0, 3, 1.5, NAN, "", "a\nb", [], [None], {}, {"loss": None}, {"loss": [None]}, 10**30]
    for _ in range(3000):
        values = dict(WRITTEN)
        for name in rng.choice(list(values), rng.integers(1, 4), replace=False):
            values[name] = odd[rng.integers(len(odd))]
        with contextlib.suppress(ValueError):
            progress = read_progress(values)
            assert 0 <= progress.best_epoch <= progress.epochs


@pytest.mark.parametrize(
    ("scores", "losses", "best"),
    [
        ([0.5, 0.7, 0.7], [3, 2, 1], 3),
        ([0.5, 0.7, 0.7], [3, 1, 2], 2),
        ([0.5, 0.7, 0.7], [1, 1, 1], 2),
        ([0.0, 0.0, 0.0], [9, NAN, 8], 3),
        ([0.7, 0.7], [INF, 5], 2),
        ([0.7, 0.7, 0.7], [5], 1),
        ([NAN, 0.1], [0, 1], 2),
    ],
)
def test_ties_go_to_the_lower_loss(scores, losses, best):
    assert best_epoch(scores, "max", losses) == best
