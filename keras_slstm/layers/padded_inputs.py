"""Mixin for layers that take padded sentences: it rejects other kinds of tensors and says how to pad them."""

from __future__ import annotations

from typing import Any

_TO_PADDED = {
    "RaggedTensor": "Pass `x.to_tensor()`, and `mask=tf.sequence_mask(x.row_lengths())`.",
    "PackedSequence": "Call `x, lengths = torch.nn.utils.rnn.pad_packed_sequence(x, batch_first=True)`, and pass `x` "
    "and `mask=torch.arange(x.shape[1]) < lengths[:, None]`.",
    "NestedTensor": "Pass `torch.nested.to_padded_tensor(x, 0.0)`, and the mask of its real words.",
    "SparseTensor": "Pass `tf.sparse.to_dense(x)`.",
}


class PaddedInputs:
    """Mixin for layers whose input is a padded tensor with a mask.

    The layer rejects ragged, packed, nested and sparse tensors with a ValueError that says how to pad them. Keras would
    accept them, only to fail somewhere inside the layer.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for value in args[:1]:
            kind = "NestedTensor" if getattr(value, "is_nested", False) else type(value).__name__
            if kind in _TO_PADDED:
                name = self.name  # type: ignore[attr-defined]
                raise ValueError(f"{name} expects a padded tensor, but got a {kind}. {_TO_PADDED[kind]}")
        return super().__call__(*args, **kwargs)  # type: ignore[misc]
