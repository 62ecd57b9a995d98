"""The public names of the package."""

import keras_slstm.quiet_import  # noqa: F401  # isort: skip  (before anything else imports Keras)

from keras_slstm import (
    datasets,
    distribute,
    layers,
    losses,
    metrics,
    models,
    ops,
    plots,
    streaming,
    text,
    training,
    transfer,
)
from keras_slstm.crf_weights import read_crf_weights
from keras_slstm.layers import *  # noqa: F403
from keras_slstm.losses import *  # noqa: F403
from keras_slstm.metrics import *  # noqa: F403
from keras_slstm.models import SentenceClassifier, SentencePairClassifier, Seq2Seq, SequenceTagger
from keras_slstm.ops.crf_distributions import crf_expected_counts, crf_kl_divergence, crf_pair_marginals, crf_sample
from keras_slstm.ops.crf_functions import (
    crf_decode,
    crf_entropy,
    crf_k_best,
    crf_log_likelihood,
    crf_log_partition,
    crf_marginals,
    crf_sequence_score,
)
from keras_slstm.ops.export_mode import export_mode
from keras_slstm.ops.label_schemes import allowed_transitions, seen_transitions
from keras_slstm.ops.second_order_crf import (
    second_order_crf_decode,
    second_order_crf_log_likelihood,
    second_order_crf_marginals,
)
from keras_slstm.ops.semi_crf_functions import (
    semi_crf_decode,
    semi_crf_k_best,
    semi_crf_log_likelihood,
    semi_crf_log_partition,
    semi_crf_marginals,
    semi_crf_segment_marginals,
)
from keras_slstm.version import __version__

__all__ = [
    "SentenceClassifier",
    "SentencePairClassifier",
    "Seq2Seq",
    "SequenceTagger",
    "__version__",
    "allowed_transitions",
    "crf_decode",
    "crf_entropy",
    "crf_expected_counts",
    "crf_k_best",
    "crf_kl_divergence",
    "crf_log_likelihood",
    "crf_log_partition",
    "crf_marginals",
    "crf_pair_marginals",
    "crf_sample",
    "crf_sequence_score",
    "datasets",
    "distribute",
    "export_mode",
    "layers",
    "losses",
    "metrics",
    "models",
    "ops",
    "plots",
    "read_crf_weights",
    "second_order_crf_decode",
    "second_order_crf_log_likelihood",
    "second_order_crf_marginals",
    "seen_transitions",
    "semi_crf_decode",
    "semi_crf_k_best",
    "semi_crf_log_likelihood",
    "semi_crf_log_partition",
    "semi_crf_marginals",
    "semi_crf_segment_marginals",
    "streaming",
    "text",
    "training",
    "transfer",
]
__all__ += layers.__all__ + losses.__all__ + metrics.__all__
