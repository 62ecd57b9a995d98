"""Writes models for serving."""

from __future__ import annotations

import argparse

from keras_slstm.cli.tasks.saved import load_model


def export(arguments: argparse.Namespace) -> int:
    """Write a saved model in another format; return the exit status.

    Raises:
        ValueError: If the model or the backend does not support the format.
    """
    model = load_model(arguments.model)
    try:
        if arguments.format == "text":
            write = getattr(model, "export_text", None) or getattr(model, "export_tokens", None)
            if write is None:
                raise ValueError(f"A {type(model).__name__} cannot be exported to take text: choose another --format")
            write(str(arguments.folder))
        else:
            kind = "onnx" if arguments.format == "onnx" else "tf_saved_model"
            model.export(str(arguments.folder), format=kind, verbose=False)
    except RuntimeError as error:  # of another backend
        raise ValueError(str(error)) from error
    print(f"Wrote {arguments.folder}")
    return 0
