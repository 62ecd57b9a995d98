"""Training of text classifiers."""

from __future__ import annotations

import argparse
import functools
import random
from collections.abc import Sequence
from typing import Any

import keras

from keras_slstm.cli.names import ENCODER_SETTINGS, GRN
from keras_slstm.cli.presets import Settings, load_presets
from keras_slstm.cli.tasks import texts
from keras_slstm.cli.tasks.jobs import Job, Results, check_labels, train_all
from keras_slstm.cli.tasks.reports import report_texts
from keras_slstm.cli.tasks.show import show_labels
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
from keras_slstm.datasets.corpus import Corpus, Texts, load_corpus, load_folds, read_texts
from keras_slstm.datasets.travel_desk import handwritten_requests
from keras_slstm.losses import SmoothedCrossentropy
from keras_slstm.models.bcn import BCN
from keras_slstm.models.sentence_classifier import SentenceClassifier
from keras_slstm.models.word_depths import DepthCounts, find_grn, read_depths
from keras_slstm.streaming.batches import StreamedBatches
from keras_slstm.streaming.corpora import prepare_corpus
from keras_slstm.streaming.prepared_corpus import PreparedCorpus
from keras_slstm.text.batches import TextBatches
from keras_slstm.training.fingerprint import fingerprint
from keras_slstm.training.stopwatch import texts_a_second
from keras_slstm.training.training_run import TrainingRun

# Presets and architectures of papers that do not train the word vectors.
_FIXED_VECTORS = {"bcn", "depth-adaptive-grn"}
# Settings that are omitted if they have these values.
_DEFAULTS = {"characters": "none", "label_smoothing": 0.0, "pooling": None, "max_length": None, "limit": None}


def classify(arguments: argparse.Namespace) -> int:
    """Train once for each data set, fold, variant and seed; return the exit status."""
    return train_all(
        arguments,
        load=lambda: load(arguments),
        train=functools.partial(train, arguments),
        prepare=lambda jobs: texts.load_vectors(arguments, jobs, lambda part: part.texts),
        average=functools.partial(texts.average_models, arguments),
    )


def load(arguments: argparse.Namespace) -> Sequence[tuple[Corpus | StreamedCorpus, int | None]]:
    """The corpora, or their folds, which are counted from 1."""
    if arguments.stream:
        columns = {"text_column": arguments.text_column, "label_column": arguments.label_column}
        preset = load_presets("classify")[arguments.preset or default_preset(arguments, arguments.data)]
        read = functools.partial(read_texts, on_error=arguments.on_error, **columns)
        vectorizer = text_vectorizer(arguments, preset)
        streamed = load_streamed(arguments, prepare_corpus, vectorizer, read, Texts, **columns)
        check_labels(streamed)
        return [(streamed, None)]
    corpora: list[tuple[Corpus, int | None]] = []
    for name in data_names(arguments):
        options = {
            "data_dir": arguments.data_dir,
            "manual_dir": arguments.manual_dir,
            "seed": arguments.split_seed,
            "text_column": arguments.text_column,
            "label_column": arguments.label_column,
            "on_error": arguments.on_error,
        }
        if arguments.folds:
            folds = load_folds(name, arguments.folds, **options)
            corpora += [(folds[i - 1], i) for i in arguments.fold or range(1, len(folds) + 1)]
        else:
            files = {"validation_path": arguments.dev_data, "test_path": arguments.test_data} if arguments.data else {}
            corpora.append((load_corpus(name, **options, **files), None))
    for corpus, _ in corpora:
        check_labels(corpus)
    return [(limited(corpus, arguments.limit), fold) for corpus, fold in corpora]


def default_preset(arguments: argparse.Namespace, corpus: str) -> str:
    """The preset of the encoder's paper; `small` for the embedded corpus and for your own data."""
    if arguments.data or corpus == "travel_desk":
        return "small"
    if arguments.architecture:
        return str(arguments.architecture)
    if arguments.encoder in GRN:
        return "depth-adaptive-grn"
    return "cas-lstm" if arguments.encoder in ("caslstm", "bi_caslstm") else "paper"


def data_names(arguments: argparse.Namespace) -> list[str]:
    """The data sets, or the one file."""
    if arguments.data:
        return [arguments.data]
    names = []
    for name in arguments.dataset:
        if name == "fdu_mtl/all":  # every domain is a separate data set, as in Table 5 of the paper
            from keras_slstm.datasets.builders.fdu_mtl import DOMAINS

            names += [f"fdu_mtl/{domain}" for domain in DOMAINS]
        else:
            names.append(name)
    return names


def limited(corpus: Corpus, limit: int | None) -> Corpus:
    """The corpus with at most `limit` training texts, the same for every seed."""
    if limit is None or limit >= len(corpus.train):
        return corpus
    chosen = sorted(random.Random(0).sample(range(len(corpus.train)), limit))
    return Corpus(**{**vars(corpus), "train": corpus.train.take(chosen)})


def choose(arguments: argparse.Namespace, job: Job, shared: texts.SharedWords) -> tuple[Settings, int]:
    """The settings of a training run, and its maximum number of epochs."""
    name = arguments.preset or default_preset(arguments, job.corpus.name)
    preset = load_presets("classify")[name]
    settings = choose_settings(arguments, job, name, preset, "encoder", "cased", "pooling", "max_length", "limit")
    settings["tokenizer"] = texts.choose_tokenizer(arguments, job.corpus)
    fixed = arguments.fixed_vectors
    if fixed is None:
        fixed = shared.vectors is not None and bool({name, arguments.architecture} & _FIXED_VECTORS)
        fixed = fixed and texts.can_stay_fixed(shared.vectors, settings, shared.counts.get(id(job.corpus)))
    settings["fixed_vectors"] = shared.vectors is not None and fixed
    if arguments.architecture:
        settings["model"] = arguments.architecture
        settings["mlp_dropout"] = preset["mlp_dropout"] if arguments.mlp_dropout is None else arguments.mlp_dropout
    for setting, encoders in ENCODER_SETTINGS.items():
        if arguments.encoder not in encoders:
            settings.pop(setting)
    return {key: value for key, value in settings.items() if _DEFAULTS.get(key, ...) != value}, preset["epochs"]


def train(arguments: argparse.Namespace, job: Job, shared: texts.SharedWords) -> Results:
    """Train, test, save, and classify a few texts; return the results."""
    corpus = job.corpus
    settings, epochs = choose(arguments, job, shared)
    with naming_options("--encoder-option", "--variants"):
        model, batches = build_model(arguments, settings, job, shared)
    # The vocabulary also matters: it contains words of the test part that have a vector.
    settings["data"] = fingerprint(
        *columns_of(corpus.train, columns), *columns(corpus.validation), model.vectorizer.vocabulary
    )
    run = TrainingRun(job.folder, settings, overwrite=arguments.overwrite)
    describe(corpus, "texts", f"{len(corpus.label_names)} labels", settings["encoder"], model, run)
    coverage = describe_coverage(shared.vectors, model.vectorizer, shared.counts.get(id(corpus)))
    trained = fit(
        arguments, run, model, batches, settings, epochs, "val_accuracy",
        validation_data=(corpus.validation.texts, corpus.validation.labels),
        validation_batch_size=settings["batch_size"],
    )  # fmt: skip
    run.save(model, finish=False)
    found = {
        "encoder": describe_encoder(arguments, job),
        "development_accuracy": best_score(run, "val_accuracy", "development accuracy"),
        **trained,
        **test(arguments, model, corpus, run),
        "settings": settings,
    }
    result = finish(arguments, run, job, found, coverage)
    show_labels(model, show_requests(model) if corpus.name == "travel_desk" else corpus.test.texts[:3])
    return result


def columns(part: Texts) -> tuple[list[str], list[str]]:
    """The columns that identify a part."""
    return part.texts, part.labels


def show_requests(model: SentenceClassifier) -> list[str]:
    """Print how many handwritten requests are classified correctly; return the first three."""
    requests, intents = zip(*handwritten_requests())
    right = sum(wanted == found for wanted, found in zip(intents, model.classify(requests)))
    print(
        f"{right} of {len(requests)} handwritten requests, unseen in training, are labelled correctly; the first three:"
    )
    return list(requests[:3])


def test(arguments: argparse.Namespace, model: SentenceClassifier, corpus: Corpus, run: TrainingRun) -> Results:
    """Classify the test part; print, save and return the results."""
    part = corpus.test.texts
    report = report_texts(model, corpus.test, run.folder)
    found = {**report, "parameters": model.count_params(), **count_depths(arguments, model, part)}
    if arguments.speed:
        found["texts_a_second"] = texts_a_second(model, part)
        print(f"{found['texts_a_second']:.1f} texts per second")
    return found


def count_depths(arguments: argparse.Namespace, model: SentenceClassifier, part: list[str]) -> Results:
    """Count the depths of the words of texts, if the model has depths."""
    if arguments.encoder not in GRN or arguments.architecture:  # in a BCN, the GRN is not the encoder itself
        return {}
    counts = DepthCounts(find_grn(model).max_depth)
    for sentence in read_depths(model, part):
        counts.add(sentence.depths)
    print(f"Mean depth of the words of the test part: {counts.mean:.2f}")
    return {"mean_depth": counts.mean, "depths": counts.counts.tolist()}


def build_model(
    arguments: argparse.Namespace, settings: Settings, job: Job, shared: texts.SharedWords
) -> tuple[SentenceClassifier, TextBatches | StreamedBatches]:
    """The compiled model with its vocabulary, and the training batches."""
    keras.utils.set_random_seed(job.seed)
    options = {name: settings[name] for name in ENCODER_SETTINGS if name in settings}
    shared_options: dict[str, Any] = {
        **texts.model_options(settings, shared.vectors),
        "encoder_options": {**options, **settings["encoder_options"]},
        "kernel_regularizer": keras.regularizers.L2(settings["l2"]),
        "characters": settings.get("characters"),
    }
    part = job.corpus.train
    streamed = isinstance(part, PreparedCorpus)
    if streamed:
        shared_options["vectorizer"] = part.vectorizer
    elif "max_length" in settings:
        shared_options["vectorizer"]["max_length"] = settings["max_length"]
    if settings.get("model") == "bcn":
        bcn_options = {name: value for name, value in shared_options.items() if not name.startswith("mlp_")}
        model = BCN(job.corpus.label_names, maxout_dropout=settings["mlp_dropout"], **bcn_options)
    else:
        model = SentenceClassifier(job.corpus.label_names, pooling=settings.get("pooling"), **shared_options)
    batches: TextBatches | StreamedBatches
    if streamed:
        batches = StreamedBatches(part, settings["batch_size"], seed=job.seed)
    else:
        model.adapt(shared.counts.get(id(job.corpus), part.texts), shared.vectors)
        batches = model.batches(part.texts, part.labels, **batch_options(arguments, settings, job.seed))
    smoothing = settings.get("label_smoothing")
    model.compile(
        make_optimizer(settings, batches, arguments.epochs),
        loss=SmoothedCrossentropy(smoothing) if smoothing else "sparse_categorical_crossentropy",
        metrics=["accuracy"],
        jit_compile=settings["jit_compile"],
    )
    return model, batches
