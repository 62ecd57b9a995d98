"""Training texts are tokenised as rarely as possible."""

from __future__ import annotations

from collections import Counter

import pytest

from keras_slstm.cli.main import main
from keras_slstm.text.text_vectorizer import TextVectorizer

pytest.importorskip("sklearn", reason="the report needs the `examples` extra")
pytest.importorskip("matplotlib", reason="the picture needs the `plots` extra")
pytestmark = pytest.mark.backends("torch")

ENDS = ("good", "bad")
TINY = ["--encoder", "cnn", "--units", 2, "--mlp-units", 0, "--epochs", 1]


@pytest.fixture
def cut(monkeypatch):
    """How often each text has been cut into words."""
    counts: Counter[str] = Counter()
    tokenize = TextVectorizer.tokenize

    def counted(self, text):
        counts[text] += 1
        return tokenize(self, text)

    monkeypatch.setattr(TextVectorizer, "tokenize", counted)
    return counts


@pytest.mark.parametrize("task", ["classify", "match"])
def test_a_text_is_cut_once_to_count_its_words_and_once_to_encode_them(task, tmp_path, cut):
    """With word vectors and two seeds, each of which encodes the texts."""
    texts = [f"train {i} {ENDS[i % 2]}" for i in range(24)]
    columns = [texts] if task == "classify" else [texts, [text.replace("train", "other") for text in texts]]
    header = "text\tlabel" if task == "classify" else "text_a\ttext_b\tlabel"
    for name in ("train", "dev", "test"):
        rows = ["\t".join((*texts, ENDS[i % 2])) for i, texts in enumerate(zip(*columns))]
        (tmp_path / f"{name}.tsv").write_text("\n".join([header, *rows]).replace("train", name) + "\n")
    known = ("train", "other", *ENDS, *map(str, range(24)))
    (tmp_path / "tiny.txt").write_text("".join(f"{word} 1 2 3\n" for word in known))
    files = ["--data", tmp_path / "train.tsv", "--dev-data", tmp_path / "dev.tsv", "--test-data", tmp_path / "test.tsv"]
    options = [*files, "--vectors", tmp_path / "tiny.txt", "--output", tmp_path / "runs", "--seed", 0, 1, *TINY]
    assert main([task, *map(str, options)]) == 0
    assert {cut[text] for text in texts} == {1 + 2}
