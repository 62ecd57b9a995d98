"""Labels and sentences of the model that `delft_origin` writes."""

DIM = 6
LABELS = ["<PAD>", "B-LOC", "I-LOC", "O"]
SENTENCES = [
    ["Paris", "in", "1999", "was", "zßq"],
    ["paris"],
    ["a" * 20 + "b" * 20 + "x", "Paris", "0000"],  # longer than the model's limit
]
