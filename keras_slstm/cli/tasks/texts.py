"""Steps shared by the training of text classifiers and pair classifiers."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from keras_slstm.cli.presets import Settings
from keras_slstm.cli.tasks.jobs import Job, Results
from keras_slstm.cli.tasks.training import check_dimension
from keras_slstm.datasets.tokenised import tokenizer_of
from keras_slstm.distribute import is_chief
from keras_slstm.models.ensemble import Ensemble
from keras_slstm.models.word_vector_defaults import MIN_COVERAGE_TO_FREEZE, can_be_frozen
from keras_slstm.text.text_vectorizer import TextVectorizer
from keras_slstm.text.word_vectors import WordVectors, load_word_vectors
from keras_slstm.training.results import append_result


class SharedWords(NamedTuple):
    """The word vectors of all jobs, and the counts of the words to train on, by the id of the corpus."""

    vectors: WordVectors | None
    counts: dict[int, Counter[str]]


def load_vectors(
    arguments: argparse.Namespace,
    jobs: Sequence[Job],
    texts_of: Callable[[Any], Iterable[str]],
    further_texts: Iterable[str] = (),
) -> SharedWords:
    """Load the word vectors for the texts of all jobs and the further texts.

    Raises:
        ValueError: If `--embedding-dim` contradicts them.
    """
    if not arguments.vectors:
        return SharedWords(None, {})
    further_texts = list(further_texts)
    counts: dict[int, Counter[str]] = {}
    look_ups: set[str] = set()
    for corpus in {id(job.corpus): job.corpus for job in jobs}.values():
        vectorizer = TextVectorizer(tokenizer=choose_tokenizer(arguments, corpus), lowercase=not arguments.cased)
        counts[id(corpus)] = vectorizer.count(texts_of(corpus.train))
        look_ups |= vectorizer.look_ups(counts[id(corpus)])
        look_ups |= vectorizer.look_ups([*texts_of(corpus.validation), *texts_of(corpus.test), *further_texts])
    vectors = load_word_vectors(arguments.vectors, look_ups)
    check_dimension(arguments.embedding_dim, vectors)
    return SharedWords(vectors, counts)


def can_stay_fixed(vectors: WordVectors | None, settings: Settings, counts: Counter[str] | None) -> bool:
    """Whether word vectors that a preset keeps fixed can stay fixed; otherwise print the reason."""
    if vectors is None or counts is None:
        return False
    vectorizer = TextVectorizer(**vectorizer_options(settings))
    vectorizer.adapt(counts, known=vectors.words)
    counts = vectorizer.count(counts)
    if can_be_frozen(vectors, counts):
        return True
    coverage = vectors.coverage(counts)
    print(
        f"The word vectors are trained, although the preset keeps them fixed: only {coverage.known_tokens} of "
        f"{coverage.tokens} tokens have one, and random vectors are useless without training "
        f"(they stay fixed at {MIN_COVERAGE_TO_FREEZE:.0%} or more, or with --fixed-vectors)."
    )
    return False


def choose_tokenizer(arguments: argparse.Namespace, corpus: Any) -> str:
    """The requested tokeniser, or the one that suits the data set."""
    return arguments.tokenizer or tokenizer_of(corpus.name)


def vectorizer_options(settings: Settings) -> Settings:
    """The arguments of the `TextVectorizer`."""
    options = {"tokenizer": settings["tokenizer"], "lowercase": not settings["cased"]}
    if "min_count" in settings:
        options["min_count"] = settings["min_count"]
    if "split_words" in settings:
        options["split_words"] = settings["split_words"] == "yes"
    return options


def model_options(settings: Settings, vectors: WordVectors | None) -> Settings:
    """The arguments shared by the models of texts and of pairs."""
    return {
        "encoder": settings["encoder"],
        "units": settings["units"],
        "embedding_dim": settings["embedding_dim"] if vectors is None else vectors.dim,
        "trainable_embeddings": not settings["fixed_vectors"],
        "dropout": settings["dropout"],
        "word_dropout": settings["word_dropout"],
        "embeddings_initializer": settings.get("embeddings_initializer"),
        "mlp_units": [settings["mlp_units"]] * settings["mlp_layers"] if "mlp_units" in settings else [],
        "mlp_dropout": settings.get("mlp_dropout", 0.0),
        "vectorizer": vectorizer_options(settings),
        "dtype": settings["dtype"],
    }


def average_models(arguments: argparse.Namespace, jobs: Sequence[Job], results: Sequence[Results]) -> list[Results]:
    """The results of the ensemble of all seeds, one line per data set, fold and variant."""
    found = []
    seeds = len(arguments.seed)
    for start in range(0, len(jobs), seeds):  # `plan_jobs` groups the seeds
        alike, members, first = jobs[start : start + seeds], results[start : start + seeds], results[start]
        ensemble = Ensemble([job.folder / "model.keras" for job in alike])
        measures = {}
        for name, part in (("development", alike[0].corpus.validation), ("test", alike[0].corpus.test)):
            if ensemble.labels:
                right = [wanted == got for wanted, got in zip(part.labels, ensemble.classify(part.texts))]
                measures[f"{name}_accuracy"] = float(np.mean(right))
            else:
                measures[f"{name}_pearson"] = float(np.corrcoef(part.labels, ensemble.score(part.texts))[0, 1])
        shared = ("data", "split", "fold", "variant", "vectors", "coverage", "task", "command")
        result = {
            **{name: first[name] for name in shared if name in first},
            "encoder": f"{first['encoder']} (ensemble of {seeds})",
            "seed": list(arguments.seed),
            "settings": {name: value for name, value in first["settings"].items() if name != "seed"},
            **measures,
        }
        if is_chief():
            append_result(arguments.results, {"run": "+".join(member["run"] for member in members), **result})
        result["variant"] = f"{first['variant']} ensemble of {seeds}".strip()  # a separate line in the table
        found.append(result)
    return found
