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
