"""Recurrent layers on several devices of JAX, without an exchange at each time step.

The gradient of a kernel is a sum over time and over the rows of a batch. If the rows are on several devices, XLA sums
over the devices at each time step, inside the loop. Here, each device runs the loop on its own rows, and the gradients
are summed over the devices once, after the loop.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import keras

from keras_slstm.distribute.keras_internals import all_layers, replaced_call
from keras_slstm.layers.subilstm import SuBiLSTM


@contextlib.contextmanager
def loops_on_own_rows(model: keras.Model) -> Iterator[None]:
    """Make each device run the recurrent layers of a model on its own rows.

    Stateful layers and those that draw random numbers, such as dropout masks, run on all rows as before, and so does
    every layer if the number of rows is not divisible by the number of devices, or if weights are split.
    """
    distribution = keras.distribution.distribution()
    with contextlib.ExitStack() as stack:
        if isinstance(distribution, keras.distribution.DataParallel):
            for layer in all_layers(model):
                if isinstance(layer, keras.layers.RNN | SuBiLSTM) and not getattr(layer, "stateful", False):
                    stack.enter_context(replaced_call(layer, _on_own_rows(layer, distribution)))
        yield


def _on_own_rows(layer: keras.Layer, distribution: Any) -> Any:
    """Return `layer.call` on the rows of each device."""
    import jax

    call = layer.call
    mesh = distribution.device_mesh.backend_mesh
    replicated, rows = jax.sharding.PartitionSpec(), jax.sharding.PartitionSpec(distribution.batch_dim_name)

    def divided(*args: Any, **kwargs: Any) -> Any:
        flat = keras.tree.flatten((args, kwargs))
        tensors = [value for value in flat if keras.ops.is_tensor(value)]
        if len(tensors[0]) % mesh.size:
            return call(*args, **kwargs)
        variables = layer.variables
        changed: list[bool] = []

        def on_rows(values: list[Any], tensors: list[Any]) -> Any:
            own = iter(tensors)
            args_of_rows, kwargs_of_rows = keras.tree.pack_sequence_as(
                (args, kwargs), [next(own) if keras.ops.is_tensor(value) else value for value in flat]
            )
            with keras.StatelessScope(state_mapping=list(zip(variables, values))) as scope:
                before = [scope.get_current_value(variable) for variable in variables]
                outputs = call(*args_of_rows, **kwargs_of_rows)
                after = [scope.get_current_value(variable) for variable in variables]
            changed.extend(new is not old for new, old in zip(after, before))
            return outputs

        # JAX's check rejects loops whose initial state is equal on all devices, such as zeros.
        function = jax.shard_map(on_rows, mesh=mesh, in_specs=(replicated, rows), out_specs=rows, check_vma=False)
        outputs = function([variable.value for variable in variables], tensors)
        return call(*args, **kwargs) if any(changed) else outputs

    return divided
