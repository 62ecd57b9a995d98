"""Search for good hyperparameters, on one machine or several, and keep the best model.

The embedded corpus (no download): 20 trials, drawn at random, of an S-LSTM; then, with the best model:

    python tuning/search.py --values units=50,100 embedding_dim=50,100 batch_size=32 --epochs 5
    python examples/classify_text.py --model runs/travel_desk-random/best.keras --predict "I need a car"

Tags and pairs, other encoders and tuners, a search in part of the space (`--only`: all else at the paper's values):

    python tuning/search.py --task tagging --dataset conll2003 --manual-dir PATH --encoders slstm bilstm
    python tuning/search.py --task pairs --dataset snli --tuner hyperband --epochs 27 --max-trials 60
    python tuning/search.py --dataset trec --tuner bayesian --only --values slstm/steps=3,5,7,9 learning_rate=1e-3,2e-3

Figure 2 and Table 2 of the S-LSTM's paper, three trainings a trial:

    python tuning/search.py --dataset movie_review --vectors glove.6B.300d.txt --study figure2 --seeds 0 1 2

A search that was interrupted goes on with `--resume`, with more trials if you like; a finished one is kept, unless you
say `--overwrite`. `--confirm 3` ends it with what nothing else here looks at, the test set: the best hyperparameters
and the defaults, three trainings each (with `--resume`, of a search that has finished). Several processes at once:
`tuning/launch.py`. What was found: `tuning/report.py`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # TensorFlow is talkative

from keras_slstm.datasets.corpus import load_corpus
from keras_slstm.datasets.pair_corpus import load_pair_corpus
from keras_slstm.datasets.tagged_corpus import load_tagged_corpus
from keras_slstm.datasets.tokenised import tokenizer_of
from keras_slstm.text.text_vectorizer import TextVectorizer
from keras_slstm.text.token_vectorizer import TokenVectorizer
from keras_slstm.text.word_vectors import load_word_vectors
from keras_slstm.tuning import STUDIES, ClassificationHyperModel, PairHyperModel, Search, TaggingHyperModel, confirm
from keras_slstm.tuning.oracles import TUNERS
from keras_slstm.tuning.records import format_scores

# For each task: its loader, its hypermodel, its data set and its encoder.
TASKS: dict[str, tuple[Any, Any, str, str]] = {
    "classification": (load_corpus, ClassificationHyperModel, "travel_desk", "slstm"),
    "tagging": (load_tagged_corpus, TaggingHyperModel, "travel_desk", "slstm"),
    "pairs": (load_pair_corpus, PairHyperModel, "sick/entailment", "bi_caslstm"),
}


def main() -> int:
    """Search; the exit status."""
    args = parse_arguments()
    for module in args.imports:
        importlib.import_module(module)
    try:
        corpus = load_examples(args)
        search = make_search(args, corpus)
        describe(args, search)
        search.search()
        if args.confirm is not None:
            show_confirmation(confirm(search, corpus.test, args.confirm))
    except (ValueError, OSError, ImportError, RuntimeError) as error:
        message = " ".join(str(error).split())
        print(message.replace("overwrite=True", "--overwrite").replace("resume=True", "--resume"), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nInterrupted. The same command with --resume goes on.", file=sys.stderr)
        return 130
    if all(path.with_name("record.json").exists() for path in args.directory.glob("trial_*/trial.json")):
        show_best(args.directory)  # where other processes are still at work, the last of them does
    return 0


def load_examples(args: argparse.Namespace) -> Any:
    """The corpus that the command line asks for."""
    load = TASKS[args.task][0]
    files = {"validation_path": args.dev_data, "test_path": args.test_data} if args.data else {}
    if args.data and not Path(args.data).is_file():
        raise FileNotFoundError(f"There is no file {args.data}")  # else its name could be taken for a data set's
    options = {"scheme": args.scheme} if args.task == "tagging" and args.scheme else {}
    corpus = load(
        args.data or args.dataset,
        data_dir=args.data_dir,
        manual_dir=args.manual_dir,
        seed=args.split_seed,
        **files,
        **options,
    )
    if args.limit is None:
        return corpus
    part = corpus.train.take(range(min(args.limit, len(corpus.train))))
    return type(corpus)(**{**vars(corpus), "train": part})


def make_search(args: argparse.Namespace, corpus: Any) -> Search:
    """The search that the command line asks for."""
    hypermodel = TASKS[args.task][1]
    study = STUDIES[args.study] if args.study else {}
    model_options = make_model_options(args, corpus)
    return Search(
        hypermodel(
            corpus,
            args.encoders or study.get("encoders") or [TASKS[args.task][3]],
            values={**study.get("values", {}), **dict(args.values)},
            only=args.only or study.get("only", False),
            rows=study.get("rows"),
            vectors=None if args.vectors is None else load_vectors(args, corpus, model_options["vectorizer"]),
            objective=args.objective,
            options=model_options,
            jit_compile=args.jit_compile,
        ),
        args.directory,
        tuner=args.tuner,
        max_trials=args.max_trials,
        epochs=args.epochs,
        patience=args.patience or None,
        seeds=args.seeds,
        seed=args.seed,
        factor=args.factor,
        resume=args.resume,
        overwrite=args.overwrite,
        strategy=args.strategy,
        modules=args.imports,
    )


def make_model_options(args: argparse.Namespace, corpus: Any) -> dict[str, Any]:
    """The arguments of the model that are not searched."""
    options: dict[str, Any] = {"dtype": args.dtype, "vectorizer": {"lowercase": not args.cased}}
    if args.task != "tagging":
        options["vectorizer"]["tokenizer"] = args.tokenizer or tokenizer_of(corpus.name)
    if args.task == "pairs":
        options["features"] = args.features or ("inference" if corpus.label_names else "paraphrase")
    return options


def load_vectors(args: argparse.Namespace, corpus: Any, options: dict[str, Any]) -> Any:
    """The word vectors that the examples can use."""
    parts = (corpus.train, corpus.validation, corpus.test)
    words: Iterable[str]
    if args.task == "tagging":
        normalize = TokenVectorizer(**options).normalize
        words = {normalize(token) for part in parts for tokens in part.tokens for token in tokens}
    else:
        tokenize = TextVectorizer(**options).tokenize
        examples = [example for part in parts for example in part.texts]
        texts = examples if args.task == "classification" else [text for pair in examples for text in pair]
        words = {word for text in texts for word in tokenize(text)}
    return load_word_vectors(args.vectors, words)


def describe(args: argparse.Namespace, search: Search) -> None:
    """Say what is searched for, and how long."""
    trials = "trials" if args.max_trials is None else f"{args.max_trials} trials"
    several = [] if len(args.seeds) == 1 else [f"{len(args.seeds)} trainings each"]
    budget = ", ".join([trials, *several, f"at most {args.epochs} epochs a training"])
    direction = {"max": "largest", "min": "smallest"}[search.hypermodel.direction]
    print(f"{args.tuner} search for the {direction} {search.hypermodel.objective}: {budget}", flush=True)


def show_best(folder: Path) -> None:
    """Print where the best model is, and what it is."""
    best = json.loads((folder / "best.json").read_text(encoding="utf-8"))
    values = " ".join(f"{name}={value}" for name, value in best["values"].items() if not name.startswith("tuner/"))
    print(f"Best: trial {best['trial']}, {best['score']:.4f}, {best['parameters']:,} parameters\n{values}")
    print(f"Saved {folder / 'best.keras'} (its hyperparameters beside it)")


def show_confirmation(found: dict[str, Any]) -> None:
    """Print how good the best hyperparameters and the defaults are."""
    print(f"{found['objective'].removeprefix('val_')}, trained anew with seeds {', '.join(map(str, found['seeds']))}:")
    for each in found["configurations"]:
        scores = [f"{part} {format_scores(each[part])}" for part in ("development", "test")]
        print(f"{each['name']:8} {'  '.join(scores)}  ({each['parameters']:,} parameters)")
    if len(found["configurations"]) == 1:
        print("No trial was better than the defaults.")


def choice(text: str) -> tuple[str, list[Any]]:
    """`slstm/steps=5,7` as a name and its values: JSON, or else strings."""
    name, equals, values = text.partition("=")
    if not name or not equals or not values:
        raise argparse.ArgumentTypeError(f"NAME=VALUE[,VALUE...] expected, but got {text!r}")
    return name, [_value(value) for value in values.split(",")]


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def make_parser() -> argparse.ArgumentParser:
    """All options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    data = parser.add_argument_group("data")
    data.add_argument("--task", default="classification", choices=tuple(TASKS))
    data.add_argument("--dataset", help="(travel_desk, or, for pairs, sick/entailment)")
    data.add_argument("--data", help="your own file, instead of --dataset")
    data.add_argument("--dev-data", help="development set of --data (default: a tenth of it)")
    data.add_argument("--test-data", help="test set of --data (default: a tenth of it); no search looks at it")
    data.add_argument("--data-dir", help="where TFDS keeps its data")
    data.add_argument("--manual-dir", help="folder with original files that were downloaded by hand")
    data.add_argument("--split-seed", type=int, default=0, help="seed of the parts that are drawn at random")
    data.add_argument("--limit", type=int, help="train on so many examples only")
    data.add_argument("--scheme", choices=("BIO", "BIOES"), help="of tags that mark spans (as they are written)")
    data.add_argument("--tokenizer", choices=("words", "whitespace"), help="(whitespace for sets that are tokenised)")
    data.add_argument("--cased", action="store_true", help="keep upper and lower case apart")
    data.add_argument("--vectors", help="word vectors in GloVe's text format")
    data.add_argument("--features", choices=("inference", "paraphrase"), help="of pairs (paraphrase for scores)")

    space = parser.add_argument_group("space")
    space.add_argument("--encoders", nargs="+", metavar="NAME", help="encoders to choose from (the task's)")
    space.add_argument("--values", nargs="+", default=[], type=choice, metavar="NAME=VALUE[,VALUE...]",
                       help="the values of a hyperparameter, such as slstm/steps=5,7 or units=100")  # fmt: skip
    space.add_argument("--only", action="store_true", help="keep all other hyperparameters at their defaults")
    space.add_argument("--study", choices=tuple(STUDIES), help="a grid of the paper's (implies --tuner grid)")
    space.add_argument("--import", nargs="+", default=[], dest="imports", metavar="MODULE",
                       help="modules that add encoders and spaces of yours")  # fmt: skip

    run = parser.add_argument_group("search")
    run.add_argument("--tuner", choices=TUNERS, help="(random)")
    run.add_argument("--max-trials", type=int, help="(20; for hyperband and grid: as many as they ask for)")
    run.add_argument("--epochs", type=int, default=20, help="most epochs of a training (default: 20)")
    run.add_argument("--patience", type=int, default=5, help="epochs without a better one; 0: no end (default: 5)")
    run.add_argument("--seeds", type=int, nargs="+", default=[0], help="a training with each in every trial")
    run.add_argument("--objective", help="such as val_loss (accuracy, F1 or correlation on the development examples)")
    run.add_argument("--confirm", type=int, metavar="N", help="in the end, test the best and the default settings, "
                     "N trainings each")  # fmt: skip
    run.add_argument("--seed", type=int, default=0, help="of what the search draws at random")
    run.add_argument("--factor", type=int, default=3, help="of hyperband (default: 3)")
    run.add_argument("--dtype", default="float32", help="such as mixed_bfloat16")
    run.add_argument("--jit-compile", action=argparse.BooleanOptionalAction, help="compile by XLA")
    run.add_argument("--strategy", choices=("mirrored",), help="each training on all GPUs of its machine")
    run.add_argument("--directory", type=Path, help="folder of the search (default: runs/DATA-TUNER)")
    run.add_argument("--resume", action="store_true", help="go on with a search")
    run.add_argument("--overwrite", action="store_true", help="delete what an earlier search left there")
    return parser


def parse_arguments() -> argparse.Namespace:
    """The command line, with the defaults that depend on other options."""
    parser = make_parser()
    args = parser.parse_args()
    if args.limit is not None and args.limit < 1:
        parser.error(f"--limit must be at least 1, but got {args.limit}")
    if args.confirm is not None and args.confirm < 1:
        parser.error(f"--confirm must be at least 1, but got {args.confirm}")
    if args.confirm is not None and "KERASTUNER_TUNER_ID" in os.environ:
        parser.error("--confirm is for one process: say it to search.py, with --resume, after this search")
    if args.study and args.tuner not in (None, "grid"):
        parser.error(f"--study needs --tuner grid, not {args.tuner}")
    args.dataset = args.dataset or (None if args.data else TASKS[args.task][2])
    args.tuner = args.tuner or ("grid" if args.study else "random")
    if args.max_trials is None and args.tuner in ("random", "bayesian"):
        args.max_trials = 20
    if args.directory is None:
        name = Path(args.data).stem if args.data else args.dataset.replace("/", "-")
        args.directory = Path("runs", f"{name}-{args.study or args.tuner}")
    return args


if __name__ == "__main__":
    sys.exit(main())
