"""Quantise the weights of an exported model to integers.

Usage: `python quantize.py intents.onnx intents-int8.onnx`.
"""

import shutil
import sys
from pathlib import Path

from onnxruntime.quantization import QuantType, quantize_dynamic


def quantize(source: str, target: str) -> None:
    """Write the quantised file, and copy the description next to it."""
    quantize_dynamic(source, target, weight_type=QuantType.QInt8)
    shutil.copy(Path(source).with_suffix(".json"), Path(target).with_suffix(".json"))


if __name__ == "__main__":
    quantize(*sys.argv[1:])
