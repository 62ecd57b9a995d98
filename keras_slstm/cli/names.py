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
DTYPES = ("float16", "bfloat16", "float32", "float64", "mixed_float16", "mixed_bfloat16")
OPTIMIZERS = ("adam", "muon")
STRATEGIES = ("auto", "cpu", "gpu", "mirrored", "multi_worker", "tpu")
TRANSFER_TASKS = ("MR", "CR", "SUBJ", "MPQA", "SST", "TREC", "MRPC", "SICK-R", "SICK-E", "STS-B")
TRANSFER_CLASSIFIERS = ("logistic", "mlp")
TUNERS = ("random", "bayesian", "hyperband", "grid")
STUDIES = ("figure2", "table2")
# Export formats by file suffix; a SavedModel is a folder.
FORMATS = {".onnx": "onnx", ".tflite": "litert", ".xml": "openvino", ".pt2": "torch"}
# The features of a pair classifier by task. The order of the texts does not matter in paraphrases and relatedness.
FEATURES = {"inference": "inference", "paraphrase": "paraphrase", "relatedness": "paraphrase"}
# Alternatives to the pair classifier of the CAS-LSTM paper, and the options that each sets in addition to its preset.
PAIR_ARCHITECTURES: dict[str, dict[str, object]] = {
    "infersent": {"pooling": "max", "features": "inference", "batch_norm": False, "mlp_activation": "linear"},
    "siamese": {"pooling": "max", "features": "inference", "batch_norm": False, "fixed_vectors": False},
    "esim": {"fixed_vectors": False},
}
