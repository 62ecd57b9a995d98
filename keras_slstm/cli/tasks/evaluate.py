"""Testing of saved models."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from keras_slstm.cli.main import PROGRAM
from keras_slstm.cli.options import check_file, check_not_given
from keras_slstm.cli.tasks import tag, translate
from keras_slstm.cli.tasks.predict import search_options
from keras_slstm.cli.tasks.reports import Results, report_pairs, report_texts
from keras_slstm.cli.tasks.saved import load_model
from keras_slstm.cli.training_options import SEARCH_OPTIONS
from keras_slstm.datasets.corpus import load_corpus
from keras_slstm.datasets.pair_corpus import load_pair_corpus
from keras_slstm.datasets.parallel_corpus import load_parallel_corpus
from keras_slstm.datasets.tagged_corpus import load_tagged_corpus
from keras_slstm.files import read_json, write_json
from keras_slstm.models.sentence_classifier import SentenceClassifier
from keras_slstm.models.sentence_pair_classifier import SentencePairClassifier
from keras_slstm.models.seq2seq import Seq2Seq
from keras_slstm.models.sequence_tagger import SequenceTagger
from keras_slstm.suggestions import did_you_mean, list_names

FILES = ("confusion.png", "predictions.tsv", "results.json", "translations.txt")


def evaluate(arguments: argparse.Namespace) -> int:
    """Print the metrics of a saved model, and write files if asked for; return the exit status."""
    if arguments.output is not None:
        check_output(arguments.output)
    model = load_model(arguments.model)
    check_options(arguments, model)
    if arguments.output is None:
        _EVALUATIONS[kind_of(model)](arguments, model, None)
    else:
        print(f"Wrote {', '.join(write_evaluation(arguments, model, arguments.output))} in {arguments.output}")
    return 0


def check_output(folder: Path) -> None:
    """Raise FileExistsError if the output would replace a file that is not from an earlier evaluation."""
    before = [folder / name for name in FILES if (folder / name).exists()]
    if before and not is_evaluation(folder):
        raise FileExistsError(f"--output: {before[0]} exists and was not written by evaluate: choose another folder")


def is_evaluation(folder: Path) -> bool:
    """Whether an evaluation has written the results in this folder."""
    try:
        command = read_json(folder / "results.json").get("command")
    except (OSError, ValueError):
        return False
    return isinstance(command, str) and command.startswith(f"{PROGRAM} evaluate ")


def write_evaluation(arguments: argparse.Namespace, model: Any, output: Path) -> list[str]:
    """Print the metrics, and replace the files of an earlier evaluation by the new ones; return their names."""
    output.mkdir(parents=True, exist_ok=True)
    # If anything fails, the earlier files stay as they were.
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=output) as unfinished:
        folder = Path(unfinished)
        found = _EVALUATIONS[kind_of(model)](arguments, model, folder)
        write_json(folder / "results.json", {"command": arguments.command_line, **found})
        written = sorted(path.name for path in folder.iterdir())
        for name in written:
            (folder / name).replace(output / name)
    for name in FILES:
        if name not in written:  # of another model
            (output / name).unlink(missing_ok=True)
    return written


def check_options(arguments: argparse.Namespace, model: Any) -> None:
    """Raise ValueError for an option that does not apply to this model or data."""
    if not isinstance(model, Seq2Seq):
        others = ("target_file", *SEARCH_OPTIONS)
        check_not_given(arguments, others, f"needs a translation model, but {arguments.model} is another model")
    columns = {f"{name}_column" for kind in _COLUMNS.values() for name in kind}
    own = {f"{name}_column" for name in _COLUMNS[kind_of(model)]}
    check_not_given(arguments, sorted(columns - own), f"does not apply to {arguments.model}, a {type(model).__name__}")
    if is_file(arguments.data):
        check_not_given(
            arguments, ("part",), f"needs a data set, but {arguments.data} is a file, of which all examples are used"
        )


def kind_of(model: Any) -> type:
    """The class that determines how a model is tested."""
    return next(kind for kind in _EVALUATIONS if isinstance(model, kind))


def evaluate_texts(arguments: argparse.Namespace, model: SentenceClassifier, output: Path | None) -> Results:
    """Classify texts."""
    part = load(arguments, load_corpus, {"labels": model.labels}, **columns_of(arguments, SentenceClassifier))
    check_labels(arguments, model.labels, part.labels)
    return report_texts(model, part, output, title(arguments))


def evaluate_pairs(arguments: argparse.Namespace, model: SentencePairClassifier, output: Path | None) -> Results:
    """Label or score pairs."""
    columns = columns_of(arguments, SentencePairClassifier)
    kind = {"labels": model.labels} if model.labels else {"scores": True, "score_range": model.score_range}
    part = load(arguments, load_pair_corpus, kind, **columns)
    if model.labels:
        check_labels(arguments, model.labels, map(str, part.labels))
    elif any(isinstance(label, str) for label in part.labels):
        raise ValueError(f"{arguments.model} predicts scores, but {arguments.data} has labels")
    return report_pairs(model, part, output, title(arguments))


def evaluate_tags(arguments: argparse.Namespace, model: SequenceTagger, output: Path | None) -> Results:
    """Tag sentences."""
    columns = columns_of(arguments, SequenceTagger)
    part = load(arguments, load_tagged_corpus, {"labels": model.labels}, scheme=model.scheme, **columns)
    check_labels(arguments, model.labels, (label for labels in part.tags for label in labels))
    return tag.report(model, part, title(arguments), output)


def evaluate_translations(arguments: argparse.Namespace, model: Seq2Seq, output: Path | None) -> Results:
    """Translate texts."""
    if arguments.target_file:
        check_file(arguments.data, "DATA", several_times=True)
        check_file(arguments.target_file, "--target-file", several_times=True)
        files = (arguments.data, arguments.target_file)
        part = load_parallel_corpus(files, validation_paths=files, test_paths=files, on_error=arguments.on_error).test
    elif is_file(arguments.data):
        raise ValueError(f"{arguments.data} is a file of texts: pass their translations with --target-file")
    else:
        part = load(arguments, load_parallel_corpus)
    return translate.report(model, part, title(arguments), search_options(arguments), output)


_EVALUATIONS: dict[type, Callable[[argparse.Namespace, Any, Path | None], Results]] = {
    SentencePairClassifier: evaluate_pairs,
    SequenceTagger: evaluate_tags,
    Seq2Seq: evaluate_translations,
    SentenceClassifier: evaluate_texts,
}
_COLUMNS: dict[type, tuple[str, ...]] = {
    SentencePairClassifier: ("first", "second", "label"),
    SequenceTagger: ("token", "tag"),
    Seq2Seq: (),
    SentenceClassifier: ("text", "label"),
}


def columns_of(arguments: argparse.Namespace, kind: type) -> dict[str, Any]:
    """The columns that the options name."""
    return {f"{name}_column": vars(arguments)[f"{name}_column"] for name in _COLUMNS[kind]}


def load(
    arguments: argparse.Namespace, read: Callable[..., Any], file_options: dict[str, Any] | None = None, **options: Any
) -> Any:
    """A part of a data set, or all examples of a file; `file_options` apply only to files."""
    if is_file(arguments.data):
        # The file is every part, so that no part is drawn from it at random.
        options |= {"validation_path": arguments.data, "test_path": arguments.data, **(file_options or {})}
    try:
        corpus = read(
            arguments.data,
            data_dir=arguments.data_dir,
            manual_dir=arguments.manual_dir,
            seed=arguments.split_seed,
            on_error=arguments.on_error,
            **options,
        )
    except (ValueError, IsADirectoryError) as error:
        if Path(arguments.data).is_dir():  # and no data set has its name
            raise IsADirectoryError(f"{arguments.data} is a folder: pass a file, or the name of a data set") from error
        raise
    return getattr(corpus, arguments.part)


def is_file(data: str) -> bool:
    """Whether the data are a file, not a data set, which may have the name of a folder."""
    if not Path(data).exists() or Path(data).is_dir():
        return False
    check_file(data, "DATA", several_times=True)
    return True


def title(arguments: argparse.Namespace) -> str:
    """Return the name under which the results of the examples are reported."""
    return Path(arguments.data).name if is_file(arguments.data) else f"{arguments.data} ({arguments.part})"


def check_labels(arguments: argparse.Namespace, known: Sequence[str], labels: Iterable[str]) -> None:
    """Raise ValueError for a label of a data set that the model does not know; files have been checked line by line."""
    unknown = sorted(set(labels) - set(known))
    if unknown:
        raise ValueError(
            f"{arguments.data} has the label {unknown[0]!r}, which {arguments.model} was not trained on; its labels: "
            f"{list_names(known)}.{did_you_mean(unknown[0], known)}"
        )
