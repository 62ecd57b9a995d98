"""Train a translation model on pairs of texts, evaluate it, save it, and use it.

The embedded corpus of office notes in English and German (no download), then a note of yours with the saved model:

    python examples/translate.py
    python examples/translate.py --model runs/office_notes-caslstm/model.keras --predict "The bus leaves at noon."

Figures to words, plain LSTM layers, a CAS-LSTM of as many parameters as these, several seeds:

    python examples/translate.py --dataset office_notes/to_words
    python examples/translate.py --cell lstm
    python examples/translate.py --cell caslstm --equal-parameters --output runs/office_notes-equal --seed 0 1 2

A set of TFDS, and your own files, whose lines translate each other, with the settings of the paper:

    python examples/translate.py --dataset ted_hrlr_translate/pt_to_en
    python examples/translate.py --source-file train.de --target-file train.en --preset paper

A training that was interrupted goes on when the same command is run again. A finished one is kept: choose another
`--output`, or say `--overwrite`. Every run appends a line to `results.jsonl` beside its folder.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # TensorFlow is talkative

import keras
from _common import (
    FAILURES,
    Parser,
    add_preset_options,
    check_prediction_options,
    command,
    fail,
    option,
    options_named,
    report_best,
    short_name,
    train_seeds,
    write_result,
)

from keras_slstm.datasets.parallel_corpus import ParallelCorpus, TextPairs, load_parallel_corpus
from keras_slstm.datasets.readers import read_lines
from keras_slstm.extras import require
from keras_slstm.files import complete_file
from keras_slstm.layers.recurrent_stack import CELLS
from keras_slstm.metrics.summaries import mean_and_spread
from keras_slstm.models.equal_width import equal_width
from keras_slstm.models.seq2seq import Seq2Seq
from keras_slstm.models.translation_score import TranslationScore, score_translations
from keras_slstm.printable import printable
from keras_slstm.text.translation_batches import TranslationBatches
from keras_slstm.training.fingerprint import fingerprint
from keras_slstm.training.stopwatch import Stopwatch
from keras_slstm.training.training_run import TrainingRun

PRESETS: dict[str, dict[str, Any]] = {
    # Minutes on two cores. A CAS-LSTM begins to read times and amounts, rather than to guess them, after ten epochs.
    "small": {
        "units": 64, "num_layers": 2, "embedding_dim": 64, "subwords": 800, "longest": 100,
        "dropout": 0.0, "learning_rate": 1e-2, "decay": 0.97, "clip": 1.0,
        "batch_size": 32, "epochs": 24, "patience": 6, "beam": 5,
    },
    # Choi, Kim and Lee (ACML 2019), section 4.4: sizes, subwords and beam. The paper tunes the rest, and does not
    # print it.
    "paper": {
        "units": 256, "num_layers": 2, "embedding_dim": 256, "subwords": 10_000, "longest": 175,
        "dropout": 0.2, "learning_rate": 1e-3, "decay": 0.9, "clip": 5.0,
        "batch_size": 64, "epochs": 30, "patience": 5, "beam": 10,
    },
}  # fmt: skip
# Of subwords: larger than Keras' own, from which attention takes several epochs more to be learned.
SUBWORD_VECTORS = keras.initializers.RandomNormal(stddev=0.5)

# For the embedded corpus: notes of its kind.
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


def main() -> int:
    """Train, or translate with a saved model; the exit status."""
    args = parse_arguments()
    try:
        return predict(args) if args.model else train_all(args)
    except KeyboardInterrupt:
        if not args.model:
            same = "same command without --overwrite" if args.overwrite else "same command"
            print(f"\nInterrupted. The {same} goes on after the last finished epoch.", file=sys.stderr)
        return 130


def train_all(args: argparse.Namespace) -> int:
    """Train once for each seed."""
    try:
        require("tokenizers", "translation")
        require("sacrebleu", "translation")
        corpus = load_data(args)
    except (ValueError, OSError, ImportError) as error:
        return fail(error)
    try:
        results = train_seeds(args, lambda seed, folder: train(args, corpus, seed, folder))
    except FAILURES as error:
        return fail(error)
    if len(results) > 1:
        print_summary(results)
    return 0


def load_data(args: argparse.Namespace) -> ParallelCorpus:
    """The corpus that the command line asks for."""
    files: dict[str, Any] = {}
    if args.source_file:
        for part in ("validation", "test"):
            pair = (vars(args)[f"{part}_source"], vars(args)[f"{part}_target"])
            files[f"{part}_paths"] = pair if all(pair) else None
    corpus = load_parallel_corpus(
        (args.source_file, args.target_file) if args.source_file else args.dataset,
        data_dir=args.data_dir,
        manual_dir=args.manual_dir,
        seed=args.split_seed,
        source=args.source_language,
        target=args.target_language,
        on_error=args.on_error,
        **files,
    )
    if args.limit is None:
        return corpus
    return ParallelCorpus(**{**vars(corpus), "train": corpus.train.take(range(min(args.limit, len(corpus.train))))})


def train(args: argparse.Namespace, corpus: ParallelCorpus, seed: int, folder: Path) -> dict[str, Any]:
    """Train, evaluate on the development and the test set, save, and translate a few texts; what was found."""
    settings = choose_settings(args, seed)
    with options_named("--cell-option"):
        model, batches = build_model(settings, corpus.train)
    parts = (corpus.train, corpus.validation)
    settings["data"] = fingerprint(*(column for part in parts for column in (part.sources, part.targets)))
    run = TrainingRun(folder, settings, overwrite=args.overwrite)
    describe(corpus, model, batches, run)

    stopwatch = Stopwatch(batches)
    history = run.fit(
        model,
        batches,
        epochs=args.epochs or PRESETS[settings["preset"]]["epochs"],
        monitor="val_bleu",
        patience=settings["patience"],
        callbacks=[stopwatch, TranslationScore(corpus.validation.sources, corpus.validation.targets)],
        verbose=1 if sys.stdout.isatty() else 2,
    )
    run.save(model, finish=False)

    report_best(run, "val_bleu", "development BLEU with a beam of 1", digits=2)
    development, _ = evaluate(args, model, corpus.validation, "Development")
    started = time.perf_counter()
    test, translations = evaluate(args, model, corpus.test, "Test")
    seconds = time.perf_counter() - started
    with complete_file(run.folder / "translations.txt") as unfinished:
        unfinished.write_text("".join(f"{' '.join(text.split())}\n" for text in translations), encoding="utf-8")
    result = {
        "data": short_name(args.source_file) if args.source_file else corpus.name,
        "split": {"seed": args.split_seed, "sizes": [len(p) for p in (corpus.train, corpus.validation, corpus.test)]},
        "cell": settings["cell"],
        "units": settings["units"],
        "seed": seed,
        "development": development,
        "test": test,
        "beam": args.beam,
        "length_penalty": args.length_penalty,
        "best_epoch": run.best_epoch,
        "epochs": run.epochs_done,
        "parameters": model.count_params(),
        "seconds_per_epoch": stopwatch.seconds_per_epoch,
        "test_seconds": seconds,
        "seconds_by_length": stopwatch.seconds_by_length,
        "command": command("translate.py", make_parser(), args),
        "settings": settings,
        "history": history,
    }
    result = write_result(run, args.results, result)
    run.finish()
    print(f"Saved {run.model_path} (translations of the test set beside it)\n")
    _, _, task = corpus.name.partition("office_notes")
    own = NOTES[task.strip("/") or "to_figures"] if corpus.name.startswith("office_notes") else corpus.test.sources[:3]
    show(args, model, args.predict or own)
    return result


def evaluate(args: argparse.Namespace, model: Seq2Seq, part: TextPairs, name: str) -> tuple[dict[str, Any], list[str]]:
    """Print and return how well a part is translated, and the translations."""
    found = model.translate(
        part.sources,
        beam=args.beam,
        length_penalty=args.length_penalty,
        max_length=args.max_length,
        batch_size=64,
    )
    scores = score_translations(found, part.targets)
    print(f"{name} BLEU {scores.bleu:.2f}, exact {scores.exact:.4f} (beam of {args.beam}; {scores.signature})")
    return scores._asdict(), found


def print_summary(results: list[dict[str, Any]]) -> None:
    """Mean and spread over the seeds."""
    for part in ("development", "test"):
        for measure, factor in (("bleu", 1), ("exact", 100)):
            mean, spread = mean_and_spread(factor * result[part][measure] for result in results)
            print(f"{part:12} {measure:9} {mean:6.2f} ± {spread:4.2f}  ({len(results)} seeds)")


def build_model(settings: dict[str, Any], train: TextPairs) -> tuple[Seq2Seq, TranslationBatches]:
    """The compiled model with its subwords, and the batches to train it on."""
    model = make_model(settings)
    model.adapt([*train.sources, *train.targets])
    if settings.pop("equal_parameters"):
        vectorizer = model.vectorizer
        wanted = make_model({**settings, "cell": "lstm", "cell_options": {}}, vectorizer).count_params()
        settings["units"] = equal_width(
            lambda units: make_model({**settings, "units": units}, vectorizer).count_params(),
            wanted,
            step=2 if settings["bidirectional"] else 1,
        )
        model = make_model(settings, vectorizer)
    lengths = [max(map(len, ids)) for ids in zip(*map(model.vectorizer.encode, (train.sources, train.targets)))]
    kept = train.take([i for i, length in enumerate(lengths) if length <= settings["longest"]])
    if not len(kept):
        raise ValueError(f"No pair to train on has at most {settings['longest']} subwords (--longest)")
    batches = model.batches(kept.sources, kept.targets, batch_size=settings["batch_size"], seed=settings["seed"])
    learning_rate = keras.optimizers.schedules.ExponentialDecay(
        settings["learning_rate"], decay_steps=len(batches), decay_rate=settings["decay"], staircase=True
    )
    optimizer = keras.optimizers.Adam(learning_rate, global_clipnorm=settings["clip"])
    model.compile(optimizer, jit_compile=settings["jit_compile"])
    return model, batches


def make_model(settings: dict[str, Any], vectorizer: Any = None) -> Seq2Seq:
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
        embeddings_initializer=SUBWORD_VECTORS,
        vectorizer=vectorizer or {"max_tokens": settings["subwords"]},
        dtype=settings["dtype"],
    )


def predict(args: argparse.Namespace) -> int:
    """Translate texts with a saved model."""
    try:
        model = keras.saving.load_model(args.model)
        if not isinstance(model, Seq2Seq):
            raise ValueError(f"{args.model} holds a {type(model).__name__}, not a Seq2Seq")
        texts = args.predict + (list(read_lines(args.predict_file)) if args.predict_file else [])
        show(args, model, texts)
    except (ValueError, OSError, TypeError, ImportError) as error:  # TypeError: Keras, of a class that it does not know
        return fail(error)
    return 0


def show(args: argparse.Namespace, model: Seq2Seq, texts: list[str]) -> None:
    """Print translation, score and text of each text, separated by tabs."""
    found, scores = model.translate(
        texts, beam=args.beam, length_penalty=args.length_penalty, max_length=args.max_length, return_scores=True
    )
    for translation, score, text in zip(found, scores, texts):
        print(f"{printable(' '.join(translation.split()))}\t{score:.3f}\t{printable(text)}")


def describe(corpus: ParallelCorpus, model: Seq2Seq, batches: TranslationBatches, run: TrainingRun) -> None:
    """Say what is trained on what."""
    sizes = f"{len(corpus.train):,} / {len(corpus.validation):,} / {len(corpus.test):,}"
    print(f"{printable(corpus.name)}: {sizes} pairs to train / develop / test")
    if len(batches.sources) < len(corpus.train):
        print(f"Left out of the training: {len(corpus.train) - len(batches.sources):,} pairs that are too long")
    encoder = model.encoder
    print(
        f"{encoder.num_layers} layers of {encoder.units} units ({encoder.cell}) on both sides: "
        f"{model.count_params():,} parameters, {model.vectorizer.vocabulary_size:,} subwords"
    )
    if run.epochs_done:
        print(f"Going on after epoch {run.epochs_done} of an interrupted training in {run.folder}")


def choose_settings(args: argparse.Namespace, seed: int) -> dict[str, Any]:
    """The preset with the options given; all that a resumed training must have in common."""
    preset = PRESETS[args.preset]
    settings = {name: preset[name] if vars(args)[name] is None else vars(args)[name] for name in preset}
    for name in ("epochs", "beam"):  # a resumed training may run longer, and end otherwise
        settings.pop(name)
    for name in ("preset", "cell", "equal_parameters", "dtype"):
        settings[name] = vars(args)[name]
    # Attention to words that have been read in both directions is learned in half of the epochs.
    settings["bidirectional"] = args.preset == "small" if args.bidirectional is None else args.bidirectional
    settings["cell_options"] = dict(args.cell_option)
    settings["seed"] = seed
    settings["backend"] = keras.backend.backend()
    # Compiling by XLA takes seconds for every length of sentence; it pays in long trainings.
    settings["jit_compile"] = settings["backend"] == "jax" if args.jit_compile is None else args.jit_compile
    return settings


def make_parser() -> argparse.ArgumentParser:
    """All options."""
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    data = parser.add_argument_group("data")
    source = data.add_mutually_exclusive_group()
    source.add_argument("--dataset", default="office_notes", metavar="NAME",
                      help="office_notes/to_figures, office_notes/to_words, any of TFDS with translations")  # fmt: skip
    source.add_argument("--source-file", help="your own texts, one a line, instead of --dataset")
    data.add_argument("--target-file", help="their translations, one a line")
    for part in ("validation", "test"):
        for side in ("source", "target"):
            data.add_argument(f"--{part}-{side}", metavar="FILE", help="(default: a tenth of the pairs)")
    data.add_argument("--source-language", help="of a set of TFDS (default: as the set says)")
    data.add_argument("--target-language", help="of a set of TFDS")
    data.add_argument("--on-error", default="raise", choices=("raise", "skip"), help="what a malformed line does")
    data.add_argument("--data-dir", help="where TFDS keeps its data")
    data.add_argument("--manual-dir", help="folder with original files that were downloaded by hand")
    data.add_argument("--split-seed", type=int, default=0, help="seed of the parts that are drawn at random")
    data.add_argument("--limit", type=int, help="train on the first pairs only")

    model = parser.add_argument_group("model")
    model.add_argument("--cell", default="caslstm", choices=CELLS, help="of encoder and decoder")
    model.add_argument("--cell-option", nargs="+", default=[], type=option, metavar="NAME=VALUE",
                       help="further arguments of the cells, such as lam=0.25")  # fmt: skip
    model.add_argument("--bidirectional", action=argparse.BooleanOptionalAction,
                       help="whether to read in both directions (small: yes, paper: no)")  # fmt: skip
    model.add_argument("--equal-parameters", action="store_true",
                       help="as many parameters as plain LSTM layers of --units, with other units")  # fmt: skip
    model.add_argument("--preset", default="small", choices=tuple(PRESETS))
    model.add_argument("--dtype", default="float32", help="such as mixed_bfloat16")
    add_preset_options(parser, PRESETS, model, ("units", "num_layers", "embedding_dim", "subwords", "dropout"))

    run = parser.add_argument_group("run")
    run.add_argument("--seed", type=int, nargs="+", default=[0], help="one training for each")
    run.add_argument("--jit-compile", action=argparse.BooleanOptionalAction, help="compile by XLA")
    run.add_argument("--output", type=Path, help="folder of the run (default: runs/DATA-CELL)")
    run.add_argument("--results", type=Path, help="file that gets a line (default: results.jsonl beside --output)")
    run.add_argument("--overwrite", action="store_true", help="delete what an earlier run left there")

    use = parser.add_argument_group("translation")
    use.add_argument("--model", help="a saved .keras file: no training, only translations")
    use.add_argument("--predict", action="append", default=[], metavar="TEXT", help="may be repeated")
    use.add_argument("--predict-file", metavar="FILE", help="one text a line")
    use.add_argument("--length-penalty", type=float, default=1.0, help="0 favours short translations")
    use.add_argument("--max-length", type=int, help="subwords of a translation (default: twice the text's and 10)")
    return parser


def parse_arguments() -> argparse.Namespace:
    """The command line, with a default for `--output` and `--beam`."""
    parser = make_parser()
    args = parser.parse_args()
    check_prediction_options(parser, args)
    pairs = [("source_file", "target_file")] + [(f"{p}_source", f"{p}_target") for p in ("validation", "test")]
    for source, target in pairs:
        given = [name for name in (source, target) if vars(args)[name]]
        if len(given) == 1:
            parser.error(f"--{source.replace('_', '-')} and --{target.replace('_', '-')} go together")
        if given and not args.source_file:
            parser.error(f"--{source.replace('_', '-')} needs --source-file")
    for name in ("source_language", "target_language"):
        if args.source_file and vars(args)[name]:
            parser.error(f"--{name.replace('_', '-')} goes with --dataset")
    if args.beam is None:
        args.beam = PRESETS[args.preset]["beam"]
    if args.output is None:
        name = short_name(args.source_file or args.dataset)
        args.output = Path("runs", f"{name}-{args.cell}")
    args.results = args.results or args.output.parent / "results.jsonl"
    return args


if __name__ == "__main__":
    sys.exit(main())
