"""How the weights of this package's layers are split among devices (`keras.distribution.ModelParallel` on JAX)."""

from __future__ import annotations

from typing import Any

import keras

# Layers are found by the names that Keras gives them: the class, in small letters.
_LAYERS = "slstm|caslstm|su_bi_lstm|depth_adaptive_grn|normalized_lstm"


def layout_map(device_mesh: Any, axis: str = "model") -> keras.distribution.LayoutMap:
    """Split the gates of this package's encoders, and word vectors, among the devices of one axis of a mesh.

    A kernel has a block of columns for each gate, and each device holds equally many columns, in their order. Each device
    has some features of a `keras.layers.Embedding`. Everything else is whole on every device: biases, and a CRF with its
    few labels.

    Args:
        device_mesh: A `keras.distribution.DeviceMesh`.
        axis: The name of its axis among whose devices weights are split. Units and features of word vectors must be
            divisible by its size.

    Returns:
        A map to which layouts of other layers can be added. It knows layers by the names that Keras gives them; for an
        `SLSTM(300, name="encoder")`, add `map[".*encoder/.*kernel"] = (None, "model")`.

    Raises:
        ValueError: If the mesh has no such axis.

    Example:

    ```python
    mesh = keras.distribution.DeviceMesh((2, 2), ("batch", "model"), keras.distribution.list_devices())
    layouts = keras_slstm.distribute.layout_map(mesh)
    keras.distribution.set_distribution(
        keras.distribution.ModelParallel(layout_map=layouts, batch_dim_name="batch", auto_shard_dataset=False)
    )
    model = build_model()
    keras_slstm.distribute.fit(model, words, labels, batch_size=64, epochs=5)
    ```
    """
    if axis not in device_mesh.axis_names:
        raise ValueError(f"The mesh has the axes {list(device_mesh.axis_names)}, but no axis {axis!r}.")
    layouts = keras.distribution.LayoutMap(device_mesh)
    # Not the kernel of a DepthAdaptiveGRN that has a column for each depth.
    layouts[rf"(.*[/_])?({_LAYERS})(_\d+)?/(?!depth_)(.*[/_])?kernel(_\d+)?"] = (None, axis)
    layouts[r"(.*/)?embedding(_\d+)?/embeddings"] = (None, axis)
    return layouts
