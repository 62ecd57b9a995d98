"""Seed generators whose random numbers can be drawn again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType

import keras
from keras import ops

from keras_slstm.ops.backend.recomputed import is_recomputed
from keras_slstm.ops.backend.thread_value import ThreadValue
from keras_slstm.types import Tensor


class ReplayedSeeds(keras.random.SeedGenerator):  # type: ignore[misc]
    """Replays the seeds of a generator from a given state, without changing the generator.

    Args:
        start: The state, `(2,)`.
    """

    _initial_seed = 0  # Keras on PyTorch ignores the generator if this is None

    def __init__(self, start: Tensor) -> None:
        # Skip the base constructor, which creates a variable.
        self.start = start
        self.count = 0

    def next(self, ordered: bool = True) -> Tensor:
        seed = self.after(self.start, self.count)
        self.count += 1
        return seed

    @staticmethod
    def after(start: Tensor, count: int) -> Tensor:
        """The state of a generator after a number of draws."""
        return start + ops.convert_to_tensor([0, count], dtype=keras.backend.standardize_dtype(start.dtype))


# By the `id` of the generator.
_replays: ThreadValue[Mapping[int, ReplayedSeeds]] = ThreadValue(MappingProxyType({}))


@contextlib.contextmanager
def replay_seeds(found: Mapping[int, ReplayedSeeds]) -> Iterator[None]:
    """Inside the context, draw from these replays. The keys are the `id`s of the generators that they replace."""
    with _replays.set_to({**_replays.value, **found}):
        yield


def is_replayed(seed: keras.random.SeedGenerator) -> bool:
    """Whether `current_seed` currently returns a replay of the generator."""
    return id(seed) in _replays.value


def current_seed(seed: keras.random.SeedGenerator, repeats: bool = False) -> keras.random.SeedGenerator:
    """Return the replay of a generator if there is one, else the generator itself.

    Args:
        seed: The generator.
        repeats: Whether the backend draws the same numbers when it recomputes the call.

    Raises:
        ValueError: If the backend recomputes the call for the gradient with different random numbers.
    """
    replay = _replays.value.get(id(seed))
    if replay is None and not repeats and is_recomputed():
        raise ValueError(
            "The gradient would use different random numbers than the output, because a model or layer around this "
            "layer is recomputed as a whole. Create only this layer inside `keras.RematScope`, and the model, or a "
            "wrapper such as `Bidirectional`, outside of it; or set the dropout of this layer to 0."
        )
    return seed if replay is None else replay


class RepeatedSeeds:
    """Lets a function that runs several times draw the same random numbers each time, as if it had run once.

    Args:
        seed: The generator, or one that is replayed now.
    """

    def __init__(self, seed: keras.random.SeedGenerator) -> None:
        self._seed = seed
        replay = _replays.value.get(id(seed))
        self._start = seed.state.value * 1 if replay is None else ReplayedSeeds.after(replay.start, replay.count)
        self._count = 0

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        """Inside the context, draw the numbers that follow the state that the generator had at construction."""
        replay = ReplayedSeeds(self._start)
        with replay_seeds({id(self._seed): replay}):
            yield
        self._count = replay.count

    def finish(self) -> None:
        """Advance the generator by the numbers that were drawn.

        Raises:
            ValueError: As `current_seed`.
        """
        if not self._count:
            return
        seed = current_seed(self._seed)
        if isinstance(seed, ReplayedSeeds):
            seed.count += self._count
        else:
            seed.state.assign(ReplayedSeeds.after(self._start, self._count))
