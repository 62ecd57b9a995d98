"""Names the sentence vectors of a study's rows: if they differ, a difference in scores can come from them."""

from __future__ import annotations

from typing import Any

from benchmarks.study import Study
from keras_slstm.cli.names import PAIR_ARCHITECTURES

ALL_PARTS = "[max; mean; g]"
ACTIVATED_PARTS = f"ReLU({ALL_PARTS})"
FINAL = "the final states"
# Without a pooling or a readout, in the words of `models.encoders`.
BY_ENCODER = {
    "slstm": ALL_PARTS,
    **dict.fromkeys(("depth_adaptive_grn", "full_depth_grn"), ACTIVATED_PARTS),
    **dict.fromkeys(("lstm", "bilstm", "stacked_bilstm", "normalized_bilstm", "mingru"), FINAL),
    **dict.fromkeys(("caslstm", "bi_caslstm", "subilstm", "subilstm_untied", "cnn", "stacked_cnn"), "max"),
    "transformer": "mean",
}
DEFAULT_ENCODERS = {"classify": "slstm", "match": "bi_caslstm"}
BY_READOUT = {"max_mean_node": ALL_PARTS, "max": "max", "node": "g"}


def sentence_vector(study: Study, row: str) -> str | None:
    """Return how a row makes a sentence vector from the states, or None if the network around the encoder makes it."""
    options: dict[str, Any] = {**study.options, **study.rows[row]}
    architecture = options.get("architecture", "")
    if study.command not in DEFAULT_ENCODERS or architecture in ("bcn", "esim"):
        return None
    own = PAIR_ARCHITECTURES.get(architecture, {}).get("pooling")
    if pooling := options.get("pooling", own):
        return str(pooling)
    encoder = options.get("encoder", DEFAULT_ENCODERS[study.command])
    return BY_READOUT[options["readout"]] if encoder == "slstm" and "readout" in options else BY_ENCODER[encoder]


def different_vectors(study: Study) -> str | None:
    """Return a sentence with the sentence vectors of the rows, or None if they are equal."""
    rows: dict[str, list[str]] = {}
    for row in study.rows:
        rows.setdefault(sentence_vector(study, row) or "the network's own", []).append(f'"{row}"')
    if len(rows) == 1:
        return None
    parts = [f"{vector} for {', '.join(of)}" for vector, of in rows.items()]
    return f"The sentence vectors differ: {'; '.join(parts)}."
