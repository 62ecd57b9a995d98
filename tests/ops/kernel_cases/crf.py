from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from keras_slstm.ops.crf import FORBIDDEN, UNKNOWN, Potentials
from keras_slstm.ops.kernels import semi_crf
from keras_slstm.ops.kernels.crf_forward_backward import log_likelihood, log_partition, sequence_score
from keras_slstm.ops.kernels.crf_log_space import incoming, marginals, outgoing
from keras_slstm.ops.kernels.viterbi import best_labels
from keras_slstm.ops.semi_crf import SegmentPotentials
from tests.backend import MODES
from tests.ops.kernel_cases import MODE, Case, cases_of, random_mask


def _potentials(rng: np.random.Generator, labels: int, pairwise: bool, forbid: bool, scale: float = 1.0) -> Potentials:
    batch, time = 5, 6
    mask = random_mask(rng, batch, time)
    unary = np.where(mask[..., None], scale * rng.normal(size=(batch, time, labels)), 0)
    transitions = scale * rng.normal(size=(batch, time, labels, labels) if pairwise else (labels, labels))
    if forbid:
        transitions[..., 0, 1] = FORBIDDEN
        unary[mask.cumsum(axis=1) * mask == 1, 1] = FORBIDDEN  # label 1 begins no sentence
    return Potentials(unary, transitions, mask)


def _drawn(rng: np.random.Generator) -> Iterator[tuple[str, Potentials]]:
    yield "shared", _potentials(rng, 4, pairwise=False, forbid=False)
    yield "shared-forbidden", _potentials(rng, 3, pairwise=False, forbid=True)
    yield "pairwise-forbidden", _potentials(rng, 3, pairwise=True, forbid=True)


@cases_of(log_partition)
def partition(rng: np.random.Generator) -> Iterator[Case]:
    for name, potentials in _drawn(rng):
        yield Case(name, {"potentials": potentials}, modes=MODES if name == "shared" else (MODE,))
    # The probabilities underflow: log space takes over.
    yield Case("shared-strong", {"potentials": _potentials(rng, 3, pairwise=False, forbid=True, scale=1e3)})
    yield Case("pairwise-strong", {"potentials": _potentials(rng, 3, pairwise=True, forbid=False, scale=1e3)})


@cases_of(incoming, outgoing, marginals)
def messages(rng: np.random.Generator) -> Iterator[Case]:
    for name, potentials in _drawn(rng):
        yield Case(name, {"potentials": potentials})


@cases_of(best_labels)
def decoding(rng: np.random.Generator) -> Iterator[Case]:
    for name, potentials in _drawn(rng):
        yield Case(name, {"potentials": potentials}, differentiable=False)


@cases_of(sequence_score)
def known(rng: np.random.Generator) -> Iterator[Case]:
    for name, potentials in _drawn(rng):
        labels = rng.integers(0, potentials.unary.shape[2], potentials.mask.shape)
        yield Case(name, {"potentials": potentials, "labels": labels})


@cases_of(log_likelihood)
def labelled(rng: np.random.Generator) -> Iterator[Case]:
    for name, potentials in _drawn(rng):
        labels = rng.integers(0, potentials.unary.shape[2], potentials.mask.shape)
        yield Case(name, {"potentials": potentials, "labels": labels})
        unknown = np.where(rng.random(labels.shape) < 0.5, UNKNOWN, labels)
        yield Case(f"{name}-partly-known", {"potentials": potentials, "labels": unknown})


@cases_of(semi_crf.log_partition)
def segmented(rng: np.random.Generator) -> Iterator[Case]:
    for name, longest in (("short", 2), ("beyond-the-sentence", 7)):
        mask = random_mask(rng, 5, 6)
        words = (np.where(mask[..., None], rng.normal(size=(5, 6, 3)), 0) for _ in range(3))
        potentials = SegmentPotentials(*words, rng.normal(size=(longest, 3)), rng.normal(size=(3, 3)), mask)
        yield Case(name, {"potentials": potentials}, modes=MODES if name == "short" else (MODE,))
