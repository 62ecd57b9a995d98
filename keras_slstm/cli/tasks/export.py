"""Export of models for other runtimes."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import keras

from keras_slstm.cli.names import FORMATS
from keras_slstm.cli.options import check_not_given
from keras_slstm.cli.tasks.predict import search_options
from keras_slstm.cli.tasks.saved import load_model
from keras_slstm.cli.training_options import SEARCH_OPTIONS
from keras_slstm.models.seq2seq import Seq2Seq
from keras_slstm.quiet_import import without_chatter


def export(arguments: argparse.Namespace) -> int:
    """Write a saved model in another format; return the exit status.

    Raises:
        ValueError: If the model or the backend does not support the format, or the name of the file does not fit it.
    """
    target = arguments.target
    model = load_model(arguments.model)
    options: dict[str, Any] = {}
    if isinstance(model, Seq2Seq):
        options = search_options(arguments)
    else:
        check_not_given(arguments, SEARCH_OPTIONS, f"needs a translation model, but {arguments.model} is another model")
    format = arguments.format or FORMATS.get(target.suffix) or ("ids" if isinstance(model, Seq2Seq) else "text")
    if format in ("text", "ids") and target.suffix in FORMATS:
        raise ValueError(f"--format {format} writes a folder, but {target} is the name of a file")
    write = _string_writer(model) if format == "text" else model.export
    if format == "ids":
        _check_saved_model()
    if format != "text":
        options |= {"format": "tf_saved_model" if format == "ids" else format, "verbose": False}
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with warnings.catch_warnings(action="ignore"), without_chatter():  # from converters
            write(str(target), **options)
    except (RuntimeError, ValueError) as error:
        raise ValueError(_reason(str(error))) from error
    except (OSError, ImportError):
        raise
    except Exception as error:  # converters raise anything
        raise ValueError(f"{keras.backend.backend()} cannot write {target}: {_reason(str(error))}") from error
    print(f"Wrote {target}" + (f" and {target.with_suffix('.json')}" if target.suffix in FORMATS else ""))
    return 0


def _string_writer(model: Any) -> Callable[[str], None]:
    """The method that writes a SavedModel which takes strings."""
    write = getattr(model, "export_text", None) or getattr(model, "export_tokens", None)
    if write is None:
        raise ValueError(f"A {type(model).__name__} does not accept strings: choose another --format")
    return write


def _reason(message: str) -> str:
    """The message of the innermost error; Keras prints each error that wraps it in bold letters."""
    return message.rpartition("\x1b[1m")[2].partition("\x1b[0m")[0]


def _check_saved_model() -> None:
    if keras.backend.backend() == "torch":
        raise ValueError("PyTorch cannot write a SavedModel: set KERAS_BACKEND=tensorflow, or choose another --format")
