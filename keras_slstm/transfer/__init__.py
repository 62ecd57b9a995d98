"""What the vectors of a sentence encoder are good for, measured on ten tasks the way SentEval does.

Loaded by nothing else in the package; it needs the `examples` extra.
"""

from keras_slstm.transfer.classifiers import CLASSIFIERS
from keras_slstm.transfer.evaluation import evaluate
from keras_slstm.transfer.tasks import TASKS, Task, TaskData, load_task

__all__ = ["CLASSIFIERS", "TASKS", "Task", "TaskData", "evaluate", "load_task"]
