"""Metrics. Every public metric is also available as ``keras_slstm.<Metric>``."""

from keras_slstm.metrics.crf import CRFAccuracy
from keras_slstm.metrics.score_pearson import ScorePearson
from keras_slstm.metrics.token_accuracy import TokenAccuracy

__all__ = ["CRFAccuracy", "ScorePearson", "TokenAccuracy"]
