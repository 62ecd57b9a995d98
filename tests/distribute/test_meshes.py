"""Models on meshes of four devices of JAX match one device."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_slstm import distribute
from tests.__main__ import XLA_FLAGS
from tests.backend import BACKEND
from tests.distribute.meshes import ENCODERS, MODELS
from tests.distribute.two_processes import LIMIT
from tests.processes import run_python

pytestmark = [
    pytest.mark.skipif(BACKEND != "jax", reason="keras.distribution is JAX's"),
    pytest.mark.xdist_group("meshes"),
    pytest.mark.ci_run,
]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    file = tmp_path_factory.mktemp("meshes") / "found.npz"
    flags = f"{XLA_FLAGS} --xla_force_host_platform_device_count=4"
    process = run_python("-m", "tests.distribute.meshes", file, limit=LIMIT, XLA_FLAGS=flags, KERAS_BACKEND="jax")
    assert process.returncode == 0, process.stderr
    return dict(np.load(file))


@pytest.mark.parametrize(("way", "model"), [(way, model) for way in ("data", "model") for model in MODELS[way]])
def test_a_mesh_matches_one_device(found, way, model):
    names = [name.removeprefix("one/") for name in found if name.startswith(f"one/{model}/")]
    assert len(names) > 5
    for name in names:
        np.testing.assert_allclose(found[f"{way}/{name}"], found[f"one/{name}"], rtol=1e-5, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("model", ENCODERS)
def test_kernels_and_word_vectors_are_split(found, model):
    split = [path.partition("/")[2] for path in found[f"split/model/{model}"].tolist()]
    assert "embedding/embeddings" in split
    kernels = {
        "SLSTM": "slstm/recurrent_kernel",
        "CASLSTM": "caslstm/cell/recurrent_kernel_2",
        "SuBiLSTM": "su_bi_lstm/forward_recurrent_kernel",
        "DepthAdaptiveGRN": "depth_adaptive_grn/recurrent_kernel",
        "CRF": "slstm/recurrent_kernel",
    }
    assert kernels[model] in split
    assert not [path for path in split if path.startswith(("crf/", "dense/"))]


def test_devices_that_divide_rows_hold_whole_weights(found):
    assert not any(found[f"split/data/{model}"].size for model in MODELS["data"])


def test_recurrent_layers_exchange_no_gradients_within_the_loop(found):
    assert found["exchanges/False"] > 0
    assert found["exchanges/True"] == 0


def test_a_mesh_without_the_axis_is_refused():
    mesh = keras.distribution.DeviceMesh((1, 1), ("rows", "columns"), keras.distribution.list_devices()[:1])
    with pytest.raises(ValueError, match=r"one of the mesh's axes \['rows', 'columns'\], but got 'model'"):
        distribute.layout_map(mesh)
