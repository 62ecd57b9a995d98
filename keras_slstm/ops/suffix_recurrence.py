"""The recurrences of Brahma (2018): a recurrent cell that starts at the first word, and one that starts at every word.

The state of the cell that started at word i is *row* i. All rows advance side by side: word t is read, in one matrix
product, by the t + 1 rows that have begun. Row 0 is the ordinary recurrence, which has read all words up to t; after
the last word, row i has read all words from i on. So eq. 1-4 take as many steps as there are words, not its square.

Sequences are time-major, `(time, batch, ...)`. The gradient is written by hand: it takes one product for the weights
where differentiation takes one a word and row, and it can compute again what it does not want to keep.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.ops import growing_loop, row_blocks
from keras_slstm.ops.recurrent_cells import Recurrence, RecurrentCell
from keras_slstm.types import Tensor


def from_first_word(cell: RecurrentCell, recurrence: Recurrence, rematerialize: bool = False) -> Tensor:
    """Return h after every word, `(time, batch, d)`: the ordinary recurrence.

    Args:
        cell: One of `RECURRENT_CELLS`.
        recurrence: What it is run on.
        rematerialize: Whether the gradient computes again what is inside, instead of keeping it.
    """
    return _run(cell, recurrence, False, rematerialize)[0]


def from_every_word(cell: RecurrentCell, recurrence: Recurrence, rematerialize: bool = False) -> tuple[Tensor, Tensor]:
    """The ordinary recurrence, and what it would be after the last word, had it started at any other.

    Args:
        cell, recurrence, rematerialize: As of `from_first_word`.

    Returns:
        h, `(time, batch, d)` each: at t, of the words from the first to t, and of those from t to the last.
    """
    of_prefixes, of_suffixes = _run(cell, recurrence, True, rematerialize)
    return of_prefixes, of_suffixes


def from_every_word_within(
    cell: RecurrentCell, recurrence: Recurrence, widest: int, context: Tensor | int, rematerialize: bool = False
) -> Tensor:
    """Return h of every word and the `context` words that follow it, `(time, batch, d)`.

    Every word with its context is a short sentence here, and all of them are one batch of the ordinary recurrence.

    Args:
        cell, rematerialize: As of `from_first_word`.
        recurrence: What it is run on; padding only stands behind the words.
        widest: The largest `context` there can be.
        context: How many words to read after a word.
    """
    projected = recurrence.projected
    time, batch = ops.shape(projected)[:2]
    if isinstance(time, int):
        widest = min(widest, time - 1)
    mask = ops.ones_like(projected[..., :1]) if recurrence.mask is None else recurrence.mask

    def contexts(x: Tensor) -> Tensor:
        padded = ops.pad(x, ((0, widest), (0, 0), (0, 0)))
        stacked = ops.stack([padded[j : j + time] for j in range(widest + 1)])
        return ops.reshape(stacked, (widest + 1, -1, x.shape[-1]))

    in_reach = ops.cast(ops.arange(widest + 1) <= context, mask.dtype)[:, None, None]
    noise = recurrence.noise
    short = recurrence._replace(
        projected=contexts(projected),
        mask=contexts(mask) * in_reach,
        noise=None if noise is None else ops.tile(noise, (time, 1)),
    )
    return ops.reshape(from_first_word(cell, short, rematerialize)[-1], (-1, batch, recurrence.units))


def _run(cell: RecurrentCell, recurrence: Recurrence, growing: bool, rematerialize: bool) -> tuple[Tensor, ...]:
    """Return h of row 0 after every word and, of `growing` rows, of all after the last; with their gradient."""
    loop: Any = growing_loop if growing and growing_loop.is_possible() else row_blocks
    given = {name: x for name, x in recurrence._asdict().items() if x is not None}

    @ops.custom_gradient
    def outputs(*args: Tensor) -> Any:
        inner = recurrence._replace(**dict(zip(given, args, strict=True)))
        found, kept = loop.forward(cell, inner, growing, not rematerialize)

        def gradient(*upstream: Tensor, **named: Tensor) -> tuple[Tensor, ...]:
            if named:  # PyTorch
                upstream = tuple(named["upstream"]) if growing else (named["upstream"],)
            gradients = loop.backward(cell, inner, growing, kept, *keras.tree.flatten(upstream))
            for name in ("mask", "noise"):
                if name in given:
                    gradients[name] = ops.zeros_like(getattr(inner, name))
            return tuple(gradients[name] for name in given)

        if not growing:
            return found[0], gradient
        # On PyTorch there is one result only.
        return ops.stack(found) if keras.backend.backend() == "torch" else found, gradient

    result = outputs(*given.values())
    return tuple(result) if growing else (result,)
