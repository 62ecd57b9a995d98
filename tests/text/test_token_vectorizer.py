import keras
import numpy as np
import pytest

from keras_slstm.text.characters import pad_characters
from keras_slstm.text.token_vectorizer import TokenVectorizer
from tests.backend import BACKEND

SENTENCES = [["The", "flight", "on", "2016-08-01"], ["the", "Flight", "to", "Oslo"]]


def adapted(**options):
    vectorizer = TokenVectorizer(**options)
    vectorizer.adapt(SENTENCES)
    return vectorizer


def test_words_are_looked_up_in_lower_case_characters_as_written():
    vectorizer = adapted()
    assert vectorizer.vocabulary == ["", "[UNK]", "flight", "the", "2016-08-01", "on", "oslo", "to"]
    assert vectorizer.encode([["THE", "train"], []]) == [[3, 1], []]
    assert {"T", "t", "O", "o", "-"} <= set(vectorizer.characters)
    [[upper, lower, other]] = vectorizer.encode_characters([["T", "t", "ü"]])
    assert upper != lower
    assert other == [1]
    assert vectorizer.vocabulary_size == 8
    assert vectorizer.characters_size == len(vectorizer.characters)


def test_case_is_optionally_kept_with_lower_case_as_fallback():
    vectorizer = adapted(lowercase=False)
    assert {"The", "the", "Flight", "flight"} <= set(vectorizer.vocabulary)
    [[upper, lower, shouted, oslo, shouted_oslo]] = vectorizer.encode([["The", "the", "THE", "Oslo", "OSLO"]])
    assert upper != lower == shouted
    assert oslo > 1 == shouted_oslo  # "oslo" is not known


def test_digits_can_be_normalised():
    vectorizer = adapted(zero_digits=True)
    assert "0000-00-00" in vectorizer.vocabulary
    assert vectorizer.encode([["1999-12-31"]]) == vectorizer.encode([["2016-08-01"]]) != [[1]]
    assert vectorizer.encode_characters([["1"]]) != vectorizer.encode_characters([["3"]])


def test_known_words_come_last_and_within_the_limit():
    vectorizer = TokenVectorizer(min_count=2, max_tokens=5)
    vectorizer.adapt(SENTENCES, known=["Bergen", "the", "Oslo"])
    assert vectorizer.vocabulary == ["", "[UNK]", "flight", "the", "bergen"]


def test_known_words_that_are_never_looked_up_are_left_out():
    vectorizer = TokenVectorizer(zero_digits=True)
    vectorizer.adapt([["a"]], known=["1999", "0.0", "B"])
    assert vectorizer.vocabulary == ["", "[UNK]", "a", "0.0", "b"]
    vectorizer = TokenVectorizer(lowercase=False)
    vectorizer.adapt([["a"]], known=["B", "b"])
    assert vectorizer.vocabulary == ["", "[UNK]", "a", "B", "b"]


def test_long_words_keep_both_ends():
    vectorizer = adapted(max_characters=5)
    ids = vectorizer.encode_characters
    assert ids([["The2016-08Oslo"]]) == ids([["Thelo"]])
    assert ids([["flight"]]) == ids([["fliht"]])
    assert len(ids([["Oslo1"]])[0][0]) == 5


@pytest.mark.parametrize("options", [{}, {"lowercase": False}, {"zero_digits": True, "max_characters": 5}])
def test_saved_vocabularies(options, tmp_path):
    vectorizer = adapted(**options)
    vectorizer.save_assets(str(tmp_path))
    copy = TokenVectorizer.from_config(vectorizer.get_config())
    copy.load_assets(str(tmp_path))
    assert copy.vocabulary == vectorizer.vocabulary
    assert copy.characters == vectorizer.characters
    assert copy.encode_characters([["flight", "2016-08-01"]]) == vectorizer.encode_characters(
        [["flight", "2016-08-01"]]
    )


def test_a_line_break_in_a_token_is_an_unknown_character():
    vectorizer = TokenVectorizer()
    vectorizer.adapt([["a", "b\u0085c"]])
    assert vectorizer.encode([["b\u0085c"]]) != [[1]]
    assert vectorizer.encode_characters([["a\n"]])[0][0][1] == 1


@pytest.mark.skipif(BACKEND != "tensorflow", reason="the graph of an exported SavedModel is TensorFlow's")
@pytest.mark.parametrize("options", [{}, {"lowercase": False}, {"zero_digits": True, "max_characters": 5}])
def test_the_tensorflow_function_is_the_same(options):
    import tensorflow as tf

    vectorizer = adapted(**options)
    sentences = [["THE", "Flight", "2016-09-01"], ["Zürich", "internationally-known"], ["oslo"]]
    time = max(map(len, sentences))
    encode, _ = vectorizer.tensorflow_function()
    padded = tf.constant([tokens + [""] * (time - len(tokens)) for tokens in sentences])
    found = tf.function(encode, input_signature=[tf.TensorSpec([None, None], tf.string)])(padded)
    words = [ids + [0] * (time - len(ids)) for ids in vectorizer.encode(sentences)]
    np.testing.assert_array_equal(found["words"], words)
    characters = pad_characters(vectorizer.encode_characters(sentences), time, vectorizer.max_characters)
    np.testing.assert_array_equal(found["characters"], characters)
    assert found["words"].dtype == found["characters"].dtype == tf.int32


@pytest.mark.parametrize(
    ("options", "message"),
    [({"min_count": 0}, "min_count"), ({"max_tokens": 2}, "max_tokens"), ({"max_characters": 1}, "max_characters")],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        TokenVectorizer(**options)


def test_bad_sentences():
    vectorizer = adapted()
    for sentences, message in [
        ("a text", "each a list of tokens, not 'a text'"),
        ([["a"], "text"], "Sentence 1 must be a list of tokens, but is 'text'"),
        ([["a", ""]], "Token 1 of sentence 0 must be a non-empty string, but is ''"),
        ([["a", 3]], "Token 1 of sentence 0 must be a non-empty string, but is 3"),
    ]:
        for method in (vectorizer.encode, vectorizer.encode_characters, vectorizer.adapt):
            with pytest.raises(ValueError, match=message):
                method(sentences)
    for method in (TokenVectorizer().encode, TokenVectorizer().encode_characters):
        with pytest.raises(ValueError, match="call `adapt"):
            method([["a"]])
    with pytest.raises(ValueError, match="min_count"):
        TokenVectorizer(min_count=5).adapt(SENTENCES)


def test_padding_of_characters():
    found = pad_characters([[[2, 3], [4]], [[5, 6, 7]]], time=3, width=4)
    assert found.shape == (2, 3, 4)
    assert found.dtype == np.int32
    assert found[0].tolist() == [[2, 3, 0, 0], [4, 0, 0, 0], [0, 0, 0, 0]]
    assert keras.ops.convert_to_numpy(found[1, 0]).tolist() == [5, 6, 7, 0]
