"""Classify texts with an exported model, without keras_slstm: python classify.py intents.onnx TEXT ...

Needs onnxruntime and regex, and `intents.json`, which `export` wrote next to the ONNX file.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
import regex

LETTER = r"[\p{L}\p{M}\p{N}_\u200c\u200d]"
WORD_OR_SYMBOL = regex.compile(rf"{LETTER}+(?:'{LETTER}+)*|[^\p{{Z}}\p{{Cc}}]")
HYPHEN = regex.compile(r"([\p{L}\p{N}])-([\p{L}\p{N}])")
CLITIC = regex.compile(r"(.)([nN]'[tT]|'(?:[sSmMdD]|[rR][eE]|[vV][eE]|[lL][lL]))$")


class Classifier:
    """Predicts labels with their probabilities."""

    def __init__(self, file: str) -> None:
        self.session = onnxruntime.InferenceSession(file)
        self.about = json.loads(Path(file).with_suffix(".json").read_text(encoding="utf-8"))
        self.ids = {word: i for i, word in enumerate(self.about["vocabulary"])}

    def __call__(self, texts: Sequence[str]) -> list[tuple[str, float]]:
        """Return the label and its probability for each text."""
        ids = [[self.ids.get(token, 1) for token in self.tokens(text)] or [1] for text in texts]  # 1: unknown word
        words = np.zeros((len(ids), max(map(len, ids))), "int32")  # 0: padding
        for row, known in zip(words, ids):
            row[: len(known)] = known
        (probabilities,) = self.session.run(["probabilities"], {"words": words})
        names = self.about["label_names"]
        return [(names[row.argmax()], float(row.max())) for row in probabilities]

    def tokens(self, text: str) -> list[str]:
        """Split a text into words."""
        text = text.replace("\0", " ")
        if self.about["lowercase"]:
            text = text.lower()
        if self.about["tokenizer"] == "whitespace":
            tokens = regex.findall(r"[^ \t\n\v\f\r]+", text)
        else:
            tokens = WORD_OR_SYMBOL.findall(regex.sub(r"(\p{Han})", r" \1 ", text.replace("’", "'")))
        if self.about["split_words"]:
            for _ in range(2):  # twice, because a match in a-b-c consumes the letters on both sides
                tokens = [part for token in tokens for part in HYPHEN.sub(r"\1 - \2", token).split(" ")]
            tokens = [part for token in tokens for part in CLITIC.sub(r"\1 \2", token).split(" ")]
        return tokens[: self.about["max_length"]]


if __name__ == "__main__":
    for label, probability in Classifier(sys.argv[1])(sys.argv[2:]):
        print(f"{label}\t{probability:.6f}")
