"""Viterbi decoding in a TensorFlow graph: several words per loop iteration, whose overhead costs as much as a word."""

from __future__ import annotations

from collections.abc import Callable

from keras_slstm.ops.crf import Potentials
from keras_slstm.types import Tensor

# The number of words per iteration. The scores are shifted after each iteration; otherwise, long sentences would lose
# precision.
BLOCK = 4


def best_labels(potentials: Potentials) -> Tensor:
    """The highest-scoring labels, like the equation of the same name."""
    import tensorflow as tf

    mask = potentials.mask
    found: Tensor = tf.cond(
        tf.reduce_any(mask), lambda: _decode(potentials), lambda: tf.zeros(tf.shape(mask), tf.int32)
    )
    found.set_shape(mask.shape)
    return found


def _decode(potentials: Potentials) -> Tensor:
    """Like `best_labels`, for at least one word."""
    import tensorflow as tf

    mask = potentials.mask
    lengths = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
    batch = tf.shape(mask)[0]
    iterations = (tf.reduce_max(lengths) + BLOCK - 1) // BLOCK

    # Move the words of each sentence to the front: `found` is a word's position in the batch, `place` its new time and
    # its sentence, and `source[time, sentence]` its row in the scores, which is arbitrary beyond the last word.
    found = tf.where(mask)
    sentence = tf.cast(found[:, 0], tf.int32)
    rank = tf.range(tf.shape(sentence)[0]) - tf.gather(tf.cumsum(lengths, exclusive=True), sentence)
    place = tf.stack([rank, sentence], axis=1)
    row = sentence * tf.shape(mask)[1] + tf.cast(found[:, 1], tf.int32)
    source = tf.scatter_nd(place, row, [iterations * BLOCK, batch])

    scores = _forward(potentials, source, iterations)
    label = _argmax(tf.gather_nd(scores, tf.stack([tf.maximum(lengths - 1, 0), tf.range(batch)], axis=1)))
    followed = tf.range(1, iterations * BLOCK + 1)[:, None] < lengths  # by another word
    labels = _backward(potentials, source, scores, followed, label)
    return tf.scatter_nd(found, tf.gather_nd(labels, place), tf.shape(mask, out_type=tf.int64))


def _forward(potentials: Potentials, source: Tensor, iterations: Tensor) -> Tensor:
    """The scores of the best sequences that end at each word, `(time, batch, labels)`, up to a constant per word."""
    import tensorflow as tf

    unary, transitions, _ = potentials
    labels = unary.shape[2]
    unary = tf.gather(tf.reshape(unary, (-1, labels)), source)
    if potentials.pairwise:
        pairs = tf.reshape(transitions, (-1, labels, labels))
    else:
        into = tf.transpose(transitions)  # [to, from]: the maximum over the last axis is the fastest

    def message(best: Tensor, t: Tensor) -> Tensor:
        if potentials.pairwise:
            return tf.reduce_max(tf.expand_dims(best, 2) + tf.gather(pairs, source[t]), axis=1)
        return tf.reduce_max(tf.expand_dims(best, 1) + into, axis=2)

    def iterate(iteration: Tensor, best: Tensor | None) -> tuple[Tensor, Tensor]:
        start = iteration * BLOCK
        scores: list[Tensor] = []
        for i, here in enumerate(tf.unstack(tf.slice(unary, [start, 0, 0], [BLOCK, -1, -1]), BLOCK)):
            best = here if best is None else message(best, start + i) + here
            scores.append(best)
        return best - tf.reduce_max(best, axis=1, keepdims=True), tf.stack(scores)

    best, scores = iterate(0, None)
    stack = tf.TensorArray(unary.dtype, iterations, element_shape=(BLOCK, None, labels)).write(0, scores)

    def body(iteration: Tensor, best: Tensor, stack: Tensor) -> tuple[Tensor, ...]:
        best, scores = iterate(iteration, best)
        return iteration + 1, best, stack.write(iteration, scores)

    stack = tf.while_loop(lambda iteration, *_: iteration < iterations, body, (1, best, stack))[2]
    return tf.reshape(stack.stack(), (-1, tf.shape(unary)[1], labels))


def _backward(potentials: Potentials, source: Tensor, scores: Tensor, followed: Tensor, last: Tensor) -> Tensor:
    """Trace the best labels, `(time, batch)`, back from the last words; `followed` marks all words before these."""
    import tensorflow as tf

    before = _scores_before(potentials)
    batch = tf.shape(last)[0]
    iterations = tf.shape(source)[0] // BLOCK
    source = tf.pad(source, [[0, 1], [0, 0]])

    def body(iteration: Tensor, label: Tensor, stack: Tensor) -> tuple[Tensor, ...]:
        start = iteration * BLOCK
        best = tf.unstack(tf.slice(scores, [start, 0, 0], [BLOCK, -1, -1]), BLOCK)
        is_followed = tf.unstack(tf.slice(followed, [start, 0], [BLOCK, -1]), BLOCK)
        labels: list[Tensor] = []
        for i in reversed(range(BLOCK)):
            backpointer = _argmax(best[i] + before(label, source[start + i + 1]))
            label = tf.where(is_followed[i], backpointer, last)
            labels.insert(0, label)
        return iteration - 1, label, stack.write(iteration, tf.stack(labels))

    stack = tf.TensorArray(tf.int32, iterations, element_shape=(BLOCK, None))
    stack = tf.while_loop(lambda iteration, *_: iteration >= 0, body, (iterations - 1, last, stack))[2]
    return tf.reshape(stack.stack(), (-1, batch))


def _scores_before(potentials: Potentials) -> Callable[[Tensor, Tensor], Tensor]:
    """Return a function that maps the labels of words, and their rows, to the transitions into these labels."""
    import tensorflow as tf

    transitions = potentials.transitions
    if not potentials.pairwise:
        into = tf.transpose(transitions)
        return lambda label, _: tf.gather(into, label)
    labels = transitions.shape[-1]
    flat = tf.reshape(transitions, (-1,))
    offsets = tf.range(labels, dtype=tf.int64) * labels

    def columns(label: Tensor, row: Tensor) -> Tensor:
        first = tf.cast(row, tf.int64) * labels**2 + tf.cast(label, tf.int64)
        return tf.gather(flat, tf.expand_dims(first, 1) + offsets)

    return columns


def _argmax(x: Tensor) -> Tensor:
    import tensorflow as tf

    return tf.argmax(x, axis=1, output_type=tf.int32)
