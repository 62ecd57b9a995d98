from keras_slstm.metrics.summaries import correct_by_length, mean_and_spread


def test_correct_by_length():
    assert correct_by_length([3, 2, 3, 3], [True, False, False, True]) == {"2": [1, 0], "3": [3, 2]}


def test_mean_and_spread():
    assert mean_and_spread([1.0]) == (1.0, 0.0)
    assert mean_and_spread([1.0, 2.0, 3.0]) == (2.0, 1.0)
