"""Training of text pair classifiers."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Iterable, Iterator
from typing import Any

import keras

from keras_slstm.cli.names import FEATURES, PAIR_ARCHITECTURES
from keras_slstm.cli.presets import Settings, load_presets
from keras_slstm.cli.tasks import texts
from keras_slstm.cli.tasks.jobs import Job, Results, check_labels, limited, train_all
from keras_slstm.cli.tasks.reports import report_pairs
from keras_slstm.cli.tasks.show import show_pairs
from keras_slstm.cli.tasks.streamed import StreamedCorpus, columns_of, load_streamed, text_vectorizer
from keras_slstm.cli.tasks.training import (
    batch_options,
    best_score,
    choose_settings,
    describe,
    describe_coverage,
    describe_encoder,
    finish,
    fit,
    make_optimizer,
    naming_options,
)
from keras_slstm.datasets.pair_corpus import PairCorpus, Pairs, load_pair_corpus, read_pairs
from keras_slstm.models.esim import ESIM
from keras_slstm.models.sentence_pair_classifier import SentencePairClassifier
from keras_slstm.streaming.batches import StreamedBatches
from keras_slstm.streaming.corpora import prepare_pairs
from keras_slstm.streaming.prepared_corpus import PreparedCorpus
from keras_slstm.text.pair_batches import PairBatches
from keras_slstm.training.fingerprint import fingerprint
from keras_slstm.training.training_run import TrainingRun

# Labelled data sets for paraphrases; all others are treated as inference.
_PARAPHRASE_SETS = ("qqp", "mrpc", "glue/qqp", "glue/mrpc", "paws_wiki", "paws_x_wiki")


def match(arguments: argparse.Namespace, further_texts: Iterable[str] = ()) -> int:
    """Train once for each data set, variant and seed; also load the vectors of the words in `further_texts`."""
    names = [arguments.data] if arguments.data else arguments.dataset
    return train_all(
        arguments,
        load=lambda: [(load(arguments, name), None) for name in names],
        train=functools.partial(train, arguments),
        prepare=lambda jobs: texts.load_vectors(arguments, jobs, texts_of, further_texts),
        average=functools.partial(texts.average_models, arguments),
    )


def texts_of(part: Pairs) -> Iterator[str]:
    """Both texts of all pairs."""
    return (text for pair in part.texts for text in pair)


def load(arguments: argparse.Namespace, name: str) -> PairCorpus | StreamedCorpus:
    """A corpus, by the name of a data set or a file."""
    if arguments.stream:
        names = ("first_column", "second_column", "label_column")
        columns = {column: vars(arguments)[column] for column in names}
        read = functools.partial(read_pairs, columns=tuple(columns.values()), on_error=arguments.on_error)
        vectorizer = text_vectorizer(arguments, load_presets("match")[preset_name(arguments)])
        streamed = load_streamed(arguments, prepare_pairs, vectorizer, read, Pairs, **columns)
        check_labels(streamed)
        return streamed
    files: dict[str, Any] = {}
    if arguments.data:
        scores = arguments.task == "relatedness"
        files = {"validation_path": arguments.dev_data, "test_path": arguments.test_data, "scores": scores}
    corpus = load_pair_corpus(
        name,
        data_dir=arguments.data_dir,
        manual_dir=arguments.manual_dir,
        seed=arguments.split_seed,
        first_column=arguments.first_column,
        second_column=arguments.second_column,
        label_column=arguments.label_column,
        score_range=tuple(arguments.score_range) if arguments.score_range else None,
        on_error=arguments.on_error,
        **files,
    )
    if arguments.task and (arguments.task == "relatedness") != (not corpus.label_names):
        has = "labels" if corpus.label_names else "scores"
        raise ValueError(f"--task {arguments.task} does not fit {name}, which has {has}")
    check_labels(corpus)
    return limited(corpus, arguments.limit)


def task_of(arguments: argparse.Namespace, corpus: PairCorpus | StreamedCorpus) -> str:
    """The requested task, or that of the data set."""
    if arguments.task:
        return str(arguments.task)
    if not corpus.label_names:
        return "relatedness"
    paraphrases = corpus.name in _PARAPHRASE_SETS or corpus.name.startswith(
        tuple(f"{name}/" for name in _PARAPHRASE_SETS)
    )
    return "paraphrase" if paraphrases else "inference"


def preset_name(arguments: argparse.Namespace) -> str:
    """The requested preset; otherwise `small` for your own data, or that of the paper."""
    return arguments.preset or ("small" if arguments.data else arguments.architecture or "paper")


def choose(arguments: argparse.Namespace, job: Job, task: str, shared: texts.SharedWords) -> tuple[Settings, int]:
    """The settings of a training run, and its maximum number of epochs."""
    name = preset_name(arguments)
    preset = load_presets("match")[name]
    settings = choose_settings(arguments, job, name, preset, "encoder", "cased", "limit")
    settings["tokenizer"] = texts.choose_tokenizer(arguments, job.corpus)
    defaults = {"features": FEATURES[task], "batch_norm": True, "fixed_vectors": True, "pooling": None}
    for option, value in {**defaults, **PAIR_ARCHITECTURES.get(arguments.architecture, {})}.items():
        given = vars(arguments).get(option)
        settings[option] = value if given is None else given
    if arguments.fixed_vectors is None and settings["fixed_vectors"]:
        counts = shared.counts.get(id(job.corpus))
        settings["fixed_vectors"] = texts.can_stay_fixed(shared.vectors, settings, counts)
    settings["fixed_vectors"] &= shared.vectors is not None
    if arguments.architecture:
        settings["model"] = arguments.architecture
    return settings, preset["epochs"]


def train(arguments: argparse.Namespace, job: Job, shared: texts.SharedWords) -> Results:
    """Train, test, save, and match a few pairs; return the results."""
    corpus = job.corpus
    task = task_of(arguments, corpus)
    settings, epochs = choose(arguments, job, task, shared)
    with naming_options("--encoder-option", "--variants"):
        model, batches = build_model(arguments, settings, job, shared)
    # The vocabulary also matters: it contains words of the test part that have a vector.
    settings["data"] = fingerprint(
        *columns_of(corpus.train, columns), *columns(corpus.validation), model.vectorizer.vocabulary
    )
    run = TrainingRun(job.folder, settings, overwrite=arguments.overwrite)
    scores = "scores from {} to {}".format(*corpus.score_range) if corpus.score_range else ""
    targets = f"{len(corpus.label_names)} labels" if corpus.label_names else scores
    describe(corpus, f"pairs ({task})", targets, settings["encoder"], model, run)
    coverage = describe_coverage(shared.vectors, model.vectorizer, shared.counts.get(id(corpus)))
    measure = "accuracy" if corpus.label_names else "pearson"
    trained = fit(
        arguments, run, model, batches, settings, epochs, f"val_{measure}",
        validation_data=(corpus.validation.texts, corpus.validation.labels),
        validation_batch_size=settings["batch_size"],
    )  # fmt: skip
    run.save(model, finish=False)
    found = {
        "encoder": describe_encoder(arguments, job),
        "task": task,
        f"development_{measure}": best_score(run, f"val_{measure}", f"development {measure}"),
        **trained,
        **report_pairs(model, corpus.test, run.folder),
        "parameters": model.count_params(),
        "settings": settings,
    }
    result = finish(arguments, run, job, found, coverage)
    show_pairs(model, corpus.test.texts[:3])
    return result


def columns(part: Pairs) -> tuple[Iterable[str], Iterable[str]]:
    """The columns that identify a part."""
    return texts_of(part), map(str, part.labels)


def build_model(
    arguments: argparse.Namespace, settings: Settings, job: Job, shared: texts.SharedWords
) -> tuple[SentencePairClassifier, PairBatches | StreamedBatches]:
    """The compiled model with its vocabulary, and the training batches."""
    keras.utils.set_random_seed(job.seed)
    corpus = job.corpus
    part = corpus.train
    options = {
        "labels": corpus.label_names or None,
        "score_range": corpus.score_range,
        **texts.model_options(settings, shared.vectors),
        "encoder_options": settings["encoder_options"],
    }
    if isinstance(part, PreparedCorpus):
        options["vectorizer"] = part.vectorizer
    if settings.get("model") == "esim":
        options.pop("mlp_dropout")  # one rate for all
        model = ESIM(**options)
    else:
        model = SentencePairClassifier(
            features=settings["features"],
            pooling=settings["pooling"],
            mlp_batch_norm=settings["batch_norm"] and "mlp_units" in settings,
            mlp_activation=settings.get("mlp_activation", "relu"),
            **options,
        )
    batches: PairBatches | StreamedBatches
    if isinstance(part, PreparedCorpus):
        batches = StreamedBatches(part, settings["batch_size"], seed=job.seed)
    else:
        model.adapt(shared.counts.get(id(corpus), part.texts), shared.vectors)
        batches = model.batches(part.texts, part.labels, **batch_options(arguments, settings, job.seed))
    model.compile(make_optimizer(settings, batches, arguments.epochs), jit_compile=settings["jit_compile"])
    return model, batches
