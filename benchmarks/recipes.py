"""Compares trainings that differ in one setting, for the page that explains the choice of the defaults.

    python -m benchmarks.recipes --data trec --manual-dir PATH --encoder slstm bilstm --seed 0 1 2 \
        --change {} '{"dropout": 0.5}' --name default dropout --results benchmarks/results/recipes.jsonl

All trainings on a data set use the same parts, the same number of updates and the same seeds. A training that is
already in the file of results is not repeated. The weights with the best development score are tested; among equal
scores, those with the lower loss.
"""

from __future__ import annotations

import argparse
import json
import math
import shlex
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import keras

from keras_slstm.datasets.corpus import Corpus, load_corpus, load_folds
from keras_slstm.datasets.tokenised import tokenizer_of
from keras_slstm.models.sentence_classifier import SentenceClassifier
from keras_slstm.text.text_vectorizer import TextVectorizer
from keras_slstm.text.word_vectors import WordVectors, load_word_vectors
from keras_slstm.training.results import append_result, read_results

MULTIPLE_OF = 16  # lengths are padded to a multiple, because a model is compiled for each length
# Settings of the training, in addition to those of the model.
TRAINING = {"learning_rate": 2e-3, "clip": 3.0, "batch_size": 32, "units": 64}


class BestWeights(keras.callbacks.Callback):
    """Keeps the weights of the best round."""

    def __init__(self) -> None:
        super().__init__()
        self.best = (-math.inf, -math.inf)
        self.rounds = 0
        self.best_round = 0
        self.weights: list[Any] = []

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        logs = logs or {}
        self.rounds = epoch + 1
        score = (logs["val_accuracy"], -logs["val_loss"])
        if score > self.best:
            self.best, self.best_round, self.weights = score, epoch + 1, self.model.get_weights()


def read_vectors(path: str | None, corpus: Corpus, tokenizer: dict[str, Any]) -> WordVectors | None:
    """Read the vectors of the words of a corpus."""
    if path is None:
        return None
    vectorizer = TextVectorizer(**tokenizer)
    parts = (corpus.train, corpus.validation, corpus.test)
    return load_word_vectors(
        path, {word for part in parts for text in part.texts for word in vectorizer.tokenize(text)}
    )


def train(corpus: Corpus, args: argparse.Namespace, encoder: str, change: dict[str, Any], seed: int) -> dict[str, Any]:
    """Train once, and return the results."""
    keras.utils.set_random_seed(seed)
    settings = {name: change.get(name, default) for name, default in TRAINING.items()}
    options = {name: value for name, value in change.items() if name not in TRAINING}
    of_encoder = options.pop("encoder_options", {}).get(encoder, {})
    vectorizer = {"tokenizer": tokenizer_of(corpus.name), **options.pop("vectorizer", {})}
    vectors = read_vectors(args.vectors, corpus, vectorizer)
    options.setdefault("embedding_dim", 100 if vectors is None else vectors.dim)
    model = SentenceClassifier(
        corpus.label_names,
        encoder,
        settings["units"],
        encoder_options={**({"steps": args.steps} if encoder == "slstm" else {}), **of_encoder},
        vectorizer=vectorizer,
        **options,
    )
    model.adapt(corpus.train.texts, vectors)
    shape: dict[str, Any] = {"multiple_of": MULTIPLE_OF}
    batches = model.batches(
        corpus.train.texts, corpus.train.labels, batch_size=settings["batch_size"], seed=seed, **shape
    )
    development = model.batches(
        corpus.validation.texts, corpus.validation.labels, batch_size=100, shuffle=False, **shape
    )
    rounds = math.ceil(args.updates / len(batches))
    optimizer = keras.optimizers.Adam(settings["learning_rate"], global_clipnorm=settings["clip"])
    model.compile(optimizer, jit_compile=keras.backend.backend() != "torch")
    best = BestWeights()
    started = time.perf_counter()
    model.fit(batches, validation_data=development, epochs=rounds, callbacks=[best], verbose=0)
    seconds = time.perf_counter() - started
    model.set_weights(best.weights)
    test = model.batches(corpus.test.texts, batch_size=100, shuffle=False, **shape)
    found = test.restore_order(keras.Model.predict(model, test, verbose=0)).argmax(axis=-1)
    right = [wanted == corpus.label_names[i] for wanted, i in zip(corpus.test.labels, found)]
    counts = TextVectorizer(**vectorizer).count(corpus.train.texts)
    return {
        "development_accuracy": best.best[0],
        "development_loss": -best.best[1],
        "test_accuracy": sum(right) / len(right),
        "best_round": best.best_round,
        "rounds": rounds,
        "updates": rounds * len(batches),
        "parameters": model.count_params(),
        "vocabulary": model.vectorizer.vocabulary_size,
        "coverage": None if vectors is None else vectors.coverage(Counter(counts)).known_tokens / counts.total(),
        "seconds": seconds,
    }


def load(args: argparse.Namespace) -> Corpus:
    """Load the corpus, or one of its ten folds."""
    if args.fold:
        return load_folds(args.data, 10, manual_dir=args.manual_dir)[args.fold - 1]
    corpus = load_corpus(args.data, manual_dir=args.manual_dir)
    if args.limit:
        parts = {name: vars(corpus)[name] for name in ("train", "validation", "test")}
        cut = {name: part.take(range(min(args.limit, len(part)))) for name, part in parts.items()}
        corpus = Corpus(**{**vars(corpus), **cut})
    return corpus


def main() -> int:
    """Run all trainings that are not in the file of results yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--manual-dir")
    parser.add_argument("--fold", type=int)
    parser.add_argument("--limit", type=int, help="use only the first texts of each part")
    parser.add_argument("--encoder", nargs="+", default=["slstm", "bilstm"])
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--vectors")
    parser.add_argument("--seed", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--updates", type=int, default=1500)
    parser.add_argument("--name", nargs="+", default=["default"], help="a name for each change")
    parser.add_argument("--change", nargs="+", type=json.loads, default=[{}], help="changed settings, as JSON objects")
    parser.add_argument("--results", type=Path, required=True)
    args = parser.parse_args()
    corpus = load(args)
    done = read_results(args.results) if args.results.exists() else []
    vectors = args.vectors and Path(args.vectors).name.removesuffix(".gz")
    for seed in args.seed:
        for encoder in args.encoder:
            for name, change in zip(args.name, args.change, strict=True):
                where = {"data": args.data, "fold": args.fold, "limit": args.limit, "vectors": vectors}
                key = {**where, "encoder": encoder, "name": name, "seed": seed, "updates_asked": args.updates}
                before = [(line["change"], line["steps"]) for line in done if line["key"] == key]
                if before and before != [(change, args.steps)]:
                    parser.error(f"{args.results} holds {name!r} with other settings: choose another --name")
                if before:
                    continue
                found = train(corpus, args, encoder, change, seed)
                words = ["python", "-m", "benchmarks.recipes", "--data", args.data, "--encoder", encoder]
                words += ["--steps", str(args.steps), "--updates", str(args.updates), "--seed", str(seed)]
                words += ["--manual-dir", "PATH"] if args.manual_dir else []
                words += ["--fold", str(args.fold)] if args.fold else []
                words += ["--limit", str(args.limit)] if args.limit else []
                words += ["--vectors", "PATH"] if vectors else []
                words += ["--name", name, "--change", json.dumps(change)]
                line = {
                    "key": key, **key, **found, "change": change, "steps": args.steps,
                    "backend": keras.backend.backend(), "command": shlex.join(words),
                }  # fmt: skip
                append_result(args.results, line)
                scores = f"development {found['development_accuracy']:.4f} test {found['test_accuracy']:.4f}"
                place = f"round {found['best_round']} of {found['rounds']}"
                print(
                    f"{args.data} {encoder} {name} seed {seed}: {scores}, {place}, {found['seconds']:.0f} s", flush=True
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
