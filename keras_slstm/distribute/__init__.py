"""Training on several devices and machines.

A model is made and compiled in the scope of `strategy()`, and trained by `fit` (or, if it is one of this package's
models, by its own `fit`), which divides each batch among all replicas.
"""

from keras_slstm.distribute.cluster import Cluster, find_cluster
from keras_slstm.distribute.failures import WorkerLost
from keras_slstm.distribute.fitting import evaluate, fit, predict
from keras_slstm.distribute.strategies import is_chief, strategy

__all__ = ["Cluster", "WorkerLost", "evaluate", "find_cluster", "fit", "is_chief", "predict", "strategy"]
