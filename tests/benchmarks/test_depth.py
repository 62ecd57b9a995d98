from argparse import Namespace

import numpy as np
import pytest

from benchmarks import depth


@pytest.mark.parametrize("mean", [1.5, 3, 5, 8])
def test_imposed_depths_have_their_mean_and_one_word_in_all_layers(mean):
    depths = depth.impose(32, 64, 9, mean)
    assert depths.mean() == pytest.approx(mean, abs=0.2)
    assert depths.min() >= 1
    assert np.all(depths.max(axis=1) == 9)


@pytest.mark.parametrize("mean", [1.9, 9.5])
def test_impossible_means_are_refused(mean):
    with pytest.raises(ValueError, match="between 2 and 9"):
        depth.impose(4, 8, 9, mean)


def test_full_depth():
    assert np.all(depth.impose(2, 5, 4, 4) == 4)


@pytest.mark.parametrize("kind", ["inference", "training"])
def test_each_depth_is_timed(kind):
    sizes = Namespace(batch=2, length=5, units=3, max_depth=3, means=[2.0], rounds=1)
    rows = depth.measure(sizes, kind)
    assert {row["depth"] for row in rows} == {"full", "2"}
    assert all(row["seconds"] > 0 for row in rows)
