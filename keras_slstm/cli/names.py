"""Values of options. A test compares them with the modules that define them, which would load Keras here."""

ENCODERS = (
    "slstm", "lstm", "bilstm", "stacked_bilstm", "normalized_bilstm", "mingru", "caslstm", "bi_caslstm", "subilstm",
    "subilstm_untied", "cnn", "stacked_cnn", "transformer", "depth_adaptive_grn", "full_depth_grn",
)  # fmt: skip
GRN = ("depth_adaptive_grn", "full_depth_grn")
# Settings of some encoders only.
ENCODER_SETTINGS = {
    "steps": ("slstm",), "window": ("slstm",), "sentence_nodes": ("slstm",), "readout": ("slstm",), "max_depth": GRN,
}  # fmt: skip
READOUTS = ("max_mean_node", "max", "node")
POOLINGS = ("attention", "max", "mean")
CHARACTERS = ("cnn", "bilstm")
HEADS = ("crf", "softmax")
CRF_LOSSES = ("crf", "margin")
WEIGHTINGS = ("emission", "transition", "likelihood")
CELLS = ("caslstm", "lstm")
STRATEGIES = ("auto", "cpu", "gpu", "mirrored", "multi_worker", "tpu")
TRANSFER_TASKS = ("MR", "CR", "SUBJ", "MPQA", "SST", "TREC", "MRPC", "SICK-R", "SICK-E", "STS-B")
TRANSFER_CLASSIFIERS = ("logistic", "mlp")
TUNERS = ("random", "bayesian", "hyperband", "grid")
STUDIES = ("figure2", "table2")
