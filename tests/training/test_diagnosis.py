import pytest

from keras_slstm.training.diagnosis import diagnose_labels, diagnose_length, diagnose_tags


@pytest.mark.parametrize(
    ("wanted", "found", "words"),
    [
        ("aabb", "aaaa", 'every example "a"'),
        ("aab", "bbb", 'every example "b"'),
        ("aaab", "aabb", "labels 75.0% of the examples correctly"),
        ("aaabb", "aabab", 'labels 60.0% of the examples correctly, and always predicting "a" would label 60.0%'),
        ("aaabb", "bbbaa", "labels 0.0% of the examples correctly"),
        ("aabb", "aabb", None),
        ("aaa", "aaa", None),  # there is one label only: nothing to tell apart
    ],
)
def test_models_that_have_learned_nothing(wanted, found, words):
    message = diagnose_labels(list(wanted), list(found))
    assert (message is None) == (words is None)
    if words:
        assert words in message
        assert "train longer" in message


def test_tags():
    wanted = [["O", "B-city"], ["O", "O"]]
    assert 'every word "O"' in diagnose_tags(wanted, [["O", "O"], ["O", "O"]])
    assert diagnose_tags(wanted, wanted) is None


def test_predictions_must_fit():
    with pytest.raises(ValueError, match="not 2 predictions for 3 labels"):
        diagnose_labels(list("aab"), list("aa"))


def test_best_epoch_is_the_last():
    assert diagnose_length([0.1, 0.3, 0.5])
    assert diagnose_length([0.1, 0.3])
    assert diagnose_length([0.1]) is None  # one epoch says nothing
    assert diagnose_length([0.1, 1.0, 1.0]) is None  # of equal scores the lower loss decides
    assert diagnose_length([]) is None
