"""Gathering the weights of a graph does not change its results."""

import numpy as np
import pytest

from keras_slstm.models.onnx_graph import gather_weights, rename

onnx = pytest.importorskip("onnx")
pytestmark = pytest.mark.backends("torch")  # of files only


def make():
    """Build x W + (if c: x W, else x V W), where W is read through an `Identity`, also in the branches."""
    helper, floats = onnx.helper, onnx.TensorProto.FLOAT
    random = np.random.default_rng(0)
    weights = [
        onnx.numpy_helper.from_array(random.normal(size=(3, 3)).astype("float32"), name)
        for name in ("W", "V", "unused")
    ]
    result = [helper.make_tensor_value_info("branch", floats, None)]
    same = helper.make_graph([helper.make_node("MatMul", ["x", "again"], ["branch"])], "same", [], result)
    other = helper.make_graph([helper.make_node("MatMul", ["x", "product"], ["branch"])], "other", [], result)
    nodes = [
        helper.make_node("Identity", ["W"], ["again"]),
        helper.make_node("MatMul", ["V", "again"], ["product"]),
        helper.make_node("If", ["c"], ["chosen"], then_branch=same, else_branch=other),
        helper.make_node("MatMul", ["x", "again"], ["first"]),
        helper.make_node("Add", ["first", "chosen"], ["y"]),
        helper.make_node("Identity", ["W"], ["weight"]),
    ]
    inputs = [
        helper.make_tensor_value_info("x", floats, [None, 3]),
        helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, []),
    ]
    outputs = [helper.make_tensor_value_info(name, floats, None) for name in ("y", "weight")]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def run(model, names):
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(model.SerializeToString())
    x = np.random.default_rng(1).normal(size=(2, 3)).astype("float32")
    return [session.run(None, dict(zip(names, (x, np.array(c)), strict=True))) for c in (True, False)]


def test_gathered_weights_compute_the_same():
    model = make()
    before = run(model, ("x", "c"))
    gather_weights(model.graph)
    assert {each.name for each in model.graph.initializer} == {"W", "product"}
    assert [node.op_type for node in model.graph.node] == ["If", "MatMul", "Add", "Identity"]  # the last is an output
    for one, other in zip(before, run(model, ("x", "c")), strict=True):
        for x, y in zip(one, other, strict=True):
            np.testing.assert_allclose(x, y, atol=1e-6)


def test_renamed_input_in_branches():
    model = make()
    before = run(model, ("x", "c"))
    rename(model.graph, model.graph.input, {"x": "words"})
    for one, other in zip(before, run(model, ("words", "c")), strict=True):
        np.testing.assert_array_equal(one[0], other[0])
