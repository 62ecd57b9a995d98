"""The code of the page on migrating from other CRFs that needs files or packages of the original library."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import h5py
import keras
import numpy as np
import pytest

import keras_slstm
from keras_slstm.ops.crf import Potentials
from keras_slstm.ops.crf_potentials import pack
from tests.backend import to_numpy

pytestmark = pytest.mark.backends("torch")  # the code of the page is the same on every backend

PAGE = Path(__file__).parents[1] / "docs/guides/from_other_crfs.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
rng = np.random.default_rng(0)
K = 9


def code(word):
    """The block of the page that holds the word."""
    [found] = [block for block in BLOCKS if word in block]
    return found


def run(text, **names):
    names = {"keras": keras, "np": np, "keras_slstm": keras_slstm, **names}
    exec(text, names)
    return names


def normal(*size):
    return rng.normal(size=size).astype("float32")


def test_each_block_has_at_most_fifteen_lines():
    assert len(BLOCKS) >= 6
    assert max(sum(map(bool, block.splitlines())) for block in BLOCKS) <= 15


# The members of a CRF in files of libraries on Keras 2, and the factor of their weights: energies are the negatives.
WRITTEN = {
    "tensorflow-addons": (
        {"chain_kernel": "crf/chain_kernel:0", "left_boundary": "crf/left_boundary:0",
         "right_boundary": "crf/right_boundary:0", "kernel": "crf/dense/kernel:0", "bias": "crf/dense/bias:0"}, 1),
    "keras-contrib": (
        {name: f"crf/{name}:0" for name in ("kernel", "chain_kernel", "bias", "left_boundary", "right_boundary")}, -1),
    "tf2crf": ({"chain_kernel": "crf/transitions:0", "kernel": "crf/dense/kernel:0", "bias": "crf/dense/bias:0"}, 1),
}  # fmt: skip


@pytest.mark.parametrize("origin", WRITTEN)
def test_a_file_that_keras_2_wrote(origin, tmp_path, monkeypatch):
    members, factor = WRITTEN[origin]
    sizes = {"chain_kernel": (K, K), "left_boundary": (K,), "right_boundary": (K,), "kernel": (32, K), "bias": (K,)}
    crf = {name: normal(*sizes[name]) for name in members}
    lstm = [normal(16, 64), normal(16, 64), normal(64)]
    layers = {
        "embedding": {"embedding/embeddings:0": normal(100, 16)},
        "bidirectional": {
            f"bidirectional/{side}_lstm/{name}:0": factor * weight
            for side, factor in (("forward", 1), ("backward", 2))
            for name, weight in zip(("kernel", "recurrent_kernel", "bias"), lstm)
        },
        "crf": {members[name]: factor * value for name, value in crf.items()},
    }
    with h5py.File(tmp_path / "tagger.h5", "w") as file:
        file.attrs["layer_names"] = [name.encode() for name in layers]
        for layer, weights in layers.items():
            group = file.create_group(layer)
            group.attrs["weight_names"] = [name.encode() for name in weights]
            for name, value in weights.items():
                group[name] = value
    monkeypatch.chdir(tmp_path)
    model = run(code("by_name=True"))["model"]
    for name, value in crf.items():
        np.testing.assert_array_equal(to_numpy(getattr(model.layers[-1], name)), value)
    np.testing.assert_array_equal(model.get_layer("embedding").get_weights()[0], layers["embedding"].popitem()[1])
    for found, right in zip(model.get_layer("bidirectional").get_weights(), [*lstm, *(2 * x for x in lstm)]):
        np.testing.assert_array_equal(found, right)
    words = np.array([[4, 8, 15], [16, 23, 0]])
    assert np.isfinite(model.evaluate(words, words % K, verbose=0)).all()


def test_a_layer_of_pytorch_crf():
    torch = pytest.importorskip("torch")
    pytest.importorskip("torchcrf")
    names = run(code("import torchcrf"))
    scores = normal(2, 4, 5)
    found = keras_slstm.crf_decode(names["crf"](scores))
    assert to_numpy(found).tolist() == names["theirs"].decode(torch.tensor(scores))


def test_a_state_dict_of_allennlp():
    """The page describes how to adapt the code for pytorch-crf: other module names."""
    make, read = code("# or torch.load(path)"), code("def lstm(side)")
    for old, new in (('"lstm.', '"encoder._module.'), ("hidden2tag", "tag_projection_layer._module")):
        make, read = make.replace(old, new), read.replace(old, new)
    names = run(make, words=np.array([[4, 8, 15], [16, 23, 0]]))
    names["state"]["crf._constraint_mask"] = np.ones((7, 7), "float32")
    assert set(names["state"]) > {"encoder._module.weight_ih_l0", "tag_projection_layer._module.weight"}
    names = run(read, **{name: value for name, value in names.items() if name != "__builtins__"})
    assert to_numpy(names["found"]).shape == (2, 3)
    np.testing.assert_array_equal(to_numpy(names["crf"].chain_kernel), names["state"]["crf.transitions"])
    np.testing.assert_array_equal(
        to_numpy(names["crf"].kernel), names["state"]["tag_projection_layer._module.weight"].T
    )


def test_a_layer_of_keras3_crf():
    units, features = 3, 4
    theirs = SimpleNamespace(
        units=units, trans=normal(units, units), left_boundary=normal(units), right_boundary=normal(units),
        proj=SimpleNamespace(kernel=normal(features, units), bias=normal(units)),
    )  # fmt: skip
    crf = run(code("theirs.trans"), theirs=theirs)["crf"]
    words = normal(2, 5, features)
    unary = words @ theirs.proj.kernel + theirs.proj.bias
    unary[:, 0] += theirs.left_boundary
    unary[:, -1] += theirs.right_boundary
    expected = pack(*map(keras.ops.convert_to_tensor, Potentials(unary, theirs.trans, np.ones((2, 5), "bool"))))
    np.testing.assert_allclose(to_numpy(crf(words)), to_numpy(expected), rtol=0, atol=1e-5)
