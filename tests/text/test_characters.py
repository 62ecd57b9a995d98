"""The characters of long tokens."""

from __future__ import annotations

import pytest

from keras_slstm.text.characters import CharacterVocabulary


@pytest.mark.parametrize(("keeps_end", "kept"), [(True, "abcgh"), (False, "abcde")])
def test_long_tokens_keep_their_start_and_optionally_their_end(keeps_end, kept):
    characters = CharacterVocabulary(max_characters=5)
    characters.keeps_end = keeps_end
    characters.learn({"abcdefgh": 1})
    assert characters.encode([["abcdefgh"]]) == characters.encode([[kept]])
