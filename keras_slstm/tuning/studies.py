"""Two grid searches of the S-LSTM paper; all other hyperparameters keep their defaults."""

from __future__ import annotations

from typing import Any

# Arguments of `TaskHyperModel` for a grid search.
STUDIES: dict[str, dict[str, Any]] = {
    # Accuracy against steps, for windows of 1 to 4 words.
    "figure2": {
        "encoders": ["slstm"],
        "values": {"slstm/window": [1, 2, 3, 4], "slstm/steps": [1, 3, 5, 7, 9, 11]},
        "only": True,
    },
    # One change at a time to a model of 300 units with one sentence node and boundary words.
    "table2": {
        "encoders": ["slstm"],
        "rows": {
            "default": {},
            "sentence nodes: 0": {"slstm/sentence_nodes": 0},
            "sentence nodes: 2": {"slstm/sentence_nodes": 2},
            "units: 100": {"units": 100},
            "units: 200": {"units": 200},
            "units: 600": {"units": 600},
            "units: 900": {"units": 900},
            "without <s>, </s>": {"slstm/boundary_words": False},
        },
        "only": True,
    },
}
