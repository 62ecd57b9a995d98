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
def test_means_that_no_depths_have(mean):
    with pytest.raises(ValueError, match="between 2 and 9"):
        depth.impose(4, 8, 9, mean)


def test_full_depth():
    assert np.all(depth.impose(2, 5, 4, 4) == 4)


def runs(encoder):
    for number in (1, 2):
        settings = {"encoder": encoder, "max_depth": 9, "encoder_options": {"max_depth": number}}
        for seed in (0, 1):
            yield {"data": "x", "seed": seed, "settings": settings, "test_accuracy": 0.5 + 0.1 * number,
                   "texts_a_second": 10.0 / number}  # fmt: skip


def test_figure_3_needs_both_encoders(tmp_path):
    pytest.importorskip("matplotlib", reason="the picture needs the `plots` extra")
    results = [*runs("full_depth_grn"), *runs("depth_adaptive_grn")]
    depth.draw_figure_3(results, "x", tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="no run of full_depth_grn on 'y'"):
        depth.draw_figure_3(results, "y", tmp_path / "figure.png")
    other = {**results[-1], "settings": {**results[-1]["settings"], "units": 5}}
    with pytest.raises(ValueError, match="runs of depth_adaptive_grn on 'x' have different settings"):
        depth.draw_figure_3([*results, other], "x", tmp_path / "figure.png")
