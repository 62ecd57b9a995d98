"""The loop of `suffix_recurrence` in blocks of words: shapes are fixed within a block, which every backend compiles.

A block holds all rows that have begun by its end. Those that have not begun yet stay zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from keras import ops

from keras_slstm.ops.recurrent_cells import Recurrence, RecurrentCell
from keras_slstm.ops.scan import scan
from keras_slstm.types import Tensor, Tensors

# More blocks compute fewer rows in vain (one of `2 b` in a sentence of b blocks) but take longer to compile.
BLOCKS = 8
# A block of fewer words is not worth its loop.
SHORTEST = 8


class _Block(NamedTuple):
    """The words from `start` to `stop`, and the number of rows that read them."""

    start: int
    stop: Any
    rows: Any


def _blocks(recurrence: Recurrence, growing: bool) -> list[_Block]:
    time = ops.shape(recurrence.projected)[0]
    if not growing:
        return [_Block(0, time, 1)]
    if not isinstance(time, int):  # unknown, a tensor, or an expression on JAX: all rows from the first word on
        return [_Block(0, time, time)]
    words = max(SHORTEST, -(-time // BLOCKS))
    stops = [*range(words, time, words), time]
    return [_Block(start, stop, stop) for start, stop in zip([0, *stops], stops)]


def forward(cell: RecurrentCell, recurrence: Recurrence, growing: bool, keep: bool) -> tuple[Tensors, list[Any]]:
    """Return h of row 0 after every word and, of `growing` rows, of all after the last; and what `backward` needs.

    Args:
        cell, recurrence: What to run on what.
        growing: Whether a row begins at every word, or at the first only.
        keep: Whether to keep everything for `backward`, or the states at the beginning of blocks only.
    """
    state = tuple(_zeros(recurrence, 0) for _ in range(cell.states))
    of_first, kept = [], []
    for block in _blocks(recurrence, growing):
        start = tuple(_with_new_rows(x, recurrence, block) for x in state)
        state, first, inside = _read(cell, recurrence, block, growing, start, keep)
        of_first.append(first)
        kept.append((start, inside))
    firsts = of_first[0] if len(of_first) == 1 else ops.concatenate(of_first)
    return (firsts, state[0]) if growing else (firsts,), kept


def backward(
    cell: RecurrentCell,
    recurrence: Recurrence,
    growing: bool,
    kept: list[Any],
    d_of_first: Tensor,
    d_of_all: Tensor | None = None,
) -> dict[str, Tensor]:
    """The gradients of what there is in `recurrence` but mask and noise, from those of what `forward` returned."""
    blocks = _blocks(recurrence, growing)
    d_state: list[Tensor] = [_zeros(recurrence, blocks[-1].rows) for _ in range(cell.states)]
    if d_of_all is not None:
        d_state[0] = d_of_all
    d_projected, sums = [], recurrence.no_gradients()
    for block, (start, inside) in zip(reversed(blocks), reversed(kept), strict=True):
        d_state = [x[: block.rows] for x in d_state] if growing else d_state
        again = inside is None
        if again:
            _, _, inside = _read(cell, recurrence, block, growing, start, True)
        d_block, sums, d_state = _read_back(
            cell, recurrence, block, growing, inside, d_of_first[block.start : block.stop], d_state, sums, again
        )
        d_projected.append(d_block)
    return recurrence.name_gradients(ops.concatenate(d_projected[::-1]), sums)


def _read(
    cell: RecurrentCell, recurrence: Recurrence, block: _Block, growing: bool, start: Tensors, keep: bool
) -> tuple[Tensors, Tensor, Tensors | None]:
    """The state after a block, h of row 0 after each of its words, and, to `keep`, what the way back needs of each."""
    kept = (*start, *[ops.zeros_like(start[0])] * cell.kept) if keep else ()

    def one_word(carried: Tensors, at: Tensors) -> Tensors:
        state = carried[-cell.states :]
        new, inside = recurrence.advance(cell, at[0], state, at[1] if len(at) > 1 else None)
        return (new[0][0], *((*state, *inside) if keep else ()), *new)

    first, *rest = scan(
        one_word,
        (start[0][0], *kept, *start),
        (recurrence.projected[block.start : block.stop], *_active(recurrence, block, growing)),
        num_stacked=1 + len(kept),
    )
    return tuple(rest[len(kept) :]), first, tuple(rest[: len(kept)]) if keep else None


def _read_back(
    cell: RecurrentCell,
    recurrence: Recurrence,
    block: _Block,
    growing: bool,
    inside: Tensors,
    d_of_first: Tensor,
    d_state: list[Tensor],
    sums: Tensors,
    word_by_word: bool,
) -> tuple[Tensor, Tensors, list[Tensor]]:
    """The gradient of x W of the words of a block, `sums` with what they add, and the gradient of the state before.

    The sums of a block are one product, which for an LSTM is faster than one `word_by_word`, but wants the gradients of
    all its pre-activations: they are the largest part of what the way back needs.
    """
    active = _active(recurrence, block, growing)
    transposed_kernel = ops.transpose(recurrence.recurrent_kernel)

    def back(d_state: Tensors, at: Tensors) -> tuple[Tensors, Tensors, Tensors]:
        """The state before a word, the gradients of x W and h U, and that of the state."""
        d_h, *d_rest = d_state
        d_first, *inside = at[: 1 + cell.states + cell.kept]
        before, kept = tuple(inside[: cell.states]), tuple(inside[cell.states :])
        d_h = ops.concatenate([d_h[:1] + d_first, d_h[1:]]) if growing else d_h + d_first
        return before, *recurrence.retreat(
            cell, transposed_kernel, (d_h, *d_rest), before, kept, at[-1] if active else None
        )

    def add_up(carried: Tensors, at: Tensors) -> Tensors:
        before, products, d_before = back(carried[-cell.states :], at)
        d_projected, sums = recurrence.add_gradients(carried[1 : -cell.states], before, products)
        return d_projected, *sums, *d_before

    def keep(carried: Tensors, at: Tensors) -> Tensors:
        _, products, d_before = back(carried[cell.products :], at)
        return *products, *d_before

    at = (d_of_first, *inside, *active)
    if word_by_word:
        nothing = ops.zeros_like(recurrence.projected[0])
        d_projected, *found = scan(add_up, (nothing, *sums, *d_state), at, reverse=True, num_stacked=1)
        return d_projected, tuple(found[: len(sums)]), found[len(sums) :]
    products = [_zeros(recurrence, block.rows, recurrence.projected.shape[-1])] * cell.products
    found = list(scan(keep, (*products, *d_state), at, reverse=True, num_stacked=cell.products))
    return *recurrence.add_gradients(sums, inside, tuple(found[: cell.products])), found[cell.products :]


def _active(recurrence: Recurrence, block: _Block, growing: bool) -> Tensors:
    """Which rows of which sentences read the words of a block: nothing if all do, else `(words, rows, batch, 1)` bool.

    Rows or batch may be 1.
    """
    real = () if recurrence.mask is None else (ops.cast(recurrence.mask[block.start : block.stop], "bool")[:, None],)
    if not growing:
        return real
    begun = (ops.arange(block.rows)[None] <= ops.arange(block.start, block.stop)[:, None])[..., None, None]
    return (real[0] & begun,) if real else (begun,)


def _zeros(recurrence: Recurrence, rows: Any, width: int | None = None) -> Tensor:
    batch = ops.shape(recurrence.projected)[1]
    return ops.zeros((rows, batch, width or recurrence.units), dtype=recurrence.projected.dtype)


def _with_new_rows(x: Tensor, recurrence: Recurrence, block: _Block) -> Tensor:
    """The state with the rows that begin in a block."""
    if block.start == 0:
        return _zeros(recurrence, block.rows)
    more = block.rows - x.shape[0]
    return ops.concatenate([x, _zeros(recurrence, more)]) if more else x
