"""Training of taggers."""

from __future__ import annotations

import argparse
import functools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_slstm.cli.names import ENCODER_SETTINGS
from keras_slstm.cli.presets import Settings, load_presets
from keras_slstm.cli.settings import settings_of
from keras_slstm.cli.tasks.jobs import NEEDED, Job, Results, limited, train_all
from keras_slstm.cli.tasks.reports import PREDICTIONS, draw, timed, write_predictions
from keras_slstm.cli.tasks.show import show_tags, tokenize
from keras_slstm.cli.tasks.streamed import MAX_TOKENS, StreamedCorpus, columns_of, load_streamed
from keras_slstm.cli.tasks.training import (
    batch_options,
    best_score,
    check_dimension,
    choose_settings,
    describe,
    describe_coverage,
    finish,
    fit,
    make_optimizer,
    naming_options,
    without_model_defaults,
)
from keras_slstm.datasets.loading import Sources
from keras_slstm.datasets.tagged_corpus import TaggedCorpus, TaggedSentences, load_tagged_corpus, read_tagged
from keras_slstm.extras import require
from keras_slstm.losses import CRFLoss, CRFMarginLoss
from keras_slstm.metrics.summaries import correct_by_length
from keras_slstm.models.development_score import DevelopmentScore
from keras_slstm.models.sequence_tagger import SequenceTagger
from keras_slstm.plots import transition_matrix
from keras_slstm.printable import printable
from keras_slstm.streaming.batches import StreamedBatches
from keras_slstm.streaming.corpora import prepare_sentences
from keras_slstm.streaming.prepared_corpus import PreparedCorpus
from keras_slstm.text.tag_schemes import span_scores, split_tag
from keras_slstm.text.token_batches import TokenBatches
from keras_slstm.text.token_vectorizer import TokenVectorizer
from keras_slstm.text.word_vectors import WordVectors, load_word_vectors
from keras_slstm.training.diagnosis import diagnose_tags
from keras_slstm.training.fingerprint import fingerprint
from keras_slstm.training.training_run import TrainingRun

# For the embedded corpus, in words outside its grammar.
TRAVEL_SENTENCES = [
    "Could you please book me a flight from Oslo to Rome on Friday?",
    "My friend Maria Rossi needs a hotel in New York for three nights.",
    "We do not want the car in Berlin for four people, we want one for two people.",
]


def tag(arguments: argparse.Namespace) -> int:
    """Train once for each data set, variant and seed; return the exit status."""
    names = [arguments.data] if arguments.data else arguments.dataset
    return train_all(
        arguments,
        load=lambda: [(load(arguments, name), None) for name in names],
        train=functools.partial(train, arguments),
        prepare=functools.partial(load_vectors, arguments),
        needed={**NEEDED, "seqeval.metrics": "examples"},
    )


def load(arguments: argparse.Namespace, name: str) -> TaggedCorpus | StreamedCorpus:
    """Load a corpus."""
    if arguments.stream:
        common = {"scheme": arguments.scheme, "on_error": arguments.on_error}

        def read(path: str) -> Sources:
            return read_tagged(path, columns=(arguments.token_column, arguments.tag_column), **common)[0]

        preset = load_presets("tag")[arguments.preset or default_preset(arguments, name)]
        min_count = without_model_defaults(settings_of(arguments, preset)).get("min_count")
        vectorizer = make_vectorizer(arguments, min_count, max_tokens=MAX_TOKENS, max_characters=None)
        columns = {"token_column": arguments.token_column, "tag_column": arguments.tag_column}
        return load_streamed(arguments, prepare_sentences, vectorizer, read, TaggedSentences, **common, **columns)
    corpus = load_tagged_corpus(
        name,
        data_dir=arguments.data_dir,
        manual_dir=arguments.manual_dir,
        seed=arguments.split_seed,
        validation_path=arguments.dev_data,
        test_path=arguments.test_data,
        token_column=arguments.token_column,
        tag_column=arguments.tag_column,
        scheme=arguments.scheme,
        on_error=arguments.on_error,
    )
    return limited(corpus, arguments.limit)


def default_preset(arguments: argparse.Namespace, corpus: str) -> str:
    """The preset of the paper; `small` for the embedded corpus and for your own data."""
    if arguments.data or corpus == "travel_desk":
        return "small"
    return "paper-pos" if arguments.task == "pos" else "paper"


def load_vectors(arguments: argparse.Namespace, jobs: Sequence[Job]) -> WordVectors | None:
    """Load the word vectors of the sentences of all jobs.

    Raises:
        ValueError: If `--embedding-dim` contradicts them.
    """
    if not arguments.vectors:
        return None
    parts = [part for job in jobs for part in (job.corpus.train, job.corpus.validation, job.corpus.test)]
    counts = make_vectorizer(arguments).count(tokens for part in parts for tokens in part.tokens)
    vectors = load_word_vectors(arguments.vectors, counts)
    check_dimension(arguments.embedding_dim, vectors)
    return vectors


def make_vectorizer(arguments: argparse.Namespace, min_count: int | None = None, **further: Any) -> TokenVectorizer:
    """Return the vectoriser."""
    options = {"lowercase": not arguments.cased, "zero_digits": arguments.zero_digits, **further}
    return TokenVectorizer(min_count=min_count, **options)


def choose(arguments: argparse.Namespace, job: Job) -> tuple[Settings, int]:
    """The settings of a training run, and its maximum number of epochs."""
    name = arguments.preset or default_preset(arguments, job.corpus.name)
    preset = load_presets("tag")[name]
    settings = choose_settings(arguments, job, name, preset, "encoder", "head", "cased", "zero_digits")
    settings["fixed_vectors"] = bool(arguments.fixed_vectors)
    settings["characters"] = None if arguments.characters == "none" else arguments.characters
    settings["head_options"] = dict(arguments.head_option)
    if arguments.loss != "crf" or arguments.label_weights:
        settings |= {"loss": arguments.loss, "label_weights": dict(arguments.label_weights)}
        settings |= {"weighting": arguments.weighting or "emission"} if arguments.loss == "crf" else {}
    for setting, encoders in ENCODER_SETTINGS.items():
        if arguments.encoder not in encoders:
            settings.pop(setting, None)
    return settings, preset["epochs"]


def train(arguments: argparse.Namespace, job: Job, vectors: WordVectors | None) -> Results:
    """Train, test, save, and tag a few sentences; return the results."""
    corpus = job.corpus
    settings, epochs = choose(arguments, job)
    with naming_options("--encoder-option", "--variants", "--head-option"):
        model, batches = build_model(arguments, settings, job, vectors)
    # The vocabulary also matters: it contains words of the test part that have a vector.
    settings["data"] = fingerprint(
        *columns_of(corpus.train, columns), *columns(corpus.validation), model.vectorizer.vocabulary
    )
    run = TrainingRun(job.folder, settings, overwrite=arguments.overwrite)
    scheme = f" ({corpus.scheme})" if corpus.scheme else ""
    describe(corpus, "sentences", f"{len(corpus.label_names)} labels{scheme}", settings["encoder"], model, run)
    coverage = None if vectors is None else describe_coverage(vectors, model.vectorizer, corpus.train.tokens)
    monitor, name = ("val_f1", "F1") if corpus.scheme else ("val_accuracy", "accuracy")
    score = DevelopmentScore(corpus.validation.tokens, corpus.validation.tags)
    trained = fit(arguments, run, model, batches, settings, epochs, monitor, callbacks=[score])
    run.save(model, finish=False)
    best_score(run, monitor, f"development {name}")
    development, _ = measure(model, corpus.validation, model.tag(corpus.validation.tokens), "Development")
    found = {
        "task": arguments.task,
        "tags": arguments.tag_column,
        "encoder": settings["encoder"] + (f" ({job.variant})" if job.variant else ""),
        "head": settings["head"],
        "characters": settings["characters"],
        "development": development,
        **{f"development_{name}": development[name] for name in ("f1", "accuracy") if name in development},
        **trained,
        **report(model, corpus.test, "Test", run.folder),
        "parameters": model.count_params(),
        "settings": settings,
    }
    if settings["head"] == "crf":
        scores = keras.ops.convert_to_numpy(model.head_layer.chain_kernel)
        draw(run.folder / "transitions.png", lambda path: transition_matrix(scores, model.labels, path, corpus.scheme))
    result = finish(arguments, run, job, found, coverage)
    embedded = corpus.name == "travel_desk" and corpus.scheme
    show_tags(model, [tokenize(text) for text in TRAVEL_SENTENCES] if embedded else corpus.test.tokens[:3])
    return result


def report(model: SequenceTagger, part: TaggedSentences, title: str, folder: Path | None = None) -> Results:
    """Tag a part; print and return the metrics.

    Args:
        model: The tagger.
        part: The sentences with their tags.
        title: Name of the part.
        folder: Where to write the predictions. None: nowhere.
    """
    predicted, seconds = timed(model.tag, part.tokens)
    scores, right = measure(model, part, predicted, title)
    if (advice := diagnose_tags(part.tags, predicted)) is not None:
        print(printable(advice))
    if folder is not None:
        sentences = enumerate(zip(part.tokens, part.tags, predicted), start=1)
        rows = ((number, *row) for number, columns in sentences for row in zip(*columns))
        write_predictions(folder / PREDICTIONS, ("sentence", "word", "tag", "prediction"), rows)
    return {
        "test": scores,
        **{f"test_{name}": scores[name] for name in ("f1", "accuracy") if name in scores},
        "test_seconds": seconds,
        "right_by_length": right,
    }


def measure(
    model: SequenceTagger, part: TaggedSentences, predicted: Sequence[Sequence[str]], name: str
) -> tuple[Results, dict[str, list[int]]]:
    """Print and return the metrics of a part, and the number of correct words by sentence length."""
    true_words = [label for labels in part.tags for label in labels]
    found_words = [label for labels in predicted for label in labels]
    right = [wanted == got for wanted, got in zip(true_words, found_words)]
    by_length = correct_by_length([len(labels) for labels in part.tags for _ in labels], right)
    scores: dict[str, Any] = {"accuracy": sum(right) / len(right)}
    if model.scheme:
        seqeval, schemes = require("seqeval.metrics", "examples"), require("seqeval.scheme", "examples")
        scheme = {"BIO": schemes.IOB2, "BIOES": schemes.IOBES}[model.scheme]
        options = {"mode": "strict", "scheme": scheme, "zero_division": 0}
        scores["types"] = seqeval.classification_report(part.tags, predicted, output_dict=True, **options)
        scores["precision"], scores["recall"], scores["f1"] = span_scores(part.tags, predicted, model.scheme)
        names = ([[printable(label) for label in labels] for labels in column] for column in (part.tags, predicted))
        report = seqeval.classification_report(*names, digits=4, **options)
        title = f"F1 {scores['f1']:.4f}, accuracy {scores['accuracy']:.4f}"
    else:
        metrics = require("sklearn.metrics", "examples")
        words = ([printable(label) for label in column] for column in (true_words, found_words))
        report = metrics.classification_report(*words, digits=4, zero_division=0)
        title = f"accuracy {scores['accuracy']:.4f}"
    print(f"\n{name} {title}\n\n{report}")
    return json.loads(json.dumps(scores, default=float)), by_length


def columns(part: TaggedSentences) -> Iterator[Iterable[str]]:
    """The columns that identify a part."""
    return (map(" ".join, column) for column in vars(part).values())


def build_model(
    arguments: argparse.Namespace, settings: Settings, job: Job, vectors: WordVectors | None
) -> tuple[SequenceTagger, TokenBatches | StreamedBatches]:
    """The compiled model with its vocabulary, and the training batches."""
    keras.utils.set_random_seed(job.seed)
    options = {name: settings[name] for name in ENCODER_SETTINGS if name in settings}
    part = job.corpus.train
    streamed = isinstance(part, PreparedCorpus)
    model = SequenceTagger(
        job.corpus.label_names,
        scheme=job.corpus.scheme,
        encoder=settings["encoder"],
        units=settings["units"],
        encoder_options={**options, **settings["encoder_options"]},
        head=settings["head"],
        head_options={"kernel_regularizer": keras.regularizers.L2(settings["l2"]), **settings["head_options"]},
        characters=settings["characters"],
        embedding_dim=settings["embedding_dim"] if vectors is None else vectors.dim,
        dropout=settings["dropout"],
        word_dropout=settings["word_dropout"],
        embeddings_initializer=settings.get("embeddings_initializer"),
        trainable_embeddings=not settings["fixed_vectors"],
        vectorizer=part.vectorizer if streamed else make_vectorizer(arguments, settings.get("min_count")),
        dtype=settings["dtype"],
    )
    batches: TokenBatches | StreamedBatches
    if streamed:
        batches = StreamedBatches(part, settings["batch_size"], seed=job.seed)
    else:
        model.adapt(part.tokens, vectors)
        batches = model.batches(part.tokens, part.tags, **batch_options(arguments, settings, job.seed))
    # Metrics on the training part would decode every batch.
    optimizer = make_optimizer(settings, batches, arguments.epochs)
    model.compile(optimizer, make_loss(settings, model), metrics=[], jit_compile=settings["jit_compile"])
    return model, batches


def make_loss(settings: Settings, model: SequenceTagger) -> keras.losses.Loss | None:
    """The loss with label weights or costs; None for the default of the model."""
    if "loss" not in settings:
        return None
    factors = label_factors(settings["label_weights"], model.labels, model.scheme)
    if settings["loss"] == "crf":
        return CRFLoss(label_weights=factors, weighting=settings["weighting"])
    cost = np.repeat(np.array(factors)[:, None], len(factors), axis=1)
    np.fill_diagonal(cost, 0)
    return CRFMarginLoss(cost)


def label_factors(factors: Mapping[str, float], labels: Sequence[str], scheme: str | None) -> list[float]:
    """One factor per label; 1 by default.

    Args:
        factors: Factors by label name, or by span type for all of its labels.
        labels: The label names.
        scheme: Their scheme; None if each label stands alone.

    Raises:
        ValueError: If a name is neither a label nor a span type.
    """
    types = [split_tag(label, scheme)[1] if scheme else "" for label in labels]
    if unknown := [name for name in factors if name not in labels and (not name or name not in types)]:
        known = ", ".join(sorted({*labels, *types} - {""}))
        raise ValueError(f"--label-weights: unknown label {unknown[0]!r}. Known names: {known}")
    return [factors.get(label, factors.get(kind, 1.0) if kind else 1.0) for label, kind in zip(labels, types)]
