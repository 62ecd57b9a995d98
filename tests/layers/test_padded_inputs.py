"""Ragged, packed, nested and sparse tensors are refused, with advice on padding."""

from __future__ import annotations

import keras
import pytest

import keras_slstm

LAYERS = [
    keras_slstm.SLSTM(2),
    keras_slstm.CASLSTM(2),
    keras_slstm.NormalizedLSTM(2),
    keras_slstm.MinGRU(2),
    keras_slstm.SuBiLSTM(2),
    keras_slstm.DepthAdaptiveGRN(2),
    keras_slstm.CRF(3),
    keras_slstm.SecondOrderCRF(2),
    keras_slstm.SemiMarkovCRF(3, max_length=2),
    keras_slstm.MaskedGlobalMaxPooling1D(),
]


def not_padded():
    """Return tensors of this backend with sentences of 2 and 1 words, by the words of the message."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        ragged = tf.ragged.constant([[[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0]]], ragged_rank=1)
        return {"RaggedTensor.*to_tensor": ragged, "SparseTensor.*to_dense": tf.sparse.from_dense(ragged.to_tensor())}
    if keras.backend.backend() == "torch":
        import torch

        sentences = [torch.ones(2, 2), torch.ones(1, 2)]
        return {
            "PackedSequence.*pad_packed_sequence": torch.nn.utils.rnn.pack_sequence(sentences),
            "NestedTensor.*to_padded_tensor": torch.nested.nested_tensor(sentences, layout=torch.jagged),
        }
    pytest.skip("JAX has no ragged tensors")


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
def test_the_message_says_how_to_pad(layer):
    for message, x in not_padded().items():
        with pytest.raises(ValueError, match=message):
            layer(x)


def test_the_advice_gives_the_same_as_padding_by_hand():
    layer = keras_slstm.SLSTM(3, seed=0)
    padded, mask = [[[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [0.0, 0.0]]], [[True, True], [True, False]]
    expected = keras.ops.convert_to_numpy(layer(keras.ops.array(padded), mask=keras.ops.array(mask)))
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        x = tf.ragged.constant([[[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0]]], ragged_rank=1)
        found = layer(x.to_tensor(), mask=tf.sequence_mask(x.row_lengths()))
    elif keras.backend.backend() == "torch":
        import torch

        sentences = [torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1.0, 2.0]])]
        x, lengths = torch.nn.utils.rnn.pad_packed_sequence(
            torch.nn.utils.rnn.pack_sequence(sentences), batch_first=True
        )
        found = layer(x, mask=torch.arange(x.shape[1]) < lengths[:, None])
    else:
        pytest.skip("JAX has no ragged tensors")
    assert keras.ops.convert_to_numpy(found).tolist() == expected.tolist()
