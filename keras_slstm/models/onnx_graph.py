"""Edits to exported ONNX graphs: readable names, and weights where `quantize_dynamic` finds them."""

from __future__ import annotations

from typing import Any

from keras_slstm.extras import require


def rename(graph: Any, values: Any, renamed: dict[str, str]) -> None:
    """Rename inputs or outputs of a graph."""
    _replace(graph, renamed, outputs=True)
    for value in values:
        value.name = renamed.get(value.name, value.name)


def gather_weights(graph: Any) -> None:
    """Connect matrix products directly to their weights, and precompute products of two weights.

    PyTorch exports a weight that is used again as an `Identity`, which hides it from quantisation, and leaves products
    of constants to the runtime.
    """
    numpy_helper = require("onnx.numpy_helper", "export")
    weights = {each.name: each for each in graph.initializer}
    same: dict[str, str] = {}
    kept, given = [], {each.name for each in graph.output}
    for node in graph.node:
        node.input[:] = [same.get(name, name) for name in node.input]
        known = all(name in weights for name in node.input) and not given & {*node.output}
        if known and node.op_type == "Identity":
            same[node.output[0]] = node.input[0]
        elif known and node.op_type == "MatMul":
            left, right = (numpy_helper.to_array(weights[name]) for name in node.input)
            product = numpy_helper.from_array(left @ right, node.output[0])
            weights[product.name] = product
        else:
            kept.append(node)
    del graph.node[:]
    graph.node.extend(kept)
    for node in graph.node:
        for inner in _inner(node):
            _replace(inner, same)
    used = _used(graph) | given
    del graph.initializer[:]
    graph.initializer.extend(each for name, each in weights.items() if name in used)


def _replace(graph: Any, renamed: dict[str, str], outputs: bool = False) -> None:
    for node in graph.node:
        for names in (node.input, node.output) if outputs else (node.input,):
            names[:] = [renamed.get(name, name) for name in names]
        for inner in _inner(node):
            _replace(inner, renamed)


def _used(graph: Any) -> set[str]:
    found = {each.name for each in graph.output}
    for node in graph.node:
        found.update(node.input)
        for inner in _inner(node):
            found |= _used(inner)
    return found


def _inner(node: Any) -> list[Any]:
    """The subgraphs of a node, for a loop or a branch."""
    return [graph for each in node.attribute for graph in ([each.g] if each.HasField("g") else [*each.graphs])]
