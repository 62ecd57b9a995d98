"""Metrics. Every public metric is also available as ``keras_slstm.<Metric>``."""

from keras_slstm.metrics.crf import CRFAccuracy

__all__ = ["CRFAccuracy"]
