"""Training on several devices and machines.

Build and compile a model in the scope of `strategy()`. Train it with `fit` of this module or, if it is a text model of
this package, with its own `fit`. Both divide each batch among all replicas.
"""

import sys

# `python -m keras_slstm.distribute` only starts processes. It needs no backend, and passes on the environment unchanged
# (JAX would set a log level).
if sys.argv[:1] != ["-m"] or "keras_slstm.distribute" not in sys.orig_argv:
    from keras_slstm.distribute.cluster import Cluster, find_cluster
    from keras_slstm.distribute.collectives import check_equal, is_chief
    from keras_slstm.distribute.errors import ProcessesDiffer, WorkerLost
    from keras_slstm.distribute.layouts import layout_map
    from keras_slstm.distribute.strategies import strategy
    from keras_slstm.distribute.trainer import DistributedModel, evaluate, fit, predict

    __all__ = [
        "Cluster",
        "DistributedModel",
        "ProcessesDiffer",
        "WorkerLost",
        "check_equal",
        "evaluate",
        "find_cluster",
        "fit",
        "is_chief",
        "layout_map",
        "predict",
        "strategy",
    ]
