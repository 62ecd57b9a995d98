import itertools
import json

import keras
import pytest

from benchmarks import scaling_model
from benchmarks.scaling_model import Measured, Network, bottleneck, efficiency, exchange_seconds, slowest_seconds

pytestmark = pytest.mark.backends("torch")  # does not depend on the backend
STEP = Measured("S-LSTM", 32, 32, seconds=0.5, parameters=10_000_000)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_slowest_step_is_the_mean_maximum_over_all_draws(workers):
    seconds = [0.3, 0.1, 0.4, 0.1]
    draws = [max(draw) for draw in itertools.product(seconds, repeat=workers)]
    assert slowest_seconds(seconds, workers) == pytest.approx(sum(draws) / len(draws), rel=1e-12)


@pytest.mark.parametrize("workers", [2, 5])
def test_the_time_of_a_ring_is_the_sum_of_its_messages(workers):
    network, size = Network(gigabits=8.0, microseconds=100.0), 3e6
    part = size / workers  # each process sends one part at a time: n - 1 to sum them, n - 1 to hand the sums on
    seconds = sum(part / 1e9 + 1e-4 for _ in range(2 * (workers - 1)))
    assert exchange_seconds(size, workers, network) == pytest.approx(seconds, rel=1e-12)


def test_a_free_network_loses_efficiency_only_to_the_slowest_process():
    free = Network(gigabits=1e12, microseconds=0.0)
    assert efficiency(STEP, 4, free, [1.0, 1.0]) == pytest.approx(1.0)
    assert efficiency(STEP, 4, free, [0.5, 1.5]) == pytest.approx(1 / slowest_seconds([0.5, 1.5], 4))
    assert efficiency(STEP, 2, Network(gigabits=0.64, microseconds=0.0), [1.0]) == pytest.approx(0.5)


def test_the_bottleneck_is_named_with_its_size():
    assert bottleneck(STEP, Network(), [1.0]) == "above 256"
    assert bottleneck(STEP, Network(gigabits=0.1), [1.0]) == "2: exchange"
    assert bottleneck(STEP, Network(1e6, 0.0), [0.7, 0.7, 1.6]).endswith(": the slowest step")


def test_tables_have_a_row_for_each_encoder_and_backend():
    rows = scaling_model.table(Network()).splitlines()[2:]
    assert [row.split(" | ")[0].strip("| ").partition(",")[0] for row in rows] == [
        *("S-LSTM", "BiLSTM", "CAS-LSTM", "Bi-CAS-LSTM", "SuBiLSTM", "Depth-adaptive GRN"),
    ]
    found = next(step for step in scaling_model.measured_steps() if step.encoder == "BiLSTM")
    layer = keras.layers.Bidirectional(keras.layers.LSTM(300))
    layer.build((None, None, 300))
    assert found.parameters == layer.count_params() + 10_000 * 300
    runs = json.loads((scaling_model.RESULTS / "scaling.json").read_text(encoding="utf-8"))
    assert len(scaling_model.check().splitlines()) == 2 + len(runs)
