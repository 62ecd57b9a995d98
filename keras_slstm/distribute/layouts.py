"""Splits the weights of this package's layers among devices, for `keras.distribution.ModelParallel` on JAX."""

from __future__ import annotations

from typing import Any

import keras

# Layers are found by the default names of Keras: the class in snake case.
_LAYERS = "slstm|caslstm|su_bi_lstm|depth_adaptive_grn|normalized_lstm"


def layout_map(device_mesh: Any, axis: str = "model") -> keras.distribution.LayoutMap:
    """Split the gates of this package's encoders, and word vectors, among the devices of one axis of a mesh.

    The columns of a kernel are blocks of gates. Each device holds the same number of consecutive columns, and of
    features of a `keras.layers.Embedding`. All other weights, such as biases and those of a CRF, are whole on every
    device.

    Args:
        device_mesh: A `keras.distribution.DeviceMesh`.
        axis: The axis of the mesh along which weights are split. Its size must divide the units and the features of
            word vectors.

    Returns:
        A map, to which you can add layouts of other layers. It finds layers by their default names; for an
        `SLSTM(300, name="encoder")`, add `layouts[".*encoder/.*kernel"] = (None, "model")`.

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
        raise ValueError(f"`axis` must be one of the mesh's axes {list(device_mesh.axis_names)}, but got {axis!r}.")
    layouts = keras.distribution.LayoutMap(device_mesh)
    # The columns of a DepthAdaptiveGRN's `depth_kernel` are depths, not gates.
    layouts[rf"(.*[/_])?({_LAYERS})(_\d+)?/(?!depth_)(.*[/_])?kernel(_\d+)?"] = (None, axis)
    layouts[r"(.*/)?embedding(_\d+)?/embeddings"] = (None, axis)
    return layouts
