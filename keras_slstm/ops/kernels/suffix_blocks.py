"""The loop of `suffix_rnn` in blocks of words with static shapes, which every backend can compile.

A block has all rows that start before its end. A row is zero until it starts.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from keras import ops

from keras_slstm.ops.backend.apart import run_apart
from keras_slstm.ops.backend.scan import scan
from keras_slstm.ops.kernels.recurrent_cells import Recurrence
from keras_slstm.types import Tensor, Tensors

# b blocks waste one row in b: more blocks compute less, but take longer to compile.
BLOCKS = 8
# If the gradient recomputes blocks, it stores only one at a time, so that more of them also take less memory.
RECOMPUTED_BLOCKS = 16
# A block of fewer words is not worth its loop.
SHORTEST = 4


class _Block(NamedTuple):
    """The words from `start` to `stop`, and the number of rows that read them."""

    start: int
    stop: Any
    rows: Any


def _blocks(recurrence: Recurrence, every: bool, save: bool) -> list[_Block]:
    time = ops.shape(recurrence.projected)[0]
    if not every:
        return [_Block(0, time, 1)]
    if not isinstance(time, int):  # unknown: one block with all rows
        return [_Block(0, time, time)]
    words = max(SHORTEST, -(-time // (BLOCKS if save else RECOMPUTED_BLOCKS)))
    stops = [*range(words, time, words), time]
    return [_Block(start, stop, stop) for start, stop in zip([0, *stops], stops)]


def forward(recurrence: Recurrence, every: bool, save: bool) -> tuple[Tensors, list[Any]]:
    """Run the cell.

    Args:
        recurrence: The cell and its words.
        every: Whether a row starts at every word, or only at the first.
        save: Whether to save everything for `backward`, or only the state at the beginning of each block.

    Returns:
        h of row 0 after every word and, with `every`, h of all rows after the last word; and the argument `saved` of
        `backward`.
    """
    state = tuple(_zeros(recurrence, 0) for _ in range(recurrence.cell.states))
    of_first, saved = [], []
    blocks = _blocks(recurrence, every, save)
    for block in blocks:
        start = tuple(_with_new_rows(x, recurrence, block) for x in state)
        # The gradient needs the last block first: to save it takes no more memory than to recompute it.
        last = block is blocks[-1] is not blocks[0]
        state, first, steps = _read(recurrence, block, every, start, save or last)
        of_first.append(first)
        saved.append((start, steps))
    firsts = of_first[0] if len(of_first) == 1 else ops.concatenate(of_first)
    return (firsts, state[0]) if every else (firsts,), saved


def backward(
    recurrence: Recurrence, every: bool, saved: list[Any], d_first: Tensor, d_all: Tensor | None = None
) -> dict[str, Tensor]:
    """The gradients of the differentiable tensors in `recurrence`, from those of the results of `forward`."""
    blocks = _blocks(recurrence, every, save=saved[0][1] is not None)
    d_state: list[Tensor] = [_zeros(recurrence, blocks[-1].rows) for _ in range(recurrence.cell.states)]
    if d_all is not None:
        d_state[0] = d_all
    d_projected, d_weights = [], recurrence.zero_weight_gradients()
    for block, (start, steps) in zip(reversed(blocks), reversed(saved), strict=True):
        d_state = [x[: block.rows] for x in d_state] if every else d_state
        d_h = d_first[block.start : block.stop]
        arguments = d_h, d_state, d_weights
        if steps is None:
            d_block, d_weights, d_state = run_apart(partial(_read_again, recurrence, block, every), *arguments, start)
        else:
            d_block, d_weights, d_state = _read_back(recurrence, block, every, *arguments, steps)
        d_projected.append(d_block)
    return recurrence.name_gradients(ops.concatenate(d_projected[::-1]), d_weights)


def _read(
    recurrence: Recurrence, block: _Block, every: bool, start: Tensors, save: bool
) -> tuple[Tensors, Tensor, Tensors | None]:
    """The state after a block, h of row 0 after each of its words and, with `save`, the inputs of the gradient."""
    states = recurrence.cell.states
    saved = (*start, *[ops.zeros_like(start[0])] * recurrence.cell.saved) if save else ()

    def one_word(carried: Tensors, now: Tensors) -> Tensors:
        state = carried[-states:]
        new, inside = recurrence.step(now[0], state, now[1] if len(now) > 1 else None)
        return (new[0][0], *((*state, *inside) if save else ()), *new)

    first, *rest = scan(
        one_word,
        (start[0][0], *saved, *start),
        (recurrence.projected[block.start : block.stop], *_masks(recurrence, block, every)),
        num_stacked=1 + len(saved),
    )
    return tuple(rest[len(saved) :]), first, tuple(rest[: len(saved)]) if save else None


def _read_back(
    recurrence: Recurrence,
    block: _Block,
    every: bool,
    d_first: Tensor,
    d_state: list[Tensor],
    d_weights: Tensors,
    steps: Tensors,
) -> tuple[Tensor, Tensors, list[Tensor]]:
    """Backpropagate through a block; return the gradient of x W, the new `d_weights`, the gradient of the first state.

    The gradients of the pre-activations of all words are stored, because one product with them is faster than one for
    each word.
    """
    cell = recurrence.cell
    masks = _masks(recurrence, block, every)
    transposed_kernel = ops.transpose(recurrence.recurrent_kernel)

    def back(carried: Tensors, now: Tensors) -> Tensors:
        """The gradients of x W and h U at a word, and that of the state before it."""
        d_h, *d_rest = carried[cell.products :]
        d_row_0, *inside = now[: 1 + cell.states + cell.saved]
        before, saved = tuple(inside[: cell.states]), tuple(inside[cell.states :])
        d_h = ops.concatenate([d_h[:1] + d_row_0, d_h[1:]]) if every else d_h + d_row_0
        mask = now[-1] if masks else None
        products, d_before = recurrence.step_gradient(transposed_kernel, (d_h, *d_rest), before, saved, mask)
        return *products, *d_before

    inputs = (d_first, *steps, *masks)
    products = [_zeros(recurrence, block.rows, recurrence.projected.shape[-1])] * cell.products
    found = list(scan(back, (*products, *d_state), inputs, reverse=True, num_stacked=cell.products))
    return *recurrence.add_gradients(d_weights, steps, tuple(found[: cell.products])), found[cell.products :]


def _read_again(
    recurrence: Recurrence, block: _Block, every: bool, *given: Any
) -> tuple[Tensor, Tensors, list[Tensor]]:
    """`_read_back` with the state before the block in place of `steps`."""
    d_first, d_state, d_weights, start = given
    _, _, steps = _read(recurrence, block, every, start, True)
    return _read_back(recurrence, block, every, d_first, d_state, d_weights, steps or ())


def _masks(recurrence: Recurrence, block: _Block, every: bool) -> Tensors:
    """Which rows read each word of a block, `(words, rows, batch, 1)` bool, or nothing if all do.

    The axes of rows and batch may have length 1.
    """
    mask_f = recurrence.mask_f
    mask = () if mask_f is None else (ops.cast(mask_f[block.start : block.stop], "bool")[:, None],)
    if not every:
        return mask
    started = (ops.arange(block.rows)[None] <= ops.arange(block.start, block.stop)[:, None])[..., None, None]
    return (mask[0] & started,) if mask else (started,)


def _zeros(recurrence: Recurrence, rows: Any, width: int | None = None) -> Tensor:
    batch = ops.shape(recurrence.projected)[1]
    return ops.zeros((rows, batch, width or recurrence.units), dtype=recurrence.projected.dtype)


def _with_new_rows(x: Tensor, recurrence: Recurrence, block: _Block) -> Tensor:
    """Append the rows that start in a block to the state."""
    if block.start == 0:
        return _zeros(recurrence, block.rows)
    more = block.rows - x.shape[0]
    return ops.concatenate([x, _zeros(recurrence, more)]) if more else x
