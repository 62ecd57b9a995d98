from __future__ import annotations

import numpy as np
import pytest

from keras_slstm.models.score_range import ScoreRange
from tests.oracles import pair_classifier

pytestmark = pytest.mark.short_run("torch")


@pytest.mark.parametrize("limits", [(1, 5), (0, 5), (-1, 1)])
def test_distributions_are_those_of_the_paper(limits):
    scores = [*range(limits[0], limits[1] + 1), *np.random.default_rng(0).uniform(*limits, 20), limits[0] + 0.185]
    scale = ScoreRange(limits)
    found = scale.encode(scores)
    assert found.dtype == np.float32
    expected = np.stack([pair_classifier.score_distribution(score, *limits) for score in scores])
    np.testing.assert_allclose(found, expected, atol=1e-7)
    np.testing.assert_allclose(scale.decode(found), scores, atol=1e-6)
    assert scale.encode([]).shape == (0, limits[1] - limits[0] + 1)


@pytest.mark.parametrize("limits", [(5, 1), (1, 1), (1.0, 5.0), (1, 2, 3), 5, "15", (True, 5), None])
def test_wrong_ranges(limits):
    with pytest.raises(ValueError, match="`score_range` must be two integers, the lower one first"):
        ScoreRange(limits)


@pytest.mark.parametrize("score", [0.9, 5.1, float("nan"), "3", None])
def test_wrong_scores_are_named_with_their_position(score):
    with pytest.raises(ValueError, match=r"Scores must be from 1 to 5, but got .* at 1\."):
        ScoreRange((1, 5)).encode([2.5, score])
