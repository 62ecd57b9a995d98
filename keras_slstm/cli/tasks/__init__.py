"""The work of the commands. These modules import Keras; `keras_slstm.cli` imports them when a command runs."""

from keras_slstm.cli.quiet import import_backend

import_backend()
