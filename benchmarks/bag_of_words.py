"""Bag-of-words baseline on the generated corpus: TF-IDF and logistic regression, for the results table.

python -m benchmarks.bag_of_words
"""

from __future__ import annotations

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from benchmarks.tables import RESULTS
from keras_slstm.datasets import load_corpus
from keras_slstm.training.results import append_result


def main() -> None:
    """For each kind of feature, fit on the training split, score the other splits, and append a line to the results."""
    corpus = load_corpus("travel_desk")
    for name, longest in (("unigrams", 1), ("unigrams-and-bigrams", 2)):
        model = make_pipeline(
            TfidfVectorizer(ngram_range=(1, longest), token_pattern=r"\S+"), LogisticRegression(C=10, max_iter=2000)
        )
        model.fit(corpus.train.texts, corpus.train.labels)
        result = {
            "data": corpus.name,
            "encoder": f"bag of words ({name.replace('-', ' ')})",
            "development_accuracy": model.score(corpus.validation.texts, corpus.validation.labels),
            "test_accuracy": model.score(corpus.test.texts, corpus.test.labels),
            "command": "python -m benchmarks.bag_of_words",
        }
        print(result)
        append_result(RESULTS / "classification.jsonl", result)


if __name__ == "__main__":
    main()
