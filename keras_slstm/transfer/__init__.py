"""Transfer evaluation of sentence vectors on ten tasks, as in SentEval.

Its classifiers need the `examples` extra (scikit-learn).
"""

from keras_slstm.transfer.classifiers import CLASSIFIERS
from keras_slstm.transfer.evaluation import evaluate
from keras_slstm.transfer.tasks import TASKS, Task, TaskData, load_task

__all__ = ["CLASSIFIERS", "TASKS", "Task", "TaskData", "evaluate", "load_task"]
