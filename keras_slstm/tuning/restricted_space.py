"""Restrict a search space to given values, to its defaults, or to the rows of a table."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


class RestrictedHyperParameters:
    """Wraps a `keras_tuner.HyperParameters`, and replaces the values that a space declares for some hyperparameters.

    Pass it to a space in place of `hp`; it declares the hyperparameters on `hp`.

    Args:
        hp: A `keras_tuner.HyperParameters`.
        values: The values that hyperparameters may have, by full name, such as `{"slstm/steps": [5, 7, 9]}`. The
            default stays the default if it is one of them; otherwise the first value becomes the default.
        only: Whether all other hyperparameters keep their defaults.
        rows: Named combinations of settings. The names become the values of one hyperparameter, `row`, and the
            search varies the settings in the rows in no other way.

    Raises:
        ValueError: When a space declares a hyperparameter whose `values` are of several types, such as `["a", 2]`.

    Example:

    ```python
    hp = keras_tuner.HyperParameters()
    slstm_space(RestrictedHyperParameters(hp, {"steps": [5, 7]}, only=True))
    [p.name for p in hp.space if len(p.values) > 1]  # ["steps"]
    ```
    """

    def __init__(
        self,
        hp: Any,
        values: Mapping[str, Sequence[Any]] | None = None,
        only: bool = False,
        rows: Mapping[str, Mapping[str, Any]] | None = None,
    ):
        self.hp = hp
        self.given = dict(values or {})
        self.only = only
        self.unused = {*self.given, *(name for row in (rows or {}).values() for name in row)}
        self.in_rows = {name for row in (rows or {}).values() for name in row}
        self.row: Mapping[str, Any] = {}
        self._scopes: list[str] = []
        if rows:
            self.row = rows[hp.Choice("row", list(rows))]

    def Choice(self, name: str, values: Sequence[Any], **options: Any) -> Any:
        return self._declare("Choice", name, values[0], values=values, **options)

    def Int(self, name: str, min_value: int, max_value: int, **options: Any) -> Any:
        return self._declare("Int", name, min_value, min_value=min_value, max_value=max_value, **options)

    def Float(self, name: str, min_value: float, max_value: float, **options: Any) -> Any:
        return self._declare("Float", name, min_value, min_value=min_value, max_value=max_value, **options)

    def Boolean(self, name: str, default: bool = False, **options: Any) -> Any:
        return self._declare("Boolean", name, default, default=default, **options)

    def Fixed(self, name: str, value: Any, **options: Any) -> Any:
        return self._declare("Fixed", name, value, value=value, **options)

    @contextlib.contextmanager
    def name_scope(self, name: str) -> Iterator[None]:
        self._scopes.append(name)
        try:
            with self.hp.name_scope(name):
                yield
        finally:
            self._scopes.pop()

    @contextlib.contextmanager
    def conditional_scope(self, parent_name: str, parent_values: Sequence[Any]) -> Iterator[None]:
        with self.hp.conditional_scope(parent_name, parent_values):
            yield

    def _declare(self, kind: str, name: str, fallback: Any, /, **options: Any) -> Any:
        full_name = "/".join([*self._scopes, name])
        self.unused.discard(full_name)
        default = options.get("default")
        default = fallback if default is None else default
        if full_name in self.in_rows:
            return self.row.get(full_name, self.given.get(full_name, [default])[0])
        if full_name in self.given or self.only:
            values = _of_one_type(full_name, self.given.get(full_name, [default]))
            return self._choose(name, values, values[values.index(default)] if default in values else values[0])
        return getattr(self.hp, kind)(name, **options)

    def _choose(self, name: str, values: list[Any], default: Any) -> Any:
        if not all(isinstance(value, bool) for value in values):
            return self.hp.Choice(name, values, default=default)
        if len({*values}) == 2:
            return self.hp.Boolean(name, default=default)
        # keras-tuner turns the boolean into a number. `Fixed` would not, but prints a message for every worker.
        value = self.hp.Choice(name, values, default=default)
        return None if value is None else bool(value)


def _of_one_type(name: str, values: Sequence[Any]) -> list[Any]:
    """The values, with floats in place of integers if both occur, because keras-tuner needs values of one type."""
    types = {type(value) for value in values}
    if types == {int, float}:
        return [float(value) for value in values]
    if len(types) != 1 or not isinstance(values[0], int | float | str):
        raise ValueError(f"`values` must be all numbers, all strings or all booleans, but got {name}={list(values)}.")
    return list(values)
