"""Raw examples in common containers: lists, arrays, tensors, `tf.data`, PyTorch's `DataLoader`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import keras

# Nesting depth of an example: a text, two texts, or tokens.
DEPTHS = {"text": 0, "pair": 1, "tokens": 1}


class Source(NamedTuple):
    """Examples, labels and weights as lists, and the batch size of the dataset they come from."""

    x: Any
    y: Any = None
    sample_weight: Any = None
    batch_size: int | None = None


def read_source(x: Any, y: Any, sample_weight: Any, kind: str) -> Source:
    """Return strings and their labels as lists; return data without strings unchanged.

    A `tf.data.Dataset` or a `DataLoader` of strings is read once, to its end.

    Args:
        x, y, sample_weight: As in `keras.Model.fit`.
        kind: The kind of an example, a key of `DEPTHS`.

    Raises:
        ValueError: If a dataset of strings comes with `y`, repeats forever, or has elements of an unexpected shape; or
            if `x` is packed, or ragged without strings.
    """
    rows: Iterator[tuple[Any, ...]] | None = None
    size = None
    if _is_from(x, "tensorflow") and hasattr(x, "element_spec"):
        rows, size = _tf_rows(x, kind)
    elif _is_from(x, "torch.utils.data") and hasattr(x, "collate_fn"):
        rows, size = _loader_rows(x, kind), x.batch_size
    if rows is None:
        lists = _text_lists(x)
        source = Source(lists, *(value if value is None else to_list(value) for value in (y, sample_weight)))
        return source if lists is x else _unpadded(source, kind)
    if y is not None or sample_weight is not None:
        raise ValueError("`y` and `sample_weight` must be None if `x` is a dataset: its elements include them.")
    columns: list[Any] = [list(column) for column in zip(*rows, strict=True)] or [[], []]
    return _unpadded(Source(*columns)._replace(batch_size=size), kind)


def _unpadded(source: Source, kind: str) -> Source:
    """Remove the empty strings that pad sentences in tensors, and their labels."""
    if kind != "tokens":
        return source
    lengths = [max((i + 1 for i, token in enumerate(tokens) if token), default=0) for tokens in source.x]
    cut = [tokens[:length] for tokens, length in zip(source.x, lengths)]
    y = source.y and [labels[:length] for labels, length in zip(source.y, lengths, strict=True)]
    return source._replace(x=cut, y=y)


def to_list(x: Any) -> Any:
    """Convert a tensor, an array or a series to a list, with bytes decoded; return a list unchanged."""
    for name in ("to_list", "tolist", "numpy"):
        if hasattr(x, name):
            return _decoded(to_list(getattr(x, name)()))
    return x


def _text_lists(x: Any) -> Any:
    """Convert tensors and arrays of strings to lists; return anything else unchanged."""
    if type(x).__name__ == "PackedSequence":
        raise ValueError("`x` is packed: pad it with `torch.nn.utils.rnn.pad_packed_sequence(x, batch_first=True)`.")
    if _is_string(x) or getattr(getattr(x, "dtype", None), "kind", None) in ("U", "T", "O", "S"):
        return to_list(x)
    if hasattr(x, "row_splits"):
        raise ValueError("`x` is ragged: pad it with `x.to_tensor(0)`, and labels of words with `y.to_tensor(-1)`.")
    return x


def _tf_rows(dataset: Any, kind: str) -> tuple[Iterator[tuple[Any, ...]] | None, int | None]:
    """Return the examples of a `tf.data.Dataset` and its batch size; None if it contains no strings."""
    spec = dataset.element_spec
    parts = spec if isinstance(spec, tuple) else (spec,)
    if not all(_is_string(leaf) for leaf in keras.tree.flatten(parts[0])):
        return None, None
    text, is_pair = parts[0], kind == "pair"
    columns_alone = is_pair and len(parts) == 2 and hasattr(text, "shape") and text.shape[-1:] != (2,)
    if columns_alone and _is_string(parts[1]):  # two texts without a label
        parts, text = (spec,), spec
    in_columns = is_pair and isinstance(text, tuple) and len(text) == 2
    spec_of_text = text[0] if in_columns else text
    rank = spec_of_text.shape.rank - (0 if in_columns else DEPTHS[kind]) if hasattr(spec_of_text, "shape") else None
    if rank not in (0, 1):
        raise ValueError(f"The elements of a dataset must be a {kind} and a label, or batches of them, but are {spec}.")
    if int(dataset.cardinality()) == -1:
        raise ValueError("The dataset repeats forever: remove `repeat()` and set `epochs`.")
    size = None
    if rank:
        for first in dataset.take(1):
            size = int(keras.tree.flatten(first)[0].shape[0])
        dataset = dataset.unbatch()
    return (tuple(_row(part) for part in (row if len(parts) > 1 else (row,))) for row in dataset), size


def _row(part: Any) -> Any:
    return tuple(map(to_list, part)) if isinstance(part, tuple) else to_list(part)


def _loader_rows(loader: Any, kind: str) -> Iterator[tuple[Any, ...]] | None:
    """Return the examples of a `torch.utils.data.DataLoader`, or None if it contains no strings."""
    first = next(iter(loader), None)
    if first is None or loader.batch_size is None or not isinstance(first, (list, tuple)) or _depth(first) is None:
        return None
    collated = getattr(loader.collate_fn, "__name__", "") == "default_collate"
    if collated and kind == "tokens":
        raise ValueError(
            "PyTorch's default collation transposes the tokens of a batch: create the DataLoader with "
            "`collate_fn=lambda rows: tuple(zip(*rows))`."
        )
    alone = _depth(first[0]) == DEPTHS[kind]  # without labels

    def rows() -> Iterator[tuple[Any, ...]]:
        for batch in loader:
            x, *rest = (batch,) if alone else batch
            x = zip(*x) if collated and kind == "pair" else x
            yield from zip(x, *map(to_list, rest), strict=True)

    return rows()


def _depth(x: Any) -> int | None:
    """Return the depth of nested lists of strings; None if they contain no string."""
    if isinstance(x, str):
        return 0
    below = _depth(x[0]) if isinstance(x, (list, tuple)) and x else None
    return None if below is None else below + 1


def _decoded(x: Any) -> Any:
    if isinstance(x, bytes):
        return x.decode("utf-8")
    return [_decoded(value) for value in x] if isinstance(x, (list, tuple)) else x


def _is_string(x: Any) -> bool:
    return _is_from(x, "tensorflow") and getattr(getattr(x, "dtype", None), "name", None) == "string"


def _is_from(x: Any, package: str) -> bool:
    return any(cls.__module__.startswith(package) for cls in type(x).__mro__)
