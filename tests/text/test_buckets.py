import itertools

import numpy as np
import pytest

from keras_slstm.text.buckets import bucket_lengths


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("most", [1, 2, 3, 20])
def test_no_other_choice_of_lengths_pads_less(seed, most):
    lengths = np.random.default_rng(seed).integers(1, 13, 30)
    padded = bucket_lengths(lengths, most)
    assert (padded >= lengths).all()
    assert len(set(padded.tolist())) <= most
    values = sorted(set(lengths.tolist()))
    least = min(
        sum(min(bound for bound in (*chosen, values[-1]) if bound >= length) for length in lengths)
        for chosen in itertools.combinations(values[:-1], min(most, len(values)) - 1)
    )
    assert padded.sum() == least
