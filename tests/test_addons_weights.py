"""`CRF.from_addons` on files of every format, and on damaged or hostile files."""

from __future__ import annotations

import os
import random
import zipfile

import h5py
import numpy as np
import pytest

import keras_slstm
from tests.backend import to_numpy

pytestmark = pytest.mark.short_run("torch")

K, FEATURES = 3, 2
rng = np.random.default_rng(0)
# All different, so that no weight can pass for another.
WEIGHTS = {
    "chain_kernel": rng.normal(size=(K, K)),
    "left_boundary": rng.normal(size=K),
    "right_boundary": rng.normal(size=K),
    "kernel": rng.normal(size=(FEATURES, K)),
    "bias": rng.normal(size=K),
}
# The members of each format; the last part is the number of the weight in the order of its creation.
NUMBERED = {
    "chain_kernel": "_layer_checkpoint_dependencies/crf/vars/0",
    "left_boundary": "_layer_checkpoint_dependencies/crf/vars/1",
    "right_boundary": "_layer_checkpoint_dependencies/crf/vars/2",
    "kernel": "_layer_checkpoint_dependencies/crf/_dense_layer/vars/0",
    "bias": "_layer_checkpoint_dependencies/crf/_dense_layer/vars/1",
}
NAMED = {
    name: f"crf/crf/{'dense/' * (name in ('kernel', 'bias'))}{name}:0" for name in WEIGHTS
}  # a file of the older kind
CHAIN, LEFT = NUMBERED["chain_kernel"], NUMBERED["left_boundary"]


def _write(path, members, libver=None, **changed):
    """A file with the weights of a CRF; `changed` maps the name of a weight to a function that stores it."""
    with h5py.File(path, "w", libver=libver) as file:
        file["embedding/vars/0"] = np.zeros((4, FEATURES))
        for name, member in members.items():
            if name in changed:
                changed[name](file, member)
            else:
                file[member] = WEIGHTS[name].astype("float32")
    return path


def _refusal(path):
    try:
        keras_slstm.read_crf_weights(path)
    except ValueError as error:
        return str(error)
    return None


def _check(path):
    layer = keras_slstm.CRF.from_addons(path)
    for name, expected in WEIGHTS.items():
        np.testing.assert_allclose(to_numpy(getattr(layer, name)), expected, rtol=1e-6)


@pytest.mark.parametrize(("name", "members"), [("crf.h5", NAMED), ("crf.weights.h5", NUMBERED)])
def test_weights_keep_their_places(tmp_path, name, members):
    _check(_write(tmp_path / name, members))


def _zip(tmp_path, member="model.weights.h5", content=None, **options):
    weights = _write(tmp_path / "crf.weights.h5", NUMBERED)
    with zipfile.ZipFile(tmp_path / "crf.keras", "w", **options) as file:
        file.writestr(member, weights.read_bytes() if content is None else content)
    return tmp_path / "crf.keras"


def test_weights_of_a_model_keep_their_places(tmp_path):
    _check(_zip(tmp_path))


def _external_storage(file, member):
    secret = os.path.join(os.path.dirname(file.filename), "secret")
    with open(secret, "wb") as other:
        other.write(np.ones(K, "float32").tobytes())
    file.create_dataset(member, (K,), "float32", external=[(secret, 0, h5py.h5f.UNLIMITED)])


def _virtual(file, member):
    layout = h5py.VirtualLayout(shape=(10**6, 10**6), dtype="float32")
    file.create_virtual_dataset(member, layout, fillvalue=0)


def _external_link(file, member):
    with h5py.File(os.path.join(os.path.dirname(file.filename), "other.h5"), "w") as other:
        other["x"] = np.zeros(K, "float32")
    file[member] = h5py.ExternalLink("other.h5", "/x")


def _soft_link(file, member):
    file[member] = h5py.SoftLink("/embedding/vars/0")


def _unwritten(file, member):
    file.create_dataset(member, (10**6, 10**6), "float32", chunks=(1000, 1000), compression="gzip")


def _value(x):
    def store(file, member):
        file[member] = np.asarray(x)

    return store


@pytest.mark.parametrize("members", [NAMED, NUMBERED], ids=["h5", "weights.h5"])
@pytest.mark.parametrize(
    ("weight", "store", "message"),
    [
        ("left_boundary", _external_storage, "is stored in another file"),
        ("chain_kernel", _virtual, "is a virtual data set"),
        ("left_boundary", _external_link, "is an external link"),
        ("left_boundary", _soft_link, "is a soft link"),
        ("chain_kernel", _unwritten, r"declares the shape \(1000000, 1000000\), but the file contains only 0 bytes"),
        ("chain_kernel", _value(np.zeros((K, K + 1))), rf"must have the shape \({K + 1}, {K + 1}\)"),
        ("chain_kernel", _value(0.0), "must have the shape"),
        ("chain_kernel", _value(np.zeros((0, 0))), "must have the shape"),
        ("right_boundary", _value(np.zeros(K + 1)), rf"must have the shape \({K},\) of a CRF's right_boundary"),
        ("left_boundary", _value([0, np.nan, 0]), "must hold finite floating-point numbers"),
        ("bias", _value([0, np.inf, 0]), "must hold finite floating-point numbers"),
        ("bias", _value([b"a", b"b", b"c"]), "must hold finite floating-point numbers"),
    ],
)
def test_hostile_members_are_refused_by_name(tmp_path, members, weight, store, message):
    path = _write(tmp_path / ("crf.h5" if members is NAMED else "crf.weights.h5"), members, **{weight: store})
    with pytest.raises(ValueError, match=message) as raised:
        keras_slstm.CRF.from_addons(path)
    assert f"{path}: {members[weight]} " in str(raised.value)


def test_damaged_files_are_named(tmp_path):
    for name, content in (("crf.h5", b""), ("crf.h5", b"no such thing"), ("crf.keras", b""), ("ckpt.index", b"x" * 99)):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=rf"{name} is not an? .*, or is damaged"):
            keras_slstm.CRF.from_addons(tmp_path / name)
    whole = _write(tmp_path / "whole.h5", NAMED).read_bytes()
    for end in range(0, len(whole), 97):
        (tmp_path / "cut.h5").write_bytes(whole[:end])
        with pytest.raises(ValueError, match=r"cut\.h5"):
            keras_slstm.CRF.from_addons(tmp_path / "cut.h5")


@pytest.mark.backends("torch")  # reads files only
@pytest.mark.parametrize("layout", [{}, {"libver": "latest"}])
def test_any_damaged_bytes_give_a_one_line_error(tmp_path, layout):
    """h5py raises errors of eight types, SystemError among them, wherever in the file the damage is."""
    draw = random.Random(0)
    path = tmp_path / "crf.h5"
    whole = _write(path, NAMED, **layout).read_bytes()
    outcomes = {"read": 0, "damaged": 0, "refused": 0}
    for _ in range(100):
        content = bytearray(whole)
        for _ in range(draw.choice([1, 4, 16])):
            start = draw.randrange(len(content))
            content[start] ^= draw.choice([1, 8, 128, 255])
        path.write_bytes(content)
        message = _refusal(path)
        if message is None:
            outcomes["read"] += 1
            continue
        outcomes["damaged" if "is a damaged HDF5 file" in message else "refused"] += 1
        assert str(path) in message
        assert len(message.splitlines()) == 1
    assert min(outcomes.values()) > 0  # all ways are taken


def test_a_model_whose_weights_would_fill_the_memory(tmp_path):
    path = _zip(tmp_path, content=b"\0" * 10**8, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match=r"crf\.keras: model\.weights\.h5 declares 100000000 bytes"):
        keras_slstm.CRF.from_addons(path)
    with pytest.raises(ValueError, match=r"crf\.keras has no member model\.weights\.h5"):
        keras_slstm.CRF.from_addons(_zip(tmp_path, "weights.h5"))


@pytest.mark.backends("torch")  # reads files only
def test_any_damaged_bytes_of_an_archive_give_a_one_line_error(tmp_path):
    """Each byte of the headers in turn: damage may look like encryption, another compression or another encoding."""
    path = tmp_path / "crf.keras"
    content = _write(tmp_path / "crf.h5", NAMED).read_bytes()
    whole = _zip(tmp_path, content=content).read_bytes()
    refused = 0
    for place in [*range(60), *range(len(whole) - 120, len(whole))]:
        change = (1, 8, 64, 128)[place % 4]
        path.write_bytes(whole[:place] + bytes([whole[place] ^ change]) + whole[place + 1 :])
        message = _refusal(path)
        refused += message is not None
        assert message is None or (str(path) in message and len(message.splitlines()) == 1 and len(message) < 500)
    assert refused > 50


@pytest.mark.parametrize("name", ["none.h5", "none.keras", "none.index", "none"])
def test_missing_files_are_named(tmp_path, name):
    with pytest.raises(FileNotFoundError, match="none"):
        keras_slstm.CRF.from_addons(tmp_path / name)


def test_a_file_without_exactly_one_crf(tmp_path):
    with pytest.raises(ValueError, match=r"Expected one CRF .* in .*none\.h5, but found none among embedding/vars/0"):
        keras_slstm.CRF.from_addons(_write(tmp_path / "none.h5", {}))
    two = {**NUMBERED, "bias": "_layer_checkpoint_dependencies/crf_1/vars/0"}
    with pytest.raises(ValueError, match=r"found these: .*/crf/, .*/crf_1/"):
        keras_slstm.CRF.from_addons(_write(tmp_path / "two.weights.h5", two))
