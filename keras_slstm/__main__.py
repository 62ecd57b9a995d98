"""The command line: `python -m keras_slstm classify ...`."""

import sys

from keras_slstm.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
