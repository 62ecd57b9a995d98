"""`CRF.from_weights`: the weights of other libraries' CRFs give the same labels and scores here."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

import keras_slstm
from keras_slstm.crf_weights import ALLENNLP, CHAIN, CONTRIB, PYTORCH, TF2CRF
from tests.backend import to_numpy
from tests.oracles import crf as oracle

pytestmark = pytest.mark.short_run("torch")

K, FEATURES, TIME = 4, 3, 5
rng = np.random.default_rng(0)
CHAIN_KERNEL, LEFT, RIGHT = rng.normal(size=(K, K)), rng.normal(size=K), rng.normal(size=K)
KERNEL, BIAS = rng.normal(size=(FEATURES, K)), rng.normal(size=K)
H = rng.normal(size=(6, TIME, FEATURES))
MASK = np.arange(TIME) < np.array([5, 4, 3, 1, 2, 5])[:, None]


def _write(path, members):
    with h5py.File(path, "w") as file:
        file["lstm/kernel:0"] = np.zeros((2, 8), "float32")
        for name, value in members.items():
            file[name] = value.astype("float32")
    return path


def _torch_file(path, members):
    torch = pytest.importorskip("torch")
    torch.save({name: torch.tensor(value, dtype=torch.float32) for name, value in members.items()}, path)
    return path


def _keras(path, members):
    return _write(path / "crf.h5", members)


def _pytorch(path, members):
    return _torch_file(path / "crf.pt", members)


ENDS = {"start_transitions": LEFT, "end_transitions": RIGHT}
# The origin, the function that writes the file, its members, and the scores that the weights represent.
FORMATS = {
    "ChainCRF": (CHAIN, _keras, {"chain_crf_1/chain_crf_1/U:0": CHAIN_KERNEL, "chain_crf_1/chain_crf_1/b_start:0": LEFT,
                                 "chain_crf_1/chain_crf_1/b_end:0": RIGHT}, (None, None)),
    "ChainCRF, numbered": (CHAIN, _keras, {f"layers/chain_crf/vars/{i}": w for i, w in
                                           enumerate((CHAIN_KERNEL, LEFT, RIGHT))}, (None, None)),
    "keras-contrib": (CONTRIB, _keras, {"crf_1/crf_1/kernel:0": -KERNEL, "crf_1/crf_1/chain_kernel:0": -CHAIN_KERNEL,
                                        "crf_1/crf_1/bias:0": -BIAS, "crf_1/crf_1/left_boundary:0": -LEFT,
                                        "crf_1/crf_1/right_boundary:0": -RIGHT}, (KERNEL, BIAS)),
    "keras-contrib, no bias": (CONTRIB, _keras, {"crf/kernel:0": -KERNEL, "crf/chain_kernel:0": -CHAIN_KERNEL,
                                                 "crf/left_boundary:0": -LEFT, "crf/right_boundary:0": -RIGHT},
                               (KERNEL, 0 * BIAS)),
    "tf2crf": (TF2CRF, _keras, {"crf/crf/transitions:0": CHAIN_KERNEL, "crf/crf/dense/kernel:0": KERNEL,
                                "crf/crf/dense/bias:0": BIAS}, (KERNEL, BIAS)),
    "tf2crf, ends": (TF2CRF, _keras, {"crf/crf/transitions:0": CHAIN_KERNEL, "crf/crf/left_boundary:0": LEFT,
                                      "crf/crf/right_boundary:0": RIGHT}, (None, None)),
    "tf2crf, scores": (TF2CRF, _keras, {"crf/crf/transitions:0": CHAIN_KERNEL}, (None, None)),
    "pytorch-crf": (PYTORCH, _pytorch, {"crf.transitions": CHAIN_KERNEL,
                                        **{f"crf.{name}": value for name, value in ENDS.items()}}, (None, None)),
    "pytorch-crf alone": (PYTORCH, _pytorch, {"transitions": CHAIN_KERNEL, **ENDS}, (None, None)),
    "AllenNLP": (ALLENNLP, _pytorch, {"crf.transitions": CHAIN_KERNEL, "crf._constraint_mask": np.ones((K + 2, K + 2)),
                                      **{f"crf.{name}": value for name, value in ENDS.items()}}, (None, None)),
    "AllenNLP without ends": (ALLENNLP, _pytorch, {"crf.transitions": CHAIN_KERNEL,
                                                   "crf._constraint_mask": np.ones((K + 2, K + 2))}, (None, None)),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_labels_and_scores_equal_the_originals(name, tmp_path):
    origin, store, members, (kernel, bias) = FORMATS[name]
    path = store(tmp_path, members)
    found = keras_slstm.read_crf_weights(path)
    assert found.origin == origin
    assert f"CRF of {origin}" in str(found)
    layer = keras_slstm.CRF.from_weights(path)
    scores = H @ KERNEL if kernel is None else H @ kernel + bias
    potentials = layer(scores if kernel is None else H, mask=MASK)
    ends = any(key in member for member in members for key in ("boundary", "b_start", "start_", "vars/1"))
    labels, log_z = keras_slstm.crf_decode(potentials), keras_slstm.crf_log_partition(potentials)
    for row, length in enumerate(MASK.sum(axis=1)):
        unary = scores[row, :length].copy()
        unary[0] += LEFT * ends
        unary[-1] += RIGHT * ends
        best, _ = oracle.recursive_best(unary, CHAIN_KERNEL)
        np.testing.assert_array_equal(to_numpy(labels)[row, :length], best)
        np.testing.assert_allclose(to_numpy(log_z)[row], oracle.recursive_log_partition(unary, CHAIN_KERNEL), rtol=1e-5)


def test_the_constraints_of_allennlp(tmp_path):
    allowed = np.zeros((K + 2, K + 2))
    allowed[:K, :K] = 1 - np.eye(K)
    allowed[K, :2] = allowed[1:K, K + 1] = 1
    path = _pytorch(tmp_path, {**FORMATS["AllenNLP"][2], "crf._constraint_mask": allowed})
    assert str(keras_slstm.read_crf_weights(path)).endswith("with constraints")
    scores = 3 * H @ KERNEL
    found = to_numpy(keras_slstm.crf_decode(keras_slstm.CRF.from_weights(path)(scores)))
    for row, labels in zip(scores, found):
        unary, transitions = row.copy(), np.where(allowed[:K, :K] > 0, CHAIN_KERNEL, -np.inf)
        unary[0] += np.where(allowed[K, :K] > 0, LEFT, -np.inf)
        unary[-1] += np.where(allowed[:K, K + 1] > 0, RIGHT, -np.inf)
        np.testing.assert_array_equal(labels, oracle.recursive_best(unary, transitions)[0])


def test_a_linear_layer_of_pytorch_becomes_the_kernel(tmp_path):
    members = FORMATS["pytorch-crf"][2]
    path = _pytorch(tmp_path, {**members, "hidden2tag.weight": KERNEL.T, "hidden2tag.bias": BIAS})
    layer = keras_slstm.CRF.from_weights(path, projection="hidden2tag", labels=["O", "A", "B", "C"])
    np.testing.assert_allclose(to_numpy(layer.kernel), KERNEL, rtol=1e-6)
    np.testing.assert_allclose(to_numpy(layer.bias), BIAS, rtol=1e-6)
    with pytest.raises(ValueError, match=r"no `emit\.weight` among crf\.end_transitions"):
        keras_slstm.CRF.from_weights(path, projection="emit")


def test_the_original_pytorch_crf():
    torchcrf, torch = pytest.importorskip("torchcrf"), pytest.importorskip("torch")
    theirs = torchcrf.CRF(K, batch_first=True)
    torch.nn.init.normal_(theirs.transitions)
    scores, mask = torch.tensor(H @ KERNEL, dtype=torch.float32), torch.tensor(MASK)
    tags = torch.tensor(rng.integers(K, size=MASK.shape))
    potentials = keras_slstm.CRF.from_weights(theirs)(scores.numpy(), mask=MASK)
    labels = to_numpy(keras_slstm.crf_decode(potentials))
    assert [row[keep].tolist() for row, keep in zip(labels, MASK)] == theirs.decode(scores, mask=mask)
    found = to_numpy(keras_slstm.crf_log_likelihood(potentials, tags.numpy()))
    expected = theirs(scores, tags, mask=mask, reduction="none").detach().numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_energies_are_not_mistaken_for_scores(tmp_path):
    """A file of keras-contrib has the same weight names as one of tensorflow-addons."""
    path = _keras(tmp_path, FORMATS["keras-contrib"][2])
    with pytest.raises(ValueError, match=r"of tensorflow-addons .* only a CRF of keras-contrib at 'crf_1/crf_1/'"):
        keras_slstm.CRF.from_addons(path)


def test_code_in_a_file_of_pytorch_does_not_run(tmp_path):
    torch = pytest.importorskip("torch")

    class Hostile:
        def __reduce__(self):
            return (tmp_path / "ran").touch, ()

    torch.save({"crf.transitions": Hostile()}, tmp_path / "crf.pt")
    with pytest.raises(ValueError, match=r"crf\.pt is not a PyTorch state dict"):
        keras_slstm.CRF.from_weights(tmp_path / "crf.pt")
    assert not (tmp_path / "ran").exists()
    torch.save([1], tmp_path / "crf.pt")
    with pytest.raises(ValueError, match="must contain a PyTorch state dict, but contains a list"):
        keras_slstm.CRF.from_weights(tmp_path / "crf.pt")
    _torch_file(tmp_path / "crf.pt", {"crf.transitions": CHAIN_KERNEL, "crf.start_transitions": LEFT[1:]})
    with pytest.raises(ValueError, match=r"crf\.start_transitions must have the shape \(4,\)"):
        keras_slstm.CRF.from_weights(tmp_path / "crf.pt")
    _torch_file(tmp_path / "crf.pt", {"linear.weight": KERNEL})
    with pytest.raises(ValueError, match=r"Expected one CRF of .*pytorch-crf.* but found none among linear\.weight"):
        keras_slstm.read_crf_weights(tmp_path / "crf.pt")


def test_only_the_weights_of_the_crf_are_read(tmp_path):
    """Other members of a state dict may have any type."""
    torch = pytest.importorskip("torch")
    others = {"counts": torch.eye(3).to_sparse(), 0: torch.zeros(1)}
    torch.save({"crf.transitions": torch.tensor(CHAIN_KERNEL), **others}, tmp_path / "crf.pt")
    found = keras_slstm.read_crf_weights(tmp_path / "crf.pt")
    np.testing.assert_array_equal(found.weights["chain_kernel"], CHAIN_KERNEL)


def test_an_expanded_scalar_is_refused(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save({"crf.transitions": torch.zeros(1, 1).expand(2_000_000, 2_000_000)}, tmp_path / "crf.pt")
    with pytest.raises(
        ValueError, match=r"declares the shape \(2000000, 2000000\), but the file contains only 4 bytes"
    ):
        keras_slstm.read_crf_weights(tmp_path / "crf.pt")
