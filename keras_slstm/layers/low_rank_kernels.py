"""Mixin for layers whose kernels support low-rank adaptation (LoRA)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keras import ops

from keras_slstm.types import Tensor
from keras_slstm.validation import check_integer


class LowRankKernels:
    """Mixin that adds `enable_lora`, as in Keras' dense layers ([Hu et al. 2022], arXiv:2106.09685).

    A kernel W, `(rows, columns)`, is frozen, and the layer computes with

        W + alpha / rank * A B,   A: (rows, rank),   B: (rank, columns)

    A starts random and B starts at zero. Files contain the sum as the kernel: a loaded layer has no A and B.
    """

    _low_rank: Any = None
    lora_rank: int | None = None
    lora_alpha: float | None = None

    @property
    def lora_enabled(self) -> bool:
        """Whether `enable_lora` has been called."""
        return self.lora_rank is not None

    def enable_lora(
        self,
        rank: int,
        lora_alpha: float | None = None,
        a_initializer: Any = "he_uniform",
        b_initializer: Any = "zeros",
    ) -> None:
        """Freeze the layer, and train two matrices per kernel, whose product is added to it.

        All other weights, including biases, keep their values. Compile the model afterwards.

        Args:
            rank: The number of columns of A and rows of B.
            lora_alpha: A B is multiplied by this number divided by `rank`. None: by 1.
            a_initializer, b_initializer: Keras initialisers of A and B.

        Raises:
            ValueError: If the layer is not built, is quantised, has a constraint on a kernel, or is already adapted.
            NotImplementedError: If there is no kernel that can be adapted.

        Example:

        ```python
        layer = keras_slstm.SLSTM(100)
        model = keras.Sequential([keras.Input((None, 50)), layer, keras.layers.Dense(2)])
        layer.enable_lora(rank=4)
        model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        ```
        """
        layer: Any = self
        rank = check_integer("rank", rank, 1)
        parts = [part for part in layer._flatten_layers() if getattr(part, "can_quantize", False)]
        if not layer.built:
            raise ValueError(f"{layer.name} is not built yet. Call it, or the model, before `enable_lora`.")
        if not parts:
            raise NotImplementedError(f"{type(self).__name__} has no kernels that LoRA can adapt.")
        for part in parts:
            part.check_low_rank()
        for part in {id(part): part for part in (*parts, layer)}.values():
            part.lora_rank, part.lora_alpha = rank, rank if lora_alpha is None else lora_alpha
        for part in parts:
            part.add_low_rank(a_initializer, b_initializer)

    def check_low_rank(self) -> None:
        """Raise ValueError if A and B cannot be added to this layer."""
        layer: Any = self
        if layer.quantized_as:
            raise ValueError(f"{layer.name} is quantised. Enable LoRA before you quantise the layer.")
        if self.lora_enabled:
            raise ValueError(f"LoRA is already enabled for {layer.name}.")
        for kernel in self._kernels():
            if kernel.constraint is not None:
                raise ValueError(f"The kernel {kernel.path} has a constraint, which the sum with A B would not meet.")

    def add_low_rank(self, a_initializer: Any, b_initializer: Any) -> None:
        """Create A and B for the kernels of this layer itself, and freeze its other weights."""
        layer: Any = self
        kernels, frozen, pairs = self._kernels(), [*layer._trainable_variables], {}
        layer._tracker.unlock()  # the layer is built
        for kernel in kernels:
            (rows, columns), rank = kernel.shape, self.lora_rank
            add = {"trainable": True, "dtype": "float32"}
            a = layer.add_weight(name=f"{kernel.name}_lora_a", shape=(rows, rank), initializer=a_initializer, **add)
            b = layer.add_weight(name=f"{kernel.name}_lora_b", shape=(rank, columns), initializer=b_initializer, **add)
            pairs[kernel.name] = (a, b)
        for weight in frozen:
            weight.trainable = False
        self._low_rank = pairs
        layer._tracker.lock()
        if hasattr(layer, "_track_variables"):  # a PyTorch module registers the parameters a second time
            layer._track_variables()

    def _kernels(self) -> list[Any]:
        layer: Any = self
        return [weight for weight in layer._trainable_variables if weight.name in layer._kernel_names]

    def with_low_rank(self, kernel: Any, value: Tensor) -> Tensor:
        """The value of a weight plus its low-rank update, if it has one."""
        if not self._low_rank or kernel.name not in self._low_rank:
            return value
        a, b = (ops.cast(ops.convert_to_tensor(each), value.dtype) for each in self._low_rank[kernel.name])
        return value + ops.matmul(a, b) * (self.lora_alpha / self.lora_rank)  # type: ignore[operator]

    def save_own_variables(self, store: Any) -> None:
        if not self._low_rank:
            super().save_own_variables(store)  # type: ignore[misc]
            return
        for place, weight in enumerate(self._saved_weights()):
            store[str(place)] = self.with_low_rank(weight, ops.convert_to_tensor(weight.value))

    def load_own_variables(self, store: Mapping[str, Any]) -> None:
        if not self._low_rank:
            super().load_own_variables(store)  # type: ignore[misc]
            return
        for place, weight in enumerate(self._saved_weights()):
            weight.assign(store[str(place)])
        for _, b in self._low_rank.values():
            b.assign(ops.zeros(b.shape))

    def _saved_weights(self) -> list[Any]:
        """The weights that the layer has without LoRA, in the order of a saved file."""
        layer: Any = self
        added = {id(weight) for pair in self._low_rank.values() for weight in pair}
        weights = [*layer._trainable_variables, *layer._non_trainable_variables]
        return [weight for weight in weights if id(weight) not in added]
