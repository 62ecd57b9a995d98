"""Training of translation models."""

from __future__ import annotations

import argparse
import functools
from pathlib import Path
from typing import Any

import keras

from keras_slstm.cli.presets import Settings, load_presets
from keras_slstm.cli.tasks.jobs import Job, Results, limited, train_all
from keras_slstm.cli.tasks.reports import PREDICTIONS, timed, write_predictions
from keras_slstm.cli.tasks.show import show_translations
from keras_slstm.cli.tasks.training import (
    best_score,
    choose_settings,
    finish,
    fit,
    make_optimizer,
    naming_options,
)
from keras_slstm.datasets.parallel_corpus import ParallelCorpus, TextPairs, load_parallel_corpus
from keras_slstm.files import complete_file
from keras_slstm.models.equal_width import equal_width
from keras_slstm.models.seq2seq import Seq2Seq
from keras_slstm.models.translation_score import TranslationScore, score_translations
from keras_slstm.printable import printable
from keras_slstm.text.subword_vectorizer import BYTES, SPECIAL_IDS
from keras_slstm.text.translation_batches import TranslationBatches
from keras_slstm.training.fingerprint import fingerprint
from keras_slstm.training.training_run import TrainingRun

# Examples for the embedded corpus.
NOTES = {
    "to_figures": [
        "The course on the third of May lasts two and a half hours.",
        "If Mr Keller paid two hundred and twelve euros on January the first, please call us.",
        "Although the train to Vienna is fifty minutes late, Ms Young will come at a quarter to nine in the evening "
        "instead of half past eight in the evening.",
    ],
    "to_words": [
        "The course on 3 May lasts 2.5 hours.",
        "If Mr Keller paid €212 on January 1, please call us.",
        "Although the train to Vienna is 50 minutes late, Ms Young will come at 8:45 pm instead of 20:30.",
    ],
}


def translate(arguments: argparse.Namespace) -> int:
    """Train once for each data set and seed; return the exit status."""
    check_subwords(arguments)
    return train_all(
        arguments,
        load=lambda: load(arguments),
        train=lambda job, _: train(arguments, job),
        needed={"tokenizers": "translation", "sacrebleu": "translation", "matplotlib": "plots"},
    )


def check_subwords(arguments: argparse.Namespace) -> None:
    """Raise ValueError if `--subwords` has no room for the bytes, from which all subwords are made."""
    least = SPECIAL_IDS + BYTES
    if arguments.subwords is not None and arguments.subwords < least:
        raise ValueError(f"--subwords: expected an integer of at least {least}, but got {arguments.subwords}")


def load(arguments: argparse.Namespace) -> list[tuple[ParallelCorpus, None]]:
    """Load the corpora."""
    options: dict[str, Any] = {
        "data_dir": arguments.data_dir,
        "manual_dir": arguments.manual_dir,
        "seed": arguments.split_seed,
        "source": arguments.source_language,
        "target": arguments.target_language,
        "on_error": arguments.on_error,
    }
    sources: list[Any] = arguments.dataset
    if arguments.source_file:
        sources = [(arguments.source_file, arguments.target_file)]
        for part in ("validation", "test"):
            files = tuple(vars(arguments)[f"{part}_{side}"] for side in ("source", "target"))
            options[f"{part}_paths"] = files if all(files) else None
    corpora = [load_parallel_corpus(source, **options) for source in sources]
    return [(limited(corpus, arguments.limit), None) for corpus in corpora]


def choose(arguments: argparse.Namespace, job: Job) -> tuple[Settings, Settings]:
    """The settings of a training run, and its preset."""
    preset = load_presets("translate")[arguments.preset]
    settings = choose_settings(arguments, job, arguments.preset, preset, "cell", "equal_parameters")
    settings.pop("beam")  # a resumed run may use another beam
    # With a bidirectional encoder, attention needs half as many epochs.
    given = arguments.bidirectional
    settings["bidirectional"] = arguments.preset == "small" if given is None else given
    settings["cell_options"] = dict(arguments.cell_option)
    return settings, preset


def train(arguments: argparse.Namespace, job: Job) -> Results:
    """Train, test, save, and translate a few texts; return the results."""
    corpus = job.corpus
    settings, preset = choose(arguments, job)
    search = {
        "beam": arguments.beam or preset["beam"],
        "length_penalty": arguments.length_penalty,
        "max_length": arguments.max_length,
    }
    with naming_options("--cell-option"):
        model, batches = build_model(settings, corpus.train, arguments.epochs)
    columns = [column for part in (corpus.train, corpus.validation) for column in (part.sources, part.targets)]
    settings["data"] = fingerprint(*columns)
    run = TrainingRun(job.folder, settings, overwrite=arguments.overwrite)
    describe(corpus, model, batches, run)
    score = TranslationScore(corpus.validation.sources, corpus.validation.targets)
    trained = fit(arguments, run, model, batches, settings, preset["epochs"], "val_bleu", callbacks=[score])
    run.save(model, finish=False)
    best_score(run, "val_bleu", "development BLEU with a beam of 1", digits=2)
    development, _ = evaluate(model, corpus.validation, "Development", search)
    found = {
        "cell": settings["cell"],
        "units": settings["units"],
        "development": development,
        "development_bleu": development["bleu"],
        "beam": search["beam"],
        "length_penalty": search["length_penalty"],
        **trained,
        **report(model, corpus.test, "Test", search, run.folder),
        "parameters": model.count_params(),
        "settings": settings,
    }
    result = finish(arguments, run, job, found)
    _, _, task = corpus.name.partition("office_notes")
    embedded = corpus.name.startswith("office_notes")
    show_translations(model, NOTES[task.strip("/") or "to_figures"] if embedded else corpus.test.sources[:3], **search)
    return result


def report(model: Seq2Seq, part: TextPairs, title: str, search: dict[str, Any], folder: Path | None = None) -> Results:
    """Translate a part; print and return the metrics.

    Args:
        model: The model.
        part: The texts with their translations.
        title: Name of the part.
        search: Options of `Seq2Seq.translate`.
        folder: Where to write the translations, alone and in a table. None: nowhere.
    """
    (scores, translations), seconds = timed(evaluate, model, part, title, search)
    if folder is not None:
        rows = zip(part.sources, part.targets, translations)
        write_predictions(folder / PREDICTIONS, ("source", "target", "translation"), rows)
        with complete_file(folder / "translations.txt") as unfinished:
            unfinished.write_text("".join(f"{' '.join(text.split())}\n" for text in translations), encoding="utf-8")
    return {"test": scores, "test_bleu": scores["bleu"], "test_seconds": seconds}


def evaluate(model: Seq2Seq, part: TextPairs, name: str, search: dict[str, Any]) -> tuple[Results, list[str]]:
    """Print and return the scores of a part, and return the translations."""
    found = model.translate(part.sources, batch_size=64, **search)
    scores = score_translations(found, part.targets)
    print(f"{name} BLEU {scores.bleu:.2f}, exact {scores.exact:.4f} (beam of {search['beam']}; {scores.signature})")
    return scores._asdict(), found


def build_model(settings: Settings, train: TextPairs, epochs: int | None) -> tuple[Seq2Seq, TranslationBatches]:
    """The compiled model with its subwords, and the training batches; `epochs` is `--epochs`."""
    model = make_model(settings)
    model.adapt([*train.sources, *train.targets])
    if settings.pop("equal_parameters"):
        make = functools.partial(make_model, vectorizer=model.vectorizer)
        settings["units"] = equal_width(
            lambda units: make({**settings, "units": units}).count_params(),
            make({**settings, "cell": "lstm", "cell_options": {}}).count_params(),
            step=2 if settings["bidirectional"] else 1,
        )
        model = make(settings)
    lengths = [max(map(len, ids)) for ids in zip(*map(model.vectorizer.encode, (train.sources, train.targets)))]
    kept = train.take([i for i, length in enumerate(lengths) if length <= settings["longest"]])
    if not len(kept):
        raise ValueError(f"No training pair has at most {settings['longest']} subwords (--longest)")
    batches = model.batches(kept.sources, kept.targets, batch_size=settings["batch_size"], seed=settings["seed"])
    model.compile(make_optimizer(settings, batches, epochs), jit_compile=settings["jit_compile"])
    return model, batches


def make_model(settings: Settings, vectorizer: Any = None) -> Seq2Seq:
    """The model of the settings; with its weights, if the subwords are given."""
    keras.utils.set_random_seed(settings["seed"])
    return Seq2Seq(
        cell=settings["cell"],
        units=settings["units"],
        num_layers=settings["num_layers"],
        cell_options=settings["cell_options"],
        bidirectional=settings["bidirectional"],
        embedding_dim=settings["embedding_dim"],
        dropout=settings["dropout"],
        embeddings_initializer=keras.initializers.RandomNormal(stddev=settings["embedding_stddev"]),
        context_gain=settings["context_gain"],
        vectorizer=vectorizer or {"max_tokens": settings["subwords"]},
        dtype=settings["dtype"],
    )


def describe(corpus: ParallelCorpus, model: Seq2Seq, batches: TranslationBatches, run: TrainingRun) -> None:
    """Print the sizes of corpus and model."""
    sizes = f"{len(corpus.train):,} / {len(corpus.validation):,} / {len(corpus.test):,}"
    print(f"{printable(corpus.name)}: {sizes} pairs for training / development / test")
    if len(batches.sources) < len(corpus.train):
        print(f"Skipped in training: {len(corpus.train) - len(batches.sources):,} pairs that are too long")
    encoder = model.encoder
    print(
        f"{encoder.num_layers} layers of {encoder.units} units ({encoder.cell}) on both sides: "
        f"{model.count_params():,} parameters, {model.vectorizer.vocabulary_size:,} subwords"
    )
    if run.epochs_done:
        print(f"Resuming the interrupted run in {run.folder} after epoch {run.epochs_done}")
